import { type Content, crossed, readInto } from '../blob/content.ts'

/** So much memory is kept at the most, and no piece that is larger. */
const keptPieces = 2
const keptBytes = 4 * 1024 * 1024

/** Brings the bytes of messages into memory that those before had: what lies outside of the heap brings its next collection nearer. */
interface KeptMemory {
  /** The bytes, until `release`. */
  read(content: Content): Promise<Buffer>
  /** Nobody looks at these any more. */
  release(bytes: Buffer): void
}

export function createKeptMemory(): KeptMemory {
  const free: ArrayBuffer[] = []
  return {
    async read(given) {
      const content = crossed(given)
      if (content.kind === 'memory') return content.bytes
      const { path, sizeBytes } = content
      if (sizeBytes > keptBytes) return readInto(Buffer.allocUnsafeSlow(sizeBytes), path)
      const memory = free.pop() ?? new ArrayBuffer(keptBytes)
      return readInto(Buffer.from(memory, 0, sizeBytes), path)
    },
    release({ buffer, byteOffset }) {
      const isKept = buffer instanceof ArrayBuffer && buffer.byteLength === keptBytes && byteOffset === 0
      if (isKept && free.length < keptPieces) free.push(buffer)
    },
  }
}
