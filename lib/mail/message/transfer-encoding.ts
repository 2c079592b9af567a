import { isUtf8 } from 'node:buffer'
import { decodeQuotedPrintable } from '../header/quoted-printable.ts'
import { decodeUuencode } from './uuencode.ts'

/** The bytes of a body without its Content-Transfer-Encoding (RFC 2045 §6); one that nobody knows is none. */
export function decodeTransfer(body: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return decodeBase64(body)
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body)
  return /^(?:x-)?uue(?:ncode)?$/.test(encoding) ? decodeUuencode(body).bytes : body
}

/** Bytes of a body by which plain words are told from base64, and the longest line that may be a greeting alone. */
const judgedBytes = 4096
const greetingLength = 60

/**
 * Whether a text that is called base64 can be that. The first line of plain words has blanks or dots in it. A line of letters
 * alone, such as `Hello`, is plain if words follow it and its letters decode to no text.
 */
export function isBase64Text(body: Buffer): boolean {
  const [first = '', ...others] = body
    .toString('latin1', 0, judgedBytes)
    .trim()
    .split('\n')
    .map(line => line.trim())
  if (!/^[A-Za-z0-9+/=]*$/.test(first)) return false
  const hasWords = others.some(line => /\w[ .,]+\w/.test(line))
  if (!hasWords || first.length > greetingLength || first.endsWith('=')) return true
  const decoded = Buffer.from(first, 'base64')
  return isUtf8(decoded) && !decoded.some(byte => byte < 0x09)
}

/** How many bytes `decodeTransfer` gives: of base64 as programs write it without making all of them. */
export function decodedLength(body: Buffer, encoding: string): number {
  return (encoding === 'base64' ? countBase64(body) : undefined) ?? decodeTransfer(body, encoding).length
}

/** About how much is decoded at once to be counted, and where to: memory outside of the heap brings its next collection nearer. */
const countedBytes = 48 * 1024
const counted = Buffer.alloc(countedBytes)

/**
 * Of base64 in lines that are all as long as the first one, in whole fours, with no more behind a padding than line ends; undefined where
 * it is any other. What a piece of such lines decodes to is as long as its characters say only if all of them are base64.
 */
function countBase64(body: Buffer): number | undefined {
  const newline = body.indexOf(lf)
  const lineBytes = newline + 1
  const lineEndBytes = body[newline - 1] === cr ? 2 : 1
  const characters = lineBytes - lineEndBytes
  if (newline < 0 || characters <= 0 || characters % 4 !== 0 || lineBytes > countedBytes) return undefined
  const pieceBytes = Math.floor(countedBytes / lineBytes) * lineBytes
  let count = 0
  let at = 0
  for (; at + pieceBytes < body.length; at += pieceBytes) {
    for (let end = at + lineBytes; end <= at + pieceBytes; end += lineBytes) {
      if (body[end - 1] !== lf || (lineEndBytes === 2 && body[end - 2] !== cr)) return undefined
    }
    const bytes = counted.write(body.toString('latin1', at, at + pieceBytes), 'base64')
    if (bytes !== (pieceBytes / lineBytes) * characters * (3 / 4)) return undefined
    count += bytes
  }
  return count + decodeBase64(body.subarray(at)).length
}

/**
 * Base64 with whatever stands between its characters (RFC 2045 §6.8). Behind a padding another piece may follow, for some
 * programs put encoded pieces together; what is no line of base64 there is the footer of a list.
 */
function decodeBase64(body: Buffer): Buffer {
  const padding = body.indexOf('=')
  const first = Buffer.from(body.toString('latin1', 0, padding < 0 ? body.length : padding), 'base64')
  const rest = padding < 0 ? Buffer.alloc(0) : decodePieces(body.subarray(padding + 1))
  return rest.length === 0 ? first : Buffer.concat([first, rest])
}

const [lf, cr, equals] = [0x0a, 0x0d, 0x3d]

/** The six bits of each character, 255 for all that are none. */
const sextets = new Uint8Array(256).fill(255)
for (const [value, character] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  sextets[character.charCodeAt(0)] = value
}

/** Pieces of base64, each with its padding: so many that the platform's decoder can't be called for each. */
function decodePieces(body: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(body.length)
  let length = 0
  let bits = 0
  /** How many bits of `bits` were not written yet. */
  let held = 0
  for (const byte of body.subarray(0, endOfBase64(body))) {
    const sextet = sextets[byte]!
    // A padding ends a piece, and what is left of its bits is nothing.
    if (byte === equals) held = 0
    if (sextet > 63) continue
    bits = ((bits << 6) | sextet) & 0xffff
    held += 6
    if (held < 8) continue
    held -= 8
    decoded[length++] = (bits >> held) & 0xff
  }
  return decoded.subarray(0, length)
}

/** Where the first line begins that holds anything else. */
function endOfBase64(body: Buffer): number {
  let lineStart = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte === lf) lineStart = at + 1
    else if (byte !== cr && byte !== equals && sextets[byte]! > 63) return lineStart
  }
  return body.length
}
