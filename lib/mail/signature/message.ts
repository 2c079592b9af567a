import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { chunksOf } from '../../base/files.ts'
import { headerBytes, readHeader } from '../header/header.ts'
import { type BodyHash, type BodyPart, createBodyHashes } from './body-hash.ts'

/** Bytes of a body that are made canonical and hashed before others have the event loop. */
const hashSliceBytes = 256 * 1024

/** A message as signatures see it. */
export interface HashedMessage {
  /** Those that the header was read to have, so that what is signed is what is shown; each as it stands (rawFields). */
  readonly fields: readonly string[]
  readonly bodyHash: (part: BodyPart) => BodyHash | undefined
}

/**
 * Reads a message once. What of its body is hashed, the signatures in its header say.
 * @throws what reading a stream throws
 */
export async function hashMessage(
  raw: Buffer | Readable,
  partsOf: (fields: readonly string[]) => readonly BodyPart[],
): Promise<HashedMessage> {
  let start: Buffer = Buffer.alloc(0)
  let message: { fields: readonly string[]; hashes: ReturnType<typeof createBodyHashes> } | undefined
  async function open(): Promise<NonNullable<typeof message>> {
    const header = readHeader(start)
    const { bodyOffset } = header
    const fields = header.fields.map(field =>
      start.toString('latin1', field.start, field.end).replace(/\r?\n$/, ''),
    )
    const hashes = createBodyHashes(partsOf(fields))
    await hash(hashes.update, start.subarray(bodyOffset))
    return { fields, hashes }
  }
  for await (const chunk of Buffer.isBuffer(raw) ? [raw] : chunksOf(raw)) {
    if (message) {
      await hash(message.hashes.update, chunk)
      continue
    }
    start = start.length === 0 ? chunk : Buffer.concat([start, chunk])
    // The header is within the limit (findHeaderFault), so all of it is here then.
    if (start.length > headerBytes + 4) message = await open()
  }
  const { fields, hashes } = message ?? (await open())
  return { fields, bodyHash: hashes.end() }
}

/** In slices, with a turn of the event loop between them. */
async function hash(update: (slice: Buffer) => void, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += hashSliceBytes) {
    if (at > 0) await setImmediate()
    update(bytes.subarray(at, at + hashSliceBytes))
  }
}
