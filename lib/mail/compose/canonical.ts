import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'

const tab = 9
const lf = 10
const cr = 13
const space = 32

/**
 * One header field in the relaxed form (RFC 6376 §3.4.2), without its CRLF: `from:Ann <ann@example.com>`.
 * `field` is the field as it stands in the message, folded or not, one character a byte (latin1).
 */
export function relaxedField(field: string): string {
  const colon = field.indexOf(':')
  const name = collapse(field.slice(0, colon)).toLowerCase()
  return `${name}:${collapse(field.slice(colon + 1))}`
}

// Not \s, which takes NBSP, VT and FF as well: DKIM leaves those alone.
function collapse(text: string): string {
  return text
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '')
}

/**
 * SHA-256 in base64 of a body in the relaxed form (RFC 6376 §3.4.4), linear in its length; a long body is taken in
 * slices with a turn of the event loop between them. Throws on a bare CR or LF: verifiers disagree about them.
 */
export async function relaxedBodyHash(body: Buffer): Promise<string> {
  const hash = createHash('sha256')
  const relaxed = new RelaxedBody()
  for (let at = 0; at < body.length; at += limits.sliceBytes) {
    if (at > 0) await setImmediate()
    hash.update(relaxed.next(body.subarray(at, at + limits.sliceBytes)))
  }
  return hash.update(relaxed.end()).digest('base64')
}

/** Canonicalises slice by slice; spaces and line ends that may yet turn out to be trailing are only remembered. */
class RelaxedBody {
  #blank = false
  #lineEnds = 0
  #empty = true
  #previous = 0

  /** The canonical bytes that became certain with `slice`. */
  next(slice: Buffer): Buffer {
    const out = Buffer.allocUnsafe(2 * (this.#lineEnds + slice.length) + 1)
    let length = 0
    let previous = this.#previous
    for (let i = 0; i < slice.length; i++) {
      const byte = slice[i]!
      if ((byte === lf) !== (previous === cr)) throw new Error('a bare CR or LF stands in the body')
      previous = byte
      if (byte === cr) continue
      if (byte === space || byte === tab) {
        this.#blank = true
        continue
      }
      if (byte === lf) {
        this.#blank = false
        this.#lineEnds++
        continue
      }
      while (this.#lineEnds > 0) {
        out[length++] = cr
        out[length++] = lf
        this.#lineEnds--
      }
      if (this.#blank) out[length++] = space
      out[length++] = byte
      this.#blank = false
      this.#empty = false
    }
    this.#previous = previous
    return out.subarray(0, length)
  }

  /** The end: a body with content ends in one CRLF, one without is empty. */
  end(): string {
    if (this.#previous === cr) throw new Error('a bare CR stands at the end of the body')
    return this.#empty ? '' : '\r\n'
  }
}
