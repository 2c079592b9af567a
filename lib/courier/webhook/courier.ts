import { createSecureContext, type SecureContext } from 'node:tls'
import { type JoinedAbort, joinAborts } from '../../base/concurrency.ts'
import type { Dns } from '../../base/network.ts'
import { packageVersion } from '../../base/package-root.ts'
import { readRetryAfter } from '../../base/problem.ts'
import type { Clock } from '../../base/time.ts'
import type { AddressGuard } from '../address-guard.ts'
import { openTarget } from '../guarded-connect.ts'
import { type Open, WebhookPool, webhookConnections, webhookConnectionsPerOrigin } from './pool.ts'
import { readWebhookUrl, type WebhookTarget } from './url.ts'

/** One webhook call from DNS to the end of the answer, and the connecting to one address of it (TCP and TLS). */
const webhookTimeoutMs = 15_000
const webhookConnectMs = 5_000
/** The age at which a webhook connection is closed. */
const webhookConnectionMs = 300_000
/** The longest Retry-After of a webhook that is heeded. */
export const webhookRetryAfterMs = 3_600_000

/** One call, to be made once. */
export interface WebhookRequest {
  readonly url: string
  /** JSON. */
  readonly body: string | Uint8Array
  /** Those of the signature. */
  readonly headers: Readonly<Record<string, string>>
  /** Breaks the call off. */
  readonly signal?: AbortSignal | undefined
}

/** How one call ended. `gone` is the receiver's 410: it wants this event no more. */
export interface WebhookOutcome {
  readonly result: 'delivered' | 'failed' | 'gone'
  readonly status?: number
  /** The first of what it answered, as one line of at most 1,000 characters without control characters. */
  readonly answer?: string
  /** What went wrong, in a sentence that says nothing of the network here. */
  readonly error?: string
  /** What Retry-After asks for, where the call failed. */
  readonly retryAfterMs?: number
  readonly durationMs: number
  /** The address that was connected to, or that was to be. */
  readonly address?: string
}

export interface WebhookCourierOptions {
  readonly dns: Dns
  readonly clock: Clock
  readonly guard: AddressGuard
  /** Whether plain http may be used. */
  readonly allowHttp: boolean
  /** Certificates in PEM to believe in, instead of the system's. */
  readonly ca?: string | undefined
  /** What one call may take, all of it; and the connecting to one address. */
  readonly timeoutMs?: number | undefined
  readonly connectMs?: number | undefined
  readonly maxConnections?: number | undefined
  readonly maxConnectionsPerOrigin?: number | undefined
}

export interface WebhookCourier {
  /** Makes the call, once. Never throws for what the other side did. */
  call(request: WebhookRequest): Promise<WebhookOutcome>
  /** Connections that are open now, and origins that they lead to. */
  readonly size: { readonly connections: number; readonly origins: number }
  /** Ends what waits and what is under way, the latter as failed; wait for yours first. */
  close(): void
}

type Ending = Omit<WebhookOutcome, 'durationMs'>

/**
 * Carries events to URLs that strangers chose: every connection goes to an address that the guard passed, and the guard is
 * asked again for each call that an open connection carries. Redirects are not followed, answers are bounded and not
 * decoded, and no POST is sent twice by one call.
 */
export function createWebhookCourier(options: WebhookCourierOptions): WebhookCourier {
  const { dns, clock, guard, allowHttp } = options
  const { timeoutMs = webhookTimeoutMs, connectMs = webhookConnectMs } = options
  const fixedHeaders = ['user-agent', `mailboxd/${packageVersion()}`, 'content-type', 'application/json']
  let secureContext: SecureContext | undefined
  const pool = new WebhookPool({
    maxConnections: options.maxConnections ?? webhookConnections,
    maxConnectionsPerOrigin: options.maxConnectionsPerOrigin ?? webhookConnectionsPerOrigin,
    mayReuse: connection =>
      connection.isOpen &&
      clock.monotonicMs() - connection.openedMs < webhookConnectionMs &&
      guard.refusal(connection.address, connection.port) === undefined,
  })
  const running = new Set<JoinedAbort>()
  let isClosed = false

  async function call(request: WebhookRequest): Promise<WebhookOutcome> {
    const beganMs = clock.monotonicMs()
    const ended = joinAborts(...(request.signal ? [request.signal] : []))
    const late = () => ended.abort(new Error(`no answer within ${timeoutMs / 1000} s`))
    const timer = setTimeout(late, timeoutMs)
    running.add(ended)
    if (isClosed) ended.abort(stopping())
    try {
      const ending = await attempt(request, ended.signal)
      return { ...ending, durationMs: Math.round(clock.monotonicMs() - beganMs) }
    } finally {
      clearTimeout(timer)
      ended.leave()
      running.delete(ended)
    }
  }

  async function attempt(request: WebhookRequest, signal: AbortSignal): Promise<Ending> {
    const target = readWebhookUrl(request.url, { allowHttp, guard })
    if ('fault' in target) return { result: 'failed', error: target.fault }
    const headers = [...fixedHeaders, ...Object.entries(request.headers).flat()]
    const open = openerOf(target, signal)
    for (let isFresh = false; ; isFresh = true) {
      const connection = await pool.take(target.origin, open, signal, isFresh)
      if ('error' in connection) return { result: 'failed', ...connection }
      const answer = await connection.post(target.path, headers, request.body, signal)
      pool.give(connection)
      const { address } = connection
      if ('status' in answer) return { ...judge(answer, clock.now()), address }
      // A kept connection that turns out to be closed before a byte was written is no failure of this call.
      if (answer.isSent || isFresh || signal.aborted)
        return { result: 'failed', error: answer.error, address }
    }
  }

  function openerOf(target: WebhookTarget, signal: AbortSignal): Open {
    return async onClosed => {
      // The HTTP client takes a quarter of the time that mailboxctl does; who calls no webhook does without it.
      const { WebhookConnection } = await import('./connection.ts')
      // Made once: each would read all the root certificates.
      secureContext ??= createSecureContext(options.ca === undefined ? {} : { ca: options.ca })
      const opened = await openTarget(
        target,
        { dns, guard, secureContext, connectMs, refusalEnd: 'where webhooks are not sent' },
        signal,
      )
      if ('error' in opened) return opened
      const { socket, address } = opened
      const openedMs = clock.monotonicMs()
      return new WebhookConnection(
        socket,
        { origin: target.origin, address, port: target.port, openedMs },
        onClosed,
      )
    }
  }

  return {
    call,
    get size() {
      return pool.size
    },
    close() {
      isClosed = true
      for (const ended of running) ended.abort(stopping())
      pool.close()
    },
  }
}

function stopping(): Error {
  return new Error('the server is stopping')
}

function judge(answer: { status: number; retryAfter?: string; text: string }, now: Date): Ending {
  const { status, text } = answer
  const said = { status, ...(text === '' ? {} : { answer: text }) }
  if (status < 300) return { result: 'delivered', ...said }
  if (status === 410) return { result: 'gone', ...said, error: 'the receiver answered 410: gone' }
  const isRedirect = status < 400 && status !== 304
  const error = isRedirect
    ? `the receiver answered ${status}: redirects are not followed, set the URL that it leads to`
    : `the receiver answered ${status}`
  const retryAfterMs =
    answer.retryAfter === undefined ? undefined : readRetryAfter(answer.retryAfter, now, webhookRetryAfterMs)
  return { result: 'failed', ...said, error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
