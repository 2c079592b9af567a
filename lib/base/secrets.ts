import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto'
import { createPace, sliceBytes } from './concurrency.ts'

const digits = '0123456789'
const lower = 'abcdefghijklmnopqrstuvwxyz'
const base36 = digits + lower
const base62 = digits + lower.toUpperCase() + lower

/** `length` random characters of 0-9, A-Z and a-z. */
export function randomBase62(length: number): string {
  return randomText(base62, length)
}

/** `length` random characters of 0-9 and a-z. */
export function randomBase36(length: number): string {
  return randomText(base36, length)
}

/** Without bias: bytes above the last multiple of the number of characters are thrown away. */
function randomText(characters: string, length: number): string {
  const bound = 256 - (256 % characters.length)
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    if (byte < bound) text += characters[byte % characters.length]
  }
  return text
}

/** Much is drawn at once, for to draw it costs more than what is made of it. What was given is overwritten. */
const drawn = Buffer.alloc(4096)
let used = drawn.length
function randomByte(): number {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const byte = drawn[used]!
  drawn[used++] = 0
  return byte
}

/** The SHA-256 of `data` in hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** The same of what may be large, at a pace. */
export async function sha256HexOfMany(data: Uint8Array): Promise<string> {
  const digest = createHash('sha256')
  const pace = createPace()
  for (let at = 0; at < data.length; at += sliceBytes) {
    await pace(Math.min(sliceBytes, data.length - at))
    digest.update(data.subarray(at, at + sliceBytes))
  }
  return digest.digest('hex')
}

/** The HMAC-SHA256 of `data` under `key`, in base64url. */
export function hmacBase64url(key: string | Uint8Array, data: string): string {
  return createHmac('sha256', key).update(data).digest('base64url')
}

/** The digits of base32 (RFC 4648 §6) in lower case, for what must survive a change of case. */
export const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** The first `length` digits (at most 51, each 5 bits) of the HMAC-SHA256 of `data` under `key`. */
export function hmacBase32(key: string, data: string, length: number): string {
  let bits = BigInt(`0x${createHmac('sha256', key).update(data).digest('hex')}`)
  let text = ''
  for (; text.length < length; bits >>= 5n) text += base32[Number(bits & 31n)]
  return text
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function isEqualSecret(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Secrets of the database (of domains and webhooks) that are kept opened. */
export const secretsOpened = 2000

declare const sealedText: unique symbol

/**
 * A secret as it stands in the database: encrypted text. The type is no string, so that neither can a secret be stored
 * that was not sealed, nor a sealed one be taken for the secret.
 */
export interface Sealed {
  readonly [sealedText]: never
}

/** Where a sealed secret stands. It is bound to its place: moved to another row or column, it does not open. */
export interface SecretPlace {
  readonly table: string
  readonly column: string
  readonly id: string
}

/** Seals and opens secrets under one key. */
export interface SecretBox {
  /** Which key it is, in hex; says nothing about the key. */
  readonly keyId: string
  seal(place: SecretPlace, secret: string): Sealed
  /** @throws SecretFault when it was not sealed under this key, for this place */
  open(place: SecretPlace, sealed: Sealed): string
}

/** A sealed secret does not open. */
export class SecretFault extends Error {
  override readonly name = 'SecretFault'
}

export const secretKeyBytes = 32

/** In front of the base64url of: version (1), key id (4), nonce (12), ciphertext, tag (16). No secret of ours begins so. */
const mark = 'sealed:'
const version = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + keyIdBytes

/** Whether a text from the database was sealed, by whatever key. */
function isSealed(text: string): boolean {
  return text.startsWith(mark)
}

/**
 * AES-256-GCM with a random nonce (NIST SP 800-38D §8.2.2: good for 2^32 secrets under one key; there is one for each
 * domain and webhook). Opened secrets are remembered, bounded, as long as their row stays as it is.
 * @param key `secretKeyBytes` random bytes
 */
export function createSecretBox(key: Buffer): SecretBox {
  if (key.length !== secretKeyBytes) throw new Error(`a secret key has ${secretKeyBytes} bytes`)
  const secretKey = createSecretKey(key)
  const keyId = hash('sha256', Buffer.concat([Buffer.from('mailboxd key id\n'), key]), 'buffer').subarray(
    0,
    keyIdBytes,
  )
  const opened = new Map<string, { readonly sealed: string; readonly secret: string }>()
  return {
    keyId: keyId.toString('hex'),
    seal(place, secret) {
      const head = Buffer.concat([Buffer.from([version]), keyId])
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', secretKey, nonce)
      cipher.setAAD(associated(head, place))
      const parts = [head, nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `${mark}${Buffer.concat(parts).toString('base64url')}` as unknown as Sealed
    },
    open(place, sealed) {
      const text = sealed as unknown as string
      const name = `${place.table}.${place.column}.${place.id}`
      const known = opened.get(name)
      if (known?.sealed === text) return known.secret
      opened.delete(name)
      const secret = decrypt(secretKey, keyId, place, text)
      if (opened.size >= secretsOpened) opened.delete(opened.keys().next().value!)
      opened.set(name, { sealed: text, secret })
      return secret
    },
  }
}

function decrypt(key: KeyObject, keyId: Buffer, place: SecretPlace, text: string): string {
  const where = `${place.table}.${place.column} of ${place.id}`
  const bytes = isSealed(text) ? Buffer.from(text.slice(mark.length), 'base64url') : Buffer.alloc(0)
  if (bytes.length < headBytes + nonceBytes + tagBytes || bytes[0] !== version) {
    throw new SecretFault(`${where} holds no sealed secret`)
  }
  const head = bytes.subarray(0, headBytes)
  if (!head.subarray(1).equals(keyId)) throw new SecretFault(`${where} was sealed under another key`)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(headBytes, headBytes + nonceBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(associated(head, place))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    const secret = decipher.update(bytes.subarray(headBytes + nonceBytes, -tagBytes))
    return Buffer.concat([secret, decipher.final()]).toString('utf8')
  } catch (error) {
    throw new SecretFault(`${where} does not open: it was changed, or belongs to another row`, {
      cause: error,
    })
  }
}

/** Ids, tables and columns have no line feed, so no two places read the same. */
function associated(head: Buffer, { table, column, id }: SecretPlace): Buffer {
  return Buffer.concat([head, Buffer.from(`\n${table}\n${column}\n${id}`)])
}
