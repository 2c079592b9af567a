const [tab, lf, cr, space, equals] = [0x09, 0x0a, 0x0d, 0x20, 0x3d]

/** The value of each hexadecimal digit's byte, 255 for all others; lower case is put up with (RFC 2045 §6.7). */
const digits = new Uint8Array(256).fill(255)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  digits[digit.charCodeAt(0)] = value
  digits[digit.toUpperCase().charCodeAt(0)] = value
}

/** The bytes that quoted-printable stands for (RFC 2045 §6.7), in one pass; an `=` that says nothing stays. */
export function decodeQuotedPrintable(bytes: Buffer): Buffer {
  let equal = bytes.indexOf(equals)
  if (equal < 0) return bytes
  const decoded = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let at = 0
  while (equal >= 0) {
    length += copy(bytes, at, equal, decoded, length)
    const high = digits[bytes[equal + 1] ?? 0]!
    const low = digits[bytes[equal + 2] ?? 0]!
    if (high < 16 && low < 16) {
      decoded[length++] = high * 16 + low
      at = equal + 3
    } else {
      at = afterSoftBreak(bytes, equal)
      if (at === equal) decoded[length++] = equals
      if (at === equal) at++
    }
    equal = bytes[at] === equals ? at : bytes.indexOf(equals, at)
  }
  length += copy(bytes, at, bytes.length, decoded, length)
  return decoded.subarray(0, length)
}

/** Short runs are copied here: a call of the platform costs more than they do. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  if (end - start > 64) return from.copy(to, at, start, end)
  for (let index = start; index < end; index++) to[at + index - start] = from[index]!
  return end - start
}

/** Where the text goes on behind a soft line break, which the end of the bytes is too; `equal` itself when it is none. */
function afterSoftBreak(bytes: Buffer, equal: number): number {
  let at = equal + 1
  while (bytes[at] === space || bytes[at] === tab) at++
  if (at >= bytes.length) return at
  if (bytes[at] === lf) return at + 1
  return bytes[at] === cr && bytes[at + 1] === lf ? at + 2 : equal
}
