/** What uuencode (POSIX) made of a file, and the name that it gave it. */
export interface Uuencoded {
  readonly bytes: Buffer
  readonly name: string | undefined
}

const begin = /(?:^|\n)begin(?:-base64)? [0-7]{3,4} ([^\r\n]{0,255})\r?\n/
const [lf, cr, space] = [0x0a, 0x0d, 0x20]

/** Reads it in one pass: each line says how many bytes it holds, and `end`, or one of none, is the last. */
export function decodeUuencode(body: Buffer): Uuencoded {
  const opened = begin.exec(body.toString('latin1', 0, 4096))
  const decoded = Buffer.alloc(body.length)
  let length = 0
  let at = opened ? opened.index + opened[0].length : 0
  while (at < body.length) {
    const newline = body.indexOf(lf, at)
    const next = newline < 0 ? body.length : newline + 1
    const end = newline < 0 ? body.length : body[newline - 1] === cr ? newline - 1 : newline
    if (body.toString('latin1', at, end) === 'end') break
    const count = end > at ? (body[at]! - space) & 63 : 0
    for (let index = 0; index < count; index++) {
      const group = at + 1 + 4 * Math.floor(index / 3)
      decoded[length++] = byteOf(body, group, end, index % 3)
    }
    at = next
  }
  return { bytes: decoded.subarray(0, length), name: opened?.[1] || undefined }
}

/** One of the three bytes that four characters are; characters that a line lacks are zero. */
function byteOf(body: Buffer, group: number, end: number, which: number): number {
  const sextet = (at: number) => (at < end ? (body[at]! - space) & 63 : 0)
  const [high, low] = [sextet(group + which), sextet(group + which + 1)]
  return ((high << (2 + 2 * which)) | (low >> (4 - 2 * which))) & 0xff
}
