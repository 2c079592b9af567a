import { createHash } from 'node:crypto'
import { type Canonicalisation, createCanonicalBody } from '../compose/canonical.ts'

/** Bodies up to this size are hashed as often as their signatures differ (l=), larger ones this often. */
export const dkimSmallBytes = 1024 * 1024
export const dkimBodyHashes = 3

/** What of a body is hashed: its form, and how many bytes of that; undefined: all. */
export interface BodyPart {
  readonly bodyForm: Canonicalisation
  readonly bodyLength: number | undefined
}

export interface BodyHash {
  /** SHA-256, in base64. */
  readonly digest: string
  /** How many canonical bytes the whole body has. */
  readonly totalBytes: number
}

/**
 * The hashes of one body, which is read once and made canonical at most twice, whatever the signatures ask for. Each
 * part is hashed once; of a body above dkimSmallBytes only the first dkimBodyHashes parts, so that many
 * signatures of parts of a large body cost what a few do.
 */
export function createBodyHashes(parts: readonly BodyPart[]) {
  const entries = new Map<string, ReturnType<typeof createEntry>>()
  for (const part of parts) {
    const key = keyOf(part)
    if (!entries.has(key)) entries.set(key, createEntry(part))
  }
  const forms = (['simple', 'relaxed'] as const)
    .map(form => ({
      body: createCanonicalBody(form),
      totalBytes: 0,
      entries: [...entries.values()].filter(entry => entry.part.bodyForm === form),
    }))
    .filter(form => form.entries.length > 0)
  let seenBytes = 0

  function take(form: (typeof forms)[number], canonical: Buffer): void {
    form.totalBytes += canonical.length
    for (const entry of form.entries) {
      if (entry.isDropped || entry.leftBytes === 0) continue
      const taken = canonical.subarray(0, Math.min(entry.leftBytes, canonical.length))
      entry.leftBytes -= taken.length
      entry.hash.update(taken)
    }
  }

  return {
    update(slice: Buffer): void {
      seenBytes += slice.length
      if (seenBytes > dkimSmallBytes) {
        for (const entry of [...entries.values()].slice(dkimBodyHashes)) entry.isDropped = true
      }
      for (const form of forms) take(form, form.body.next(slice))
    },
    /** What was hashed of a part; undefined where it was too much, or there is less of the body than `l=` says. */
    end(): (part: BodyPart) => BodyHash | undefined {
      for (const form of forms) take(form, form.body.end())
      const hashes = new Map<string, BodyHash>()
      for (const { totalBytes, entries: ofForm } of forms) {
        for (const { part, hash, isDropped } of ofForm) {
          if (isDropped || (part.bodyLength ?? 0) > totalBytes) continue
          hashes.set(keyOf(part), { digest: hash.digest('base64'), totalBytes })
        }
      }
      return part => hashes.get(keyOf(part))
    },
  }
}

function createEntry(part: BodyPart) {
  return {
    part,
    hash: createHash('sha256'),
    leftBytes: part.bodyLength ?? Number.POSITIVE_INFINITY,
    isDropped: false,
  }
}

function keyOf({ bodyForm, bodyLength }: BodyPart): string {
  return `${bodyForm} ${bodyLength ?? 'all'}`
}
