import { createHash, createHmac, hash, randomFillSync, timingSafeEqual } from 'node:crypto'
import { createPace, sliceBytes } from './turns.ts'

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
