import { rawFieldName } from '../compose/canonical.ts'
import type { BodyHash, BodyPart } from '../signature/body-hash.ts'
import { findKey, type Lookup } from '../signature/key.ts'
import { readSignature, type Signature, type UnreadableSignature } from '../signature/signature.ts'
import { verifySignature } from '../signature/verify.ts'
import type { AuthenticationResult } from './results.ts'

/** DKIM signatures of one message that are checked. */
export const dkimSignatures = 10

/** A DKIM signature that was checked. */
export interface DkimResult {
  /** `d=` and `s=`; empty when they are no names. */
  readonly domain: string
  readonly selector: string
  /** Of a signature that leaves the end of the body unsigned (l=) `policy`: anyone may have added it. */
  readonly result: AuthenticationResult
}

/** The topmost signatures, as many as are checked. The others would have to sign one that is left out to notice. */
export function readDkimSignatures(fields: readonly string[]): (Signature | UnreadableSignature)[] {
  return fields
    .filter(field => rawFieldName(field) === 'dkim-signature')
    .slice(0, dkimSignatures)
    .map(field => readSignature(field, 'dkim-signature'))
}

/**
 * Checks one signature, in the words of RFC 8601 §2.7.1: what can't be known now is a temperror; without its key, or over, a
 * permerror; of a form that can't be read, neutral; and right, or not worth a look, but not believed here, policy.
 */
export async function checkDkim(
  signature: Signature | UnreadableSignature,
  message: {
    readonly fields: readonly string[]
    readonly bodyHash: (part: BodyPart) => BodyHash | undefined
    readonly now: Date
  },
  lookup: Lookup,
): Promise<DkimResult> {
  const { domain, selector } = signature
  const say = (result: AuthenticationResult) => ({ domain, selector, result })
  if ('fault' in signature) return say(signature.result)
  if (signature.expiresAt !== undefined && signature.expiresAt * 1000 < message.now.getTime()) {
    return say('permerror')
  }
  const body = message.bodyHash(signature)
  if (!body) return say('permerror')
  // A body that is not the signed one fails whatever the key is.
  if (body.digest !== signature.bodyHash) return say('fail')
  const key = await findKey(lookup, signature)
  if (typeof key === 'string') return say(key)
  const verified = await verifySignature(signature, key, message.fields, body)
  return say(verified === 'partial' ? 'policy' : verified)
}
