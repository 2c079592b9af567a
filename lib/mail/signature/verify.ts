import { createHash, verify as cryptoVerify, type KeyObject } from 'node:crypto'
import { signedText } from '../compose/dkim.ts'
import type { BodyHash } from './body-hash.ts'
import type { Signature } from './signature.ts'

/** How a signature did: partial when it is right and the end of the body is not signed. */
export type Verified = 'pass' | 'partial' | 'fail'

/** Whether the key made the signature, of these fields and this body (RFC 6376 §6.1.3). */
export async function verifySignature(
  signature: Signature,
  key: KeyObject,
  fields: readonly string[],
  body: BodyHash,
): Promise<Verified> {
  if (signature.bodyHash !== body.digest) return 'fail'
  if (!(await isSignedBy(signature, key, signedText(signature, fields)))) return 'fail'
  return (signature.bodyLength ?? body.totalBytes) < body.totalBytes ? 'partial' : 'pass'
}

/** Whether the key made the signature over this text. Computed off the event loop. */
export function isSignedBy(
  { keyType, signature }: Pick<Signature, 'keyType' | 'signature'>,
  key: KeyObject,
  text: string,
): Promise<boolean> {
  const bytes = Buffer.from(text, 'latin1')
  return new Promise(resolve => {
    const done = (error: Error | null, isRight: boolean) => resolve(!error && isRight)
    // RFC 8463 §3: Ed25519 signs the hash.
    if (keyType === 'rsa') cryptoVerify('sha256', bytes, key, signature, done)
    else cryptoVerify(null, createHash('sha256').update(bytes).digest(), key, signature, done)
  })
}
