import { Readable } from 'node:stream'
import { chunksOf, inSlices } from '../../base/chunks.ts'
import { limits } from '../../base/limits.ts'

/**
 * The message with no more DKIM-Signature fields than we check, the topmost ones: mailauth checks them all, each with a
 * DNS query and, when its l= differs, a hash of the body. The others would have to sign a DKIM-Signature that is left
 * out to notice.
 */
export function limitSignatures(raw: Buffer | Readable): Buffer | Readable {
  if (!Buffer.isBuffer(raw)) return Readable.from(limited(raw), { objectMode: false })
  const bytes = withoutExcess(raw)
  return bytes.length > limits.sliceBytes ? inSlices(bytes, limits.sliceBytes) : bytes
}

async function* limited(raw: Readable): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunksOf(raw)) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    if (start.length <= limits.headerBytes) continue
    yield withoutExcess(start)
    start = undefined
  }
  if (start !== undefined) yield withoutExcess(start)
}

function withoutExcess(bytes: Buffer): Buffer {
  const header = bytes.toString('latin1', 0, limits.headerBytes).split(/(?<=\n)(?=\r?\n)/, 1)[0] ?? ''
  if ((header.match(/^dkim-signature[ \t]*:/gim)?.length ?? 0) <= limits.dkimSignatures) return bytes
  let seen = 0
  const kept = header
    .split(/(?<=\n)(?![ \t])/)
    .filter(field => !/^dkim-signature[ \t]*:/i.test(field) || ++seen <= limits.dkimSignatures)
  return Buffer.concat([Buffer.from(kept.join(''), 'latin1'), bytes.subarray(header.length)])
}
