import { createPublicKey, type KeyObject } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import { keyName, type Signature } from './signature.ts'
import { parseTags, withoutSpace } from './tags.ts'

/** Asks for the records of a name, in the form of node:dns `resolve(name, type)` and with its errors. */
export type Lookup = (name: string, type: string) => Promise<unknown[]>

/** A key, or why there is none (RFC 8601 §2.7.1): for good, not one that is believed, or because DNS did not say. */
export type FoundKey = KeyObject | 'permerror' | 'policy' | 'temperror'

/** What stands before the 32 bytes of an Ed25519 key to make it a SubjectPublicKeyInfo (RFC 8410 §4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** The public key of a signature (RFC 6376 §3.6, RFC 8463), asked of DNS once. */
export async function findKey(lookup: Lookup, signature: Signature): Promise<FoundKey> {
  let records: readonly unknown[]
  try {
    records = await lookup(keyName(signature), 'TXT')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOTFOUND' || code === 'ENODATA' ? 'permerror' : 'temperror'
  }
  // With several it would be undefined which is meant (RFC 6376 §3.6.2.2).
  if (records.length !== 1) return 'permerror'
  const [record] = records
  return readKey(Array.isArray(record) ? record.join('') : String(record), signature)
}

function readKey(
  record: string,
  { keyType, identityDomain, domain }: Signature,
): KeyObject | 'permerror' | 'policy' {
  const tags = record.length > limits.dkimRecordLength ? undefined : parseTags(record)
  if (!tags) return 'permerror'
  const list = (name: string) =>
    withoutSpace(tags.get(name)?.value ?? '')
      .toLowerCase()
      .split(':')
  const isUsable =
    (!tags.has('v') || (tags.get('v')!.value === 'DKIM1' && tags.keys().next().value === 'v')) &&
    (tags.get('k')?.value ?? 'rsa').toLowerCase() === keyType &&
    (!tags.has('h') || list('h').includes('sha256')) &&
    (!tags.has('s') || list('s').some(service => service === '*' || service === 'email')) &&
    // RFC 6376 §3.6.1: with t=s the two are the same.
    (!list('t').includes('s') || identityDomain === domain)
  // An empty one is revoked.
  const bytes = Buffer.from(withoutSpace(tags.get('p')?.value ?? ''), 'base64')
  if (!isUsable || bytes.length === 0) return 'permerror'
  const key = keyType === 'ed25519' ? ed25519Key(bytes) : rsaKey(bytes)
  return key ?? 'permerror'
}

function ed25519Key(bytes: Buffer): KeyObject | undefined {
  return bytes.length === 32 ? publicKey(Buffer.concat([ed25519Prefix, bytes]), 'spki') : undefined
}

/** Large enough to be believed (RFC 8301 §3.2), and cheap enough to be used: a stranger chose it. */
function rsaKey(bytes: Buffer): KeyObject | 'policy' | undefined {
  const key = publicKey(bytes, 'spki') ?? publicKey(bytes, 'pkcs1')
  if (key?.asymmetricKeyType !== 'rsa') return undefined
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const isBelieved = modulusLength >= limits.dkimKeyBitsMin && modulusLength <= limits.dkimKeyBits
  return isBelieved && publicExponent < 2n ** 33n ? key : 'policy'
}

function publicKey(key: Buffer, type: 'spki' | 'pkcs1'): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: 'der', type })
  } catch {
    return undefined
  }
}
