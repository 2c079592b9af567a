import type { IncomingMessage } from 'node:http'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { createPace, sliceBytes } from '../base/concurrency.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { WatchBody } from './body-pace.ts'
import type { MemoryHold } from './memory.ts'

/** What unfolds a body that comes with such a Content-Encoding (RFC 9110 §8.4.1). */
const unfolders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])
/** The first block that a body is read into, which most have room in, and the largest after it. */
const firstBytes = 64 * 1024
const blockBytes = sliceBytes
const nothing = Buffer.alloc(0)

/** What a body may hold, and how fast it must arrive once it holds more than its first block. */
export interface BodyBounds {
  readonly grow: MemoryHold['grow']
  readonly watch: WatchBody
}

/**
 * Reads the body of a request, unfolded, of at most `bytes`.
 * @throws Problem `payload_too_large`, `unsupported_media_type`, `invalid_request`; as `MemoryHold.grow`
 */
export async function readBytes(
  request: IncomingMessage,
  bytes: number,
  bounds: BodyBounds,
): Promise<Buffer> {
  const { blocks, size } = await readBlocks(request, bytes, bounds)
  if (blocks.length === 1) return blocks[0]!.subarray(0, size)
  const pace = createPace()
  const body = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; ) {
    const block = blocks.shift()!
    await pace(block.length)
    at += block.copy(body, at)
  }
  return body
}

/** The body in blocks that are full but the last: a list of chunks would hold an object for each of millions of a byte. */
interface Blocks {
  readonly blocks: Buffer[]
  readonly size: number
}

function readBlocks(request: IncomingMessage, bytes: number, bounds: BodyBounds): Promise<Blocks> {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity'
  const unfold = unfolders.get(encoding)?.()
  if (!unfold && encoding !== 'identity') {
    const message = `This Content-Encoding is not taken: send the body as it is, or in one of ${[...unfolders.keys()].join(', ')}.`
    throw new Problem('unsupported_media_type', message)
  }
  const saidBytes = Number(request.headers['content-length'] ?? 0)
  if (saidBytes > bytes) throw new Problem('payload_too_large')
  const { promise, resolve, reject } = Promise.withResolvers<Blocks>()
  const expectedBytes = !unfold && saidBytes > 0 ? saidBytes : bytes
  let block = Buffer.allocUnsafe(Math.min(expectedBytes, firstBytes))
  const blocks = [block]
  let filled = 0
  let room = block.length
  let size = 0
  const source = unfold ? request.pipe(unfold) : request
  let unwatch: (() => void) | undefined
  const refuse = (problem: unknown) => {
    unwatch?.()
    source.off('data', add)
    // What is left comes for long, perhaps, and its room is given to others.
    blocks.length = 0
    block = nothing
    if (unfold) {
      request.unpipe(unfold)
      unfold.destroy()
    }
    // What is left is read on and thrown away: only so does the client come to read the answer.
    request.resume()
    reject(problem)
  }
  const add = (chunk: Buffer) => {
    if (size + chunk.length > bytes) return refuse(new Problem('payload_too_large'))
    for (let at = 0; at < chunk.length; ) {
      if (filled === block.length) {
        const length = Math.min(room, blockBytes)
        try {
          bounds.grow(room + length)
        } catch (error) {
          return refuse(error)
        }
        unwatch ??= bounds.watch({ arrived: () => size, refuse })
        block = Buffer.allocUnsafe(length)
        blocks.push(block)
        room += length
        filled = 0
      }
      const copied = chunk.copy(block, filled, at)
      filled += copied
      at += copied
    }
    size += chunk.length
  }
  // What zlib says of a body that is not compressed as it claims, and the system of one that breaks off.
  const broken = () => {
    const what = unfold
      ? `is not whole, or not in the Content-Encoding that it names (${encoding})`
      : 'breaks off'
    refuse(invalidRequest('body', what))
  }
  source.on('data', add)
  source.on('end', () => {
    unwatch?.()
    resolve({ blocks, size })
  })
  source.on('error', broken)
  request.on('error', broken)
  request.on('close', () => {
    if (!request.complete) broken()
  })
  return promise
}
