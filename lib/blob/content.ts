import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'

/** Raw bytes that are on their way in or out: small ones in memory, large ones in a file. */
export type Content =
  | { readonly kind: 'memory'; readonly bytes: Buffer }
  | {
      readonly kind: 'file'
      readonly path: string
      readonly sizeBytes: number
      /** In hexadecimal, as it was computed when the bytes came. */
      readonly sha256: string
    }

export function sizeOf(content: Content): number {
  return content.kind === 'memory' ? content.bytes.length : content.sizeBytes
}

/** The SHA-256 of the content in hexadecimal, without reading a file. */
export function sha256Of(content: Content): string {
  return content.kind === 'memory' ? hash('sha256', content.bytes) : content.sha256
}

/** The length and the SHA-256 (in hexadecimal) of a file, which is read for that. */
export async function sumFile(path: string): Promise<{ sizeBytes: number; sha256: string }> {
  const sum = createHash('sha256')
  let sizeBytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    sum.update(chunk as Buffer)
    sizeBytes += (chunk as Buffer).length
  }
  return { sizeBytes, sha256: sum.digest('hex') }
}

/** The bytes as they can cross into another thread: alone, and not with all that lies beside them in memory. */
export function crossing(content: Content): Content {
  return content.kind === 'file'
    ? content
    : { ...content, bytes: Buffer.from(new Uint8Array(content.bytes).buffer) }
}

/** What came over from another thread: buffers do so as what they are made of. */
export function crossed(content: Content): Content {
  if (content.kind === 'file') return content
  const { buffer, byteOffset, length } = content.bytes
  return { ...content, bytes: Buffer.from(buffer, byteOffset, length) }
}

/**
 * The start of the content: all of it when it has at most `bytes` bytes, and otherwise more than `bytes`, so that a caller
 * sees that there is more.
 */
export async function readStart(content: Content, bytes: number): Promise<Buffer> {
  if (content.kind === 'memory') return content.bytes
  // With the line end that may stand behind them.
  return readInto(Buffer.allocUnsafe(Math.min(content.sizeBytes, bytes + 5)), content.path)
}

/** The bytes of a file, as many as there is room for, in this memory. */
export async function readInto(memory: Buffer, path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    let length = 0
    while (length < memory.length) {
      const { bytesRead } = await file.read(memory, length, memory.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return memory.subarray(0, length)
  } finally {
    await file.close()
  }
}

/** A fresh stream of the bytes; it can be asked for as often as they are needed. */
export function openContent(content: Content): Readable {
  return content.kind === 'memory' ? Readable.from([content.bytes]) : createReadStream(content.path)
}

/** All of the bytes, in memory: as much as the door lets in. */
export async function readContent(content: Content): Promise<Buffer> {
  return content.kind === 'memory' ? content.bytes : readFile(content.path)
}
