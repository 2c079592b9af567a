import { createPublicKey, type KeyObject } from 'node:crypto'
import { tooLongCode } from '../../base/network.ts'
import { keyName, type Signature } from './signature.ts'
import { parseTags, withoutSpace } from './tags.ts'

/** Keys of strangers: bits of an RSA modulus that are believed (RFC 8301), and characters of a key's record. */
export const dkimKeyBitsMin = 1024
export const dkimKeyBits = 4096
export const dkimRecordLength = 8192

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
    return code === 'ENOTFOUND' || code === 'ENODATA' || code === tooLongCode ? 'permerror' : 'temperror'
  }
  // With several it would be undefined which is meant (RFC 6376 §3.6.2.2).
  if (records.length !== 1) return 'permerror'
  const [record] = records
  return readKey(record, signature)
}

function readKey(
  given: unknown,
  { keyType, identityDomain, domain }: Signature,
): KeyObject | 'permerror' | 'policy' {
  const record = Array.isArray(given) ? given.join('') : String(given)
  const tags = record.length > dkimRecordLength ? undefined : parseTags(record)
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
  const key = keptKey(given, keyType, () => (keyType === 'ed25519' ? ed25519Key(bytes) : rsaKey(bytes)))
  return key ?? 'permerror'
}

/** What was made of the key in a record, for as long as a memory of DNS has that record: to make a key takes as long as to use it. */
const keptKeys = new WeakMap<object, Map<Signature['keyType'], KeyObject | 'policy' | undefined>>()

function keptKey(
  record: unknown,
  keyType: Signature['keyType'],
  make: () => KeyObject | 'policy' | undefined,
): KeyObject | 'policy' | undefined {
  if (typeof record !== 'object' || record === null) return make()
  const kept = keptKeys.get(record) ?? new Map()
  keptKeys.set(record, kept)
  if (!kept.has(keyType)) kept.set(keyType, make())
  return kept.get(keyType)
}

function ed25519Key(bytes: Buffer): KeyObject | undefined {
  return bytes.length === 32 ? publicKey(Buffer.concat([ed25519Prefix, bytes]), 'spki') : undefined
}

/** Large enough to be believed (RFC 8301 §3.2), and cheap enough to be used: a stranger chose it. */
function rsaKey(bytes: Buffer): KeyObject | 'policy' | undefined {
  const key = publicKey(bytes, 'spki') ?? publicKey(bytes, 'pkcs1')
  if (key?.asymmetricKeyType !== 'rsa') return undefined
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const isBelieved = modulusLength >= dkimKeyBitsMin && modulusLength <= dkimKeyBits
  return isBelieved && publicExponent < 2n ** 33n ? key : 'policy'
}

function publicKey(key: Buffer, type: 'spki' | 'pkcs1'): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: 'der', type })
  } catch {
    return undefined
  }
}
