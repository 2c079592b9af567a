import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { sliceBytes } from '../../base/concurrency.ts'

/** How a signature sees a header or a body (RFC 6376 §3.4). */
export type Canonicalisation = 'simple' | 'relaxed'

/** A body in canonical form, slice by slice. */
export interface CanonicalBody {
  /** The canonical bytes that became certain with `slice`. */
  next(slice: Buffer): Buffer
  /** Those of the end. */
  end(): Buffer
}

const tab = 9
const lf = 10
const cr = 13
const space = 32
const crlf = Buffer.from('\r\n')

/**
 * The fields of a header section, each as it stands with its folds and without its last CRLF; lines that are no field
 * are left out. `section` has one character a byte (latin1).
 */
export function rawFields(section: string): string[] {
  return section.split(/\r?\n(?![ \t])/).filter(field => field.indexOf(':') > 0)
}

/** The name of such a field, in lower case. */
export function rawFieldName(field: string): string {
  return field.slice(0, field.indexOf(':')).trimEnd().toLowerCase()
}

/** One header field in canonical form, without its CRLF. `field` is one of `rawFields`. */
export function canonicalField(field: string, form: Canonicalisation): string {
  return form === 'simple' ? field : relaxedField(field)
}

/** The relaxed form of a field (RFC 6376 §3.4.2): `from:Ann <ann@example.com>`. */
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

/** A body in canonical form (RFC 6376 §3.4.3, §3.4.4), linear in its length. A bare CR or LF is a byte like any other. */
export function createCanonicalBody(form: Canonicalisation): CanonicalBody {
  return form === 'simple' ? new SimpleBody() : new RelaxedBody()
}

/**
 * SHA-256 in base64 of a body in the relaxed form; a long body is taken in slices with a turn of the event loop between
 * them. Throws on a bare CR or LF: verifiers disagree about them.
 */
export async function relaxedBodyHash(body: Buffer): Promise<string> {
  const hash = createHash('sha256')
  const relaxed = createCanonicalBody('relaxed')
  let previous = 0
  for (let at = 0; at < body.length; at += sliceBytes) {
    if (at > 0) await setImmediate()
    const slice = body.subarray(at, at + sliceBytes)
    previous = requireWholeLineEnds(slice, previous)
    hash.update(relaxed.next(slice))
  }
  if (previous === cr) throw new Error('a bare CR stands at the end of the body')
  return hash.update(relaxed.end()).digest('base64')
}

/** Gives the last byte, for the next slice. */
function requireWholeLineEnds(slice: Buffer, before: number): number {
  let previous = before
  for (const byte of slice) {
    if ((byte === lf) !== (previous === cr)) throw new Error('a bare CR or LF stands in the body')
    previous = byte
  }
  return previous
}

/** Line ends that may yet turn out to be the last ones are only counted. */
class SimpleBody implements CanonicalBody {
  #lineEnds = 0
  #heldCr = false

  next(slice: Buffer): Buffer {
    const bytes = this.#heldCr ? Buffer.concat([crlf.subarray(0, 1), slice]) : slice
    this.#heldCr = bytes.at(-1) === cr
    const end = bytes.length - (this.#heldCr ? 1 : 0)
    let kept = end
    while (kept >= 2 && bytes[kept - 1] === lf && bytes[kept - 2] === cr) kept -= 2
    const trailing = (end - kept) / 2
    if (kept === 0) {
      this.#lineEnds += trailing
      return bytes.subarray(0, 0)
    }
    const before = Buffer.alloc(2 * this.#lineEnds, crlf)
    this.#lineEnds = trailing
    return before.length === 0 ? bytes.subarray(0, kept) : Buffer.concat([before, bytes.subarray(0, kept)])
  }

  /** One line end, also of an empty body. */
  end(): Buffer {
    return this.#heldCr
      ? Buffer.concat([Buffer.alloc(2 * this.#lineEnds, crlf), Buffer.from('\r\r\n')])
      : crlf
  }
}

/** Spaces and line ends that may yet turn out to be trailing are only remembered. */
class RelaxedBody implements CanonicalBody {
  #blank = false
  #lineEnds = 0
  #empty = true
  #heldCr = false

  next(slice: Buffer): Buffer {
    // What was held may come before: line ends, a space and a CR.
    const out = Buffer.allocUnsafe(2 * (this.#lineEnds + slice.length) + 2)
    let length = 0
    let blank = this.#blank
    let lineEnds = this.#lineEnds
    let heldCr = this.#heldCr
    for (let i = 0; i < slice.length; i++) {
      const byte = slice[i]!
      if (heldCr && byte === lf) {
        heldCr = false
        blank = false
        lineEnds++
        continue
      }
      if (!heldCr && (byte === space || byte === tab)) {
        blank = true
        continue
      }
      if (!heldCr && byte === cr) {
        heldCr = true
        continue
      }
      for (; lineEnds > 0; lineEnds--) {
        out[length++] = cr
        out[length++] = lf
      }
      if (blank) out[length++] = space
      blank = false
      this.#empty = false
      if (heldCr) {
        // It was a bare one, and this byte is looked at anew.
        out[length++] = cr
        heldCr = false
        i--
      } else out[length++] = byte
      // The rest of a word, which is most of a text.
      for (; slice[i + 1]! > space; i++) out[length++] = slice[i + 1]!
    }
    this.#blank = blank
    this.#lineEnds = lineEnds
    this.#heldCr = heldCr
    return out.subarray(0, length)
  }

  /** A body with content ends in one line end, one without is empty. */
  end(): Buffer {
    if (!this.#heldCr) return this.#empty ? Buffer.alloc(0) : crlf
    const bare = `${this.#blank ? ' ' : ''}\r\r\n`
    return Buffer.concat([Buffer.alloc(2 * this.#lineEnds, crlf), Buffer.from(bare)])
  }
}
