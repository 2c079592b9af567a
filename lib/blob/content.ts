import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'

/** Raw bytes that are on their way in or out: small ones in memory, large ones in a file. */
export type Content =
  | { readonly kind: 'memory'; readonly bytes: Buffer }
  | { readonly kind: 'file'; readonly path: string; readonly sizeBytes: number }

export function sizeOf(content: Content): number {
  return content.kind === 'memory' ? content.bytes.length : content.sizeBytes
}

/** A fresh stream of the bytes; it can be asked for as often as they are needed. */
export function openContent(content: Content): Readable {
  return content.kind === 'memory' ? Readable.from([content.bytes]) : createReadStream(content.path)
}
