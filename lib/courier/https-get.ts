import { createSecureContext, type SecureContext } from 'node:tls'
import type { Dns } from '../base/network.ts'
import { oneLine } from '../base/text.ts'
import type { AddressGuard } from './address-guard.ts'
import { openTarget } from './guarded-connect.ts'

export interface HttpsGetOptions {
  readonly dns: Dns
  readonly guard: AddressGuard
  /** Certificates in PEM to believe in, instead of the system's. */
  readonly ca?: string | undefined
  /** 443 in life. */
  readonly port: number
  readonly connectMs: number
  /** What all of it may take. */
  readonly timeoutMs: number
  readonly maxBytes: number
}

/** What was fetched, or why nothing was. */
export type Fetched =
  | { readonly status: number; readonly contentType: string; readonly text: string }
  | { readonly error: string; readonly isTlsFault: boolean }

/**
 * Fetches a file from a host that a stranger chose: only from an address that the guard lets pass, with a certificate that
 * is believed, of a bounded size, without following redirects. Never throws for what the other side did.
 */
export async function httpsGet(host: string, path: string, options: HttpsGetOptions): Promise<Fetched> {
  const { dns, guard, port, connectMs, maxBytes } = options
  const signal = AbortSignal.timeout(options.timeoutMs)
  const secureContext = contextOf(options.ca)
  const opened = await openTarget(
    { isTls: true, host, port },
    { dns, guard, secureContext, connectMs, refusalEnd: 'where nothing is fetched from' },
    signal,
  )
  if ('error' in opened) return { error: opened.error, isTlsFault: opened.error.startsWith('TLS failed') }
  // The HTTP client takes a megabyte of code, and most fetch nothing.
  const { Client } = await import('undici')
  const client = new Client(`https://${host}:${port}`, {
    connect: (_, callback) => queueMicrotask(() => callback(null, opened.socket)),
    allowH2: false,
  })
  try {
    const answer = await client.request({ method: 'GET', path, headers: { accept: 'text/plain' }, signal })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.body) {
      bytes += chunk.length
      if (bytes > maxBytes) return { error: `the answer is larger than ${maxBytes} bytes`, isTlsFault: false }
      chunks.push(chunk)
    }
    const type = answer.headers['content-type']
    return {
      status: answer.statusCode,
      contentType: (Array.isArray(type) ? type[0] : type) ?? '',
      text: Buffer.concat(chunks).toString('utf8'),
    }
  } catch (error) {
    return { error: oneLine(error instanceof Error ? error.message : String(error)), isTlsFault: false }
  } finally {
    opened.socket.destroy()
    void client.destroy()
  }
}

const contexts = new Map<string | undefined, SecureContext>()

/** Made once: each would read all the root certificates. */
function contextOf(ca: string | undefined): SecureContext {
  const known = contexts.get(ca)
  if (known) return known
  const made = createSecureContext(ca === undefined ? {} : { ca })
  contexts.clear()
  contexts.set(ca, made)
  return made
}
