import type { Readable } from 'node:stream'
import type { Pool } from 'undici'
import { oneLine } from '../../base/text.ts'
import { scannerAnswerBytes } from './clamav.ts'

/** Messages that rspamd is given at the same time. */
export const scansAtOnce = 8

/** What is known of a message besides its bytes. */
export interface Envelope {
  readonly remoteAddress: string
  readonly helo: string
  readonly mailFrom: string
  readonly rcptTos: readonly string[]
  /** How our log calls the session. */
  readonly sessionId: string
}

/** What rspamd advises to do with a message, in its own words, and its score. */
export interface Advice {
  readonly action: string
  readonly score: number
}

/** rspamd's HTTP interface (`/checkv2`) at one address. */
export interface Rspamd {
  /**
   * @param content is read to its end, or destroyed
   * @throws Error when it was not scanned
   */
  check(envelope: Envelope, content: Readable, signal: AbortSignal): Promise<Advice>
  close(): Promise<void>
}

/** @param url `http://127.0.0.1:11333`, without a slash at the end */
export function createRspamd(url: string): Rspamd {
  const { origin, pathname } = new URL(url)
  let pool: Promise<Pool> | undefined
  const open = async () => {
    // The HTTP client takes a megabyte of code, and only who has rspamd needs it.
    const { Pool } = await import('undici')
    return new Pool(origin, { connections: scansAtOnce, pipelining: 1, allowH2: false })
  }
  return {
    async check(envelope, content, signal) {
      pool ??= open()
      const { statusCode, body } = await (await pool).request({
        method: 'POST',
        path: `${pathname.replace(/\/$/, '')}/checkv2`,
        headers: headersOf(envelope),
        body: content,
        signal,
      })
      const text = await readText(body)
      if (statusCode !== 200) throw new Error(`rspamd answered ${statusCode}: ${oneLine(text)}`)
      return readAdvice(text)
    },
    close: async () => (await pool)?.destroy(),
  }
}

function headersOf({ remoteAddress, helo, mailFrom, rcptTos, sessionId }: Envelope): string[] {
  const headers = ['IP', remoteAddress, 'Helo', helo, 'From', mailFrom, 'Queue-Id', sessionId]
  for (const rcptTo of rcptTos) headers.push('Rcpt', rcptTo)
  // UTF-8 as bytes, and nothing that would end a field: addresses may have any character (RFC 6531).
  return headers.map(value => Buffer.from(value.replaceAll(/[\x00-\x1f\x7f]/g, ' ')).toString('latin1'))
}

async function readText(body: AsyncIterable<Buffer> & Readable): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    // What it tells of the symbols that matched can be long; the action must be in it.
    if (length > scannerAnswerBytes) throw new Error('rspamd answered too much')
  }
  return Buffer.concat(chunks).toString()
}

function readAdvice(text: string): Advice {
  const said: unknown = JSON.parse(text)
  const { action, score } = (said ?? {}) as Record<string, unknown>
  if (typeof action !== 'string') throw new Error('rspamd did not say what to do')
  return { action: oneLine(action), score: typeof score === 'number' ? score : 0 }
}
