import { connect, isIP, isIPv6, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { oneLine } from '../../base/text.ts'
import type { Clock } from '../../base/time.ts'
import { certificateFault, demandKey, tlsFault } from '../encryption/demand.ts'
import type { HostTls } from '../encryption/host-tls.ts'
import type { TlsFault } from '../tls-result.ts'
import { hasRoute } from './own-route.ts'
import { boundReplies, outOfStep, smtpReplyBytes } from './remote-reply.ts'
import type { Smarthost, SourceAddress } from './routes.ts'
import {
  type Answer,
  abortError,
  type SmtpError,
  SmtpSession,
  type SmtpTimeouts,
  type Watch,
} from './session.ts'
import type { TlsMemory } from './tls-memory.ts'

export interface SessionOptions {
  readonly clock: Clock
  /** What is remembered of TLS. */
  readonly memory: TlsMemory
  /** Our name, said with EHLO. */
  readonly hostname: string
  readonly port: number
  /** TLS from the first byte (RFC 8314 §3.3). */
  readonly isImplicit?: boolean | undefined
  /** Who we are there, said when the connection is what is demanded. */
  readonly login?: Smarthost['login']
  /** Sessions of one are not used for another. */
  readonly route?: string | undefined
  readonly timeouts: SmtpTimeouts
  /** The local address to connect from, of each family. */
  readonly sourceAddress?: SourceAddress | undefined
}

/** How a session began, or did not. */
export interface Opening {
  /** The session; or what the host answered instead; or why the connection is not what is demanded. */
  readonly begun: SmtpSession | Answer | TlsFault
  /** How TLS went, where it came to that. */
  readonly tls?: TlsFault | 'success'
}

/** Whether a session must not begin as it would. */
export function isTlsFault(begun: Opening['begun']): begun is TlsFault {
  return 'type' in begun
}

/**
 * Connects and greets, encrypted as the policy of the host demands. Where nothing is demanded, no certificate is verified,
 * and where encryption fails the same host is asked once more in plaintext (RFC 7435); that is remembered for a while.
 */
export async function openSession(
  host: string,
  address: string,
  options: SessionOptions,
  watch: Watch,
  tls: HostTls,
): Promise<Opening> {
  const { memory } = options
  const isFree = tls.demand.kind === 'opportunistic'
  const broken = isFree ? memory.brokenBy(host, address) : undefined
  if (broken !== undefined)
    return { begun: (await begin(host, address, options, watch, tls, false)).begun, tls: broken }
  const first = await begin(host, address, options, watch, tls, true)
  const { begun } = first
  if (begun instanceof SmtpSession || isTlsFault(begun) || begun.isTlsFailure !== true) return first
  // What we broke off ourselves is no fault of its TLS.
  if (watch.signal.aborted) return { begun }
  const fault: TlsFault =
    begun.lines === undefined
      ? { type: 'validation-failure', text: `TLS with it failed: ${begun.text}` }
      : notOffered
  if (!isFree) return { begun: fault, tls: fault }
  const second = await begin(host, address, options, watch, tls, false)
  if (second.begun instanceof SmtpSession) memory.noteBroken(host, address, fault)
  return { begun: second.begun, tls: fault }
}

/** What sessions must have in common to be used one for the other. */
export function laneOf(host: string, { route }: SessionOptions, { demand }: HostTls): string {
  const key = demandKey(demand, host)
  return route === undefined ? key : `${route} ${key}`
}

async function begin(
  host: string,
  address: string,
  options: SessionOptions,
  watch: Watch,
  tls: HostTls,
  mayEncrypt: boolean,
): Promise<Opening> {
  const { signal } = watch
  const { user } = options.login ?? {}
  let pass = ''
  try {
    pass = (await options.login?.password()) ?? ''
  } catch (error) {
    const text = `the password of ${user} can not be read: ${error instanceof Error ? error.message : error}`
    return { begun: { stage: 'connect', text, isLost: true, sent: 'none' } }
  }
  const socket = await openSocket(address, options, signal)
  if ('isLost' in socket) return { begun: socket }
  const { timeouts, memory } = options
  const lane = laneOf(host, options, tls)
  const ticket = `${lane} ${host} ${address}`
  const session = memory.session(ticket)
  const connection = new SMTPConnection({
    connection: socket,
    host,
    name: options.hostname,
    ignoreTLS: !mayEncrypt,
    secure: options.isImplicit === true,
    requireTLS: tls.demand.kind !== 'opportunistic' && options.isImplicit !== true,
    tls: {
      // RFC 6066 §3: a server name is no address.
      servername: isIP(host) ? '' : host,
      // What the certificate must be is judged below, so that its fault has a name.
      rejectUnauthorized: false,
      secureContext: memory.context,
      ...(session === undefined ? {} : { session }),
    },
    greetingTimeout: timeouts.greetingMs,
    // Nodemailer's limit for all from here to the end of the handshake.
    connectionTimeout: timeouts.greetingMs + timeouts.commandMs,
    socketTimeout: timeouts.commandMs,
    socketCloseTimeout: 0,
    maxResponseSize: smtpReplyBytes,
  })
  const hearing = boundReplies(connection)
  hearing.onReply = () => watch.heard()
  return new Promise(resolve => {
    const fail = (error: SmtpError) => {
      resolve({ begun: connectFailure(error, connection) })
      connection.close()
    }
    const abort = () => fail(abortError(signal))
    signal.addEventListener('abort', abort, { once: true })
    connection.once('end', () => signal.removeEventListener('abort', abort))
    // Always listened to: an error of a session that nobody waits for must not end the process.
    connection.on('error', fail)
    connection.once('end', () => setImmediate(() => fail(new Error('the connection was closed'))))
    connection.connect(error => {
      if (error) return fail(error)
      signal.removeEventListener('abort', abort)
      const encrypted = connection._socket
      if (!(encrypted instanceof TLSSocket)) {
        const begun = new SmtpSession(host, address, lane, connection, hearing, timeouts)
        return resolve({ begun, ...(mayEncrypt && { tls: notOffered }) })
      }
      const fault = tlsFault(encrypted, tls.demand, options.clock.now())
      if (fault !== undefined) {
        resolve({ begun: fault, tls: fault })
        return connection.close()
      }
      const keep = (made: Buffer | undefined) => made && memory.keep(ticket, made)
      keep(encrypted.getSession())
      encrypted.on('session', keep)
      const tested = tls.isTesting ? certificateFault(encrypted) : undefined
      // Before the login, whose reply would be taken for that to EHLO.
      const begun = new SmtpSession(host, address, lane, connection, hearing, timeouts)
      const done = () => resolve({ begun, tls: tested ?? 'success' })
      if (user === undefined) return done()
      connection.login({ user, pass, credentials: { user, pass } }, refused =>
        refused ? fail(refused) : done(),
      )
    })
    if (signal.aborted) abort()
  })
}

const notOffered: TlsFault = { type: 'starttls-not-supported', text: 'it does not offer STARTTLS' }

function openSocket(address: string, options: SessionOptions, signal: AbortSignal): Promise<Socket | Answer> {
  const localAddress = isIPv6(address) ? options.sourceAddress?.ipv6 : options.sourceAddress?.ipv4
  const socket = connect({
    host: address,
    port: options.port,
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  return new Promise(resolve => {
    const fail = async (error: Error) => {
      end()
      socket.on('error', () => {})
      socket.destroy()
      const failed = { stage: 'connect', text: error.message, isLost: true, sent: 'none' } as const
      resolve((await hasRoute(address, localAddress)) ? failed : { ...failed, hasNoWay: true })
    }
    const abort = () => fail(abortError(signal))
    const timer = setTimeout(
      () => fail(new Error(`no connection to ${address} within ${options.timeouts.connectMs} ms`)),
      options.timeouts.connectMs,
    )
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.removeListener('error', fail)
    }
    socket.once('error', fail)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('connect', () => {
      end()
      resolve(socket)
    })
    if (signal.aborted) abort()
  })
}

function connectFailure(error: SmtpError, connection: SMTPConnection): Answer {
  const { response } = error
  const isClosing = error.responseCode === 421
  // Who speaks out of step may be somebody between us: that is no reason to go on without TLS.
  const isInStep = error.code !== outOfStep
  const wasEncrypting = connection.upgrading === true || (connection.secure && response === undefined)
  return {
    stage: 'connect',
    text: oneLine(error.message),
    isLost: response === undefined || error.code === 'ETIMEDOUT' || error.code === 'ESOCKET',
    isTlsFailure: !isClosing && isInStep && (wasEncrypting || error.code === 'ETLS'),
    sent: 'none',
    ...(response === undefined ? {} : { lines: response }),
  }
}
