import { isAscii, isUtf8 } from 'node:buffer'
import { headerBytes } from '../header/header.ts'

/** What the bytes of a message ask of every server that they pass. */
export interface WireNeeds {
  /** Bytes above 127 (8BITMIME, RFC 6152). */
  readonly is8Bit: boolean
  /** UTF-8 in its header section (SMTPUTF8, RFC 6532 §3.2); what is 8-bit there and no UTF-8 is an old fault that asks for nothing more. */
  readonly isUtf8: boolean
}

/**
 * Reads off the bytes what they need, chunk by chunk. Of a header section longer than `headerBytes` the rest counts
 * as body.
 */
export async function wireNeedsOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<WireNeeds> {
  let is8Bit = false
  let header = Buffer.alloc(0)
  let isInHeader = true
  for await (const chunk of chunks) {
    is8Bit ||= !isAscii(chunk)
    if (isInHeader) {
      header = Buffer.concat([header, chunk])
      isInHeader = header.indexOf('\r\n\r\n') < 0 && header.length < headerBytes
    }
    if (is8Bit && !isInHeader) break
  }
  const gap = header.indexOf('\r\n\r\n')
  const section = gap < 0 ? header : header.subarray(0, gap)
  return { is8Bit, isUtf8: is8Bit && !isAscii(section) && isUtf8(section) }
}
