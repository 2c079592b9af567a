import { rawFieldName, relaxedField } from '../compose/canonical.ts'
import type { BodyHash, BodyPart } from './body-hash.ts'
import { findKey, type Lookup } from './key.ts'
import { readSignature, type Signature, type SignatureKind } from './signature.ts'
import { isSignedBy, verifySignature } from './verify.ts'

/** Sets of an ARC chain (RFC 8617 §4.2.1). */
export const arcSets = 50

/** The fields of one ARC set (RFC 8617 §4.1) as they stand in the message, and what its signatures say. */
export interface ArcSet {
  readonly results: string
  readonly message: string
  readonly seal: string
  readonly messageSignature: Signature
  readonly sealSignature: Signature
}

/** The sets of a message from the first to the last; `fail` for a chain that is none, whatever its signatures. */
export type ArcChain = readonly ArcSet[] | 'fail'

export interface ArcResult {
  readonly result: 'none' | 'pass' | 'fail'
  /** Who made the newest set; empty without a valid chain, but for one whose newest set could not be checked. */
  readonly sealer: string
  /** What the newest set says that its maker found: the value of its ARC-Authentication-Results without `i=`. */
  readonly found: string
  /** Whether DNS did not say a key of the newest set: it failed for now, and perhaps not for good. */
  readonly isUnknown: boolean
}

const none: ArcResult = { result: 'none', sealer: '', found: '', isUnknown: false }
const failed: ArcResult = { ...none, result: 'fail' }

/** Reads the ARC fields of a header, in whatever order they stand (RFC 8617 §5.2, steps 1 to 3). */
export function readArcChain(fields: readonly string[]): ArcChain {
  const named = Map.groupBy(fields, rawFieldName)
  const results = named.get('arc-authentication-results') ?? []
  const messages = named.get('arc-message-signature') ?? []
  const seals = named.get('arc-seal') ?? []
  const count = seals.length
  if (count > arcSets || results.length !== count || messages.length !== count) return 'fail'
  const byInstance = {
    results: indexed(results, field => ({ instance: instanceOf(field) })),
    messages: indexed(messages, field => signatureOf(field, 'arc-message-signature')),
    seals: indexed(seals, field => signatureOf(field, 'arc-seal')),
  }
  const sets: ArcSet[] = []
  for (let i = 1; i <= count; i++) {
    const found = byInstance.results.get(i)
    const message = byInstance.messages.get(i)
    const seal = byInstance.seals.get(i)
    if (!found || !message || !seal) return 'fail'
    // Also one that says cv=fail: such a chain never becomes good again.
    if (seal.read.chain !== (i === 1 ? 'none' : 'pass')) return 'fail'
    sets.push({
      results: found.field,
      message: message.field,
      seal: seal.field,
      messageSignature: message.read,
      sealSignature: seal.read,
    })
  }
  return sets
}

/** Checks a chain (RFC 8617 §5.2, steps 4 to 6): the newest message signature, and all seals from the newest to the first. */
export async function checkArc(
  chain: ArcChain,
  message: {
    readonly fields: readonly string[]
    readonly bodyHash: (part: BodyPart) => BodyHash | undefined
  },
  lookup: Lookup,
): Promise<ArcResult> {
  if (chain === 'fail') return failed
  const newest = chain.at(-1)
  if (!newest) return none
  const { messageSignature, sealSignature } = newest
  const body = message.bodyHash(messageSignature)
  if (!body || body.digest !== messageSignature.bodyHash) return failed
  const said = { sealer: sealSignature.domain, found: resultsOf(newest.results) }
  const sealKey = await findKey(lookup, sealSignature)
  if (sealKey === 'temperror') return { ...said, result: 'fail', isUnknown: true }
  // Whatever the other key is, it never passes.
  if (typeof sealKey === 'string') return failed
  const messageKey = await findKey(lookup, messageSignature)
  if (messageKey === 'temperror') return { ...said, result: 'fail', isUnknown: true }
  if (typeof messageKey === 'string') return failed
  // RFC 8617 §5.2: a signature of a part is none of the message.
  if ((await verifySignature(messageSignature, messageKey, message.fields, body)) !== 'pass') return failed
  for (let i = chain.length; i > 0; i--) {
    const seal = chain[i - 1]!.sealSignature
    const key = await findKey(lookup, seal)
    if (typeof key === 'string' || !(await isSignedBy(seal, key, sealedText(chain.slice(0, i), seal)))) {
      return failed
    }
  }
  return { ...said, result: 'pass', isUnknown: false }
}

/** What a seal signs: all sets up to its own, and of its own seal the field without its signature (RFC 8617 §5.1.1). */
export function sealedText(
  sets: readonly { readonly results: string; readonly message: string; readonly seal: string }[],
  { unsigned }: Pick<Signature, 'unsigned'>,
): string {
  const lines = sets.flatMap(({ results, message, seal }) => [results, message, seal])
  return [...lines.slice(0, -1), unsigned].map(relaxedField).join('\r\n')
}

/** The value of an ARC-Authentication-Results field without its instance, on one line. */
function resultsOf(field: string): string {
  return relaxedField(field).replace(/^[^;]*; ?/, '')
}

function instanceOf(field: string): number | undefined {
  const instance = /^arc-authentication-results:i ?= ?([1-9][0-9]?) ?;/i.exec(relaxedField(field))?.[1]
  return instance === undefined ? undefined : Number(instance)
}

function signatureOf(field: string, kind: SignatureKind): Signature | { readonly instance: undefined } {
  const read = readSignature(field, kind)
  return 'fault' in read ? { instance: undefined } : read
}

/** By instance; those without one are left out, and of two with the same none is there. */
function indexed<R extends { readonly instance: number | undefined }>(
  fields: readonly string[],
  read: (field: string) => R,
) {
  type Known = Extract<R, { readonly instance: number }>
  const byInstance = new Map<number, { field: string; read: Known } | undefined>()
  for (const field of fields) {
    const each = read(field)
    if (each.instance === undefined) continue
    byInstance.set(each.instance, byInstance.has(each.instance) ? undefined : { field, read: each as Known })
  }
  return byInstance
}
