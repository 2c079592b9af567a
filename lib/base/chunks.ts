import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/**
 * The chunks of a stream. When no more are wanted the stream is destroyed in silence: its own iterator would destroy it
 * with an error that nobody awaits.
 */
export async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield chunk as Buffer
  } finally {
    stream.destroy()
  }
}

/** The content in pieces with a turn of the event loop between them, so that encoding 25 MB does not hold up others. */
export function inSlices(content: Buffer, sliceBytes: number): Readable {
  async function* slices(): AsyncGenerator<Buffer> {
    for (let at = 0; at < content.length; at += sliceBytes) {
      await setImmediate()
      yield content.subarray(at, at + sliceBytes)
    }
  }
  return Readable.from(slices(), { objectMode: false })
}
