import type { IncomingMessage } from 'node:http'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { BodyShare } from './body-room.ts'

/** What unfolds a body that comes with such a Content-Encoding (RFC 9110 §8.4.1). */
const unfolders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])
const firstBytes = 64 * 1024

/**
 * Reads the body of a request, unfolded, of at most `bytes`.
 * @throws Problem `payload_too_large`, `unsupported_media_type`, `invalid_request`; as `BodyShare.take`
 */
export function readBytes(request: IncomingMessage, bytes: number, share: BodyShare): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity'
  const unfold = unfolders.get(encoding)?.()
  if (!unfold && encoding !== 'identity') throw new Problem('unsupported_media_type')
  if (Number(request.headers['content-length'] ?? 0) > bytes) throw new Problem('payload_too_large')
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // One that grows: a list would hold an object for each of millions of chunks of a byte.
  let body = Buffer.allocUnsafe(Math.min(bytes, firstBytes))
  let size = 0
  const source = unfold ? request.pipe(unfold) : request
  const refuse = (problem: unknown) => {
    source.off('data', add)
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
    if (size + chunk.length > body.length) {
      const length = Math.min(bytes, Math.max(size + chunk.length, body.length * 2))
      try {
        share.take(length)
      } catch (error) {
        return refuse(error)
      }
      const larger = Buffer.allocUnsafe(length)
      body.copy(larger, 0, 0, size)
      body = larger
    }
    size += chunk.copy(body, size)
  }
  // What zlib says of a body that is not compressed as it claims, and the system of one that breaks off.
  const broken = () => refuse(invalidRequest('body', 'can not be read to its end'))
  source.on('data', add)
  source.on('end', () => resolve(body.subarray(0, size)))
  source.on('error', broken)
  request.on('error', broken)
  request.on('close', () => {
    if (!request.complete) broken()
  })
  return promise
}
