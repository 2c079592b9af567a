import type { Readable } from 'node:stream'

/**
 * The chunks of a stream, which is destroyed when no more are wanted. (Left to itself, the iterator of a stream that is
 * not read to its end destroys it with an error that nobody awaits.)
 */
export async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield chunk as Buffer
  } finally {
    stream.destroy()
  }
}
