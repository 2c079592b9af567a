import { Agent, request } from 'undici'
import { oneLine } from '../../base/text.ts'
import { AcmeFault } from './fault.ts'

/** An answer of a CA (ACME): its bytes, and how long it may take. */
export const acmeAnswerBytes = 256 * 1024
const acmeAnswerMs = 30_000

/** What a CA answered. */
export interface AcmeAnswer {
  readonly status: number
  readonly body: string
  /** A field of its header. */
  field(name: string): string | undefined
}

/** HTTPS to a CA, verified, without redirects, bounded in time and bytes. */
export interface AcmeHttp {
  /** @throws AcmeFault when there is no answer */
  ask(url: string, asked: { method: 'GET' | 'HEAD' | 'POST'; body?: string }): Promise<AcmeAnswer>
  close(): Promise<void>
}

/**
 * @param signal ends what is under way
 * @param ca the roots that the CA's own server is verified with (PEM); without it those of the program
 */
export function createAcmeHttp(signal: AbortSignal, ca?: string): AcmeHttp {
  const agent = new Agent({
    connect: { timeout: acmeAnswerMs, ...(ca !== undefined && { ca }) },
    allowH2: false,
    maxResponseSize: acmeAnswerBytes,
    headersTimeout: acmeAnswerMs,
    bodyTimeout: acmeAnswerMs,
  })
  // The signal of a request is not heeded by it while its connection is being made.
  signal.addEventListener('abort', () => void agent.destroy(), { once: true })
  return {
    async ask(url, { method, body }) {
      requireHttps(url)
      try {
        const {
          statusCode,
          headers,
          body: answer,
        } = await request(url, {
          dispatcher: agent,
          method,
          signal: AbortSignal.timeout(acmeAnswerMs),
          // RFC 8555 §6.1 wants a User-Agent.
          headers: {
            'user-agent': 'mailboxd',
            ...(body !== undefined && { 'content-type': 'application/jose+json' }),
          },
          ...(body !== undefined && { body }),
        })
        const text = await answer.text()
        return {
          status: statusCode,
          body: text,
          field(name) {
            const value = headers[name]
            return Array.isArray(value) ? value[0] : value
          },
        }
      } catch (error) {
        signal.throwIfAborted()
        const why = error instanceof Error ? error.message : String(error)
        throw new AcmeFault(oneLine(`no answer from ${url}: ${why}`), { cause: error })
      }
    },
    // Not `close`, which would wait for a connection that is just being made.
    close: () => agent.destroy(),
  }
}

/** Every address but the directory's comes from the CA (RFC 8555 §6.1: HTTPS only). */
function requireHttps(url: string): void {
  if (URL.parse(url)?.protocol !== 'https:') throw new AcmeFault(oneLine(`not an https address: ${url}`))
}
