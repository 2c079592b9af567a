import { Readable } from 'node:stream'
import { type Content, openContent, readStart, sizeOf } from '../../blob/content.ts'
import { withoutForeignResults } from '../../mail/authentication/foreign-results.ts'
import { headerBytes } from '../../mail/header/header.ts'

/** A message with the fields of its way before it. */
export interface Traced {
  readonly sizeBytes: number
  /** A fresh stream of the bytes; it can be asked for as often as they are needed. */
  open(): Readable
}

/**
 * The original below fields that we put before it. Results of authentication in it that claim to be ours, and came from
 * outside, are left out (RFC 8601 §5): whoever reads this believes ours. All else is as it came.
 */
export async function traceContent(fields: string, original: Content, hostname: string): Promise<Traced> {
  const start = await readStart(original, headerBytes)
  const { kept, sectionBytes } = withoutForeignResults(start, hostname)
  const before = Buffer.concat([Buffer.from(fields), kept])
  return {
    sizeBytes: before.length + sizeOf(original) - sectionBytes,
    open: () => Readable.from(joined(before, original, sectionBytes), { objectMode: false }),
  }
}

async function* joined(before: Buffer, original: Content, sectionBytes: number): AsyncGenerator<Buffer> {
  yield before
  let left = sectionBytes
  for await (const chunk of openContent(original) as AsyncIterable<Buffer>) {
    if (left < chunk.length) yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}
