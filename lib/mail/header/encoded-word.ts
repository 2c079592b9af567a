import { decodeText, fromLatin1, withoutCutCharacter } from './charset.ts'
import { decodeQuotedPrintable } from './quoted-printable.ts'

interface Word {
  readonly charset: string
  readonly bytes: Buffer
  /** Where the text goes on behind it. */
  readonly end: number
}

/** `=?charset*language?encoding?`, of which the language says nothing to us (RFC 2231 §5). */
const opening = /=\?([^?*\s]{1,60})(?:\*[^?\s]{0,60})?\?([bq])\?/iy

/**
 * Text with its encoded words decoded (RFC 2047 §6.2): for phrases, comments and unstructured fields, after their
 * structure was read. Words of one charset that stand side by side are put together first, for some programs cut
 * between the bytes of a character. Words that are none stay as they are.
 * @param outside what becomes of the text around them, which may be bytes of an unknown charset
 */
export function decodeWords(text: string, outside: (text: string) => string = fromLatin1): string {
  let decoded = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('=?', at)
    if (start < 0) return decoded + outside(text.slice(at))
    const word = wordAt(text, start)
    if (!word) {
      decoded += outside(text.slice(at, start + 2))
      at = start + 2
      continue
    }
    decoded += outside(text.slice(at, start))
    const run = [word]
    let next = nextWord(text, word.end)
    while (next) {
      run.push(next)
      next = nextWord(text, next.end)
    }
    decoded += decodeRun(run)
    at = run.at(-1)!.end
  }
}

/** The encoded word that follows another with nothing but white space between. */
function nextWord(text: string, end: number): Word | undefined {
  let at = end
  while (' \t\r\n'.includes(text[at] ?? '.')) at++
  return text.startsWith('=?', at) ? wordAt(text, at) : undefined
}

function wordAt(text: string, start: number): Word | undefined {
  opening.lastIndex = start
  const opened = opening.exec(text)
  if (!opened) return undefined
  const begin = start + opened[0].length
  const end = text.indexOf('?=', begin)
  if (end < 0) return undefined
  const encoded = bytesOf(text.slice(begin, end))
  const bytes =
    opened[2]!.toLowerCase() === 'b'
      ? Buffer.from(encoded.toString('latin1'), 'base64')
      : decodeQuotedPrintable(Buffer.from(encoded.toString('latin1').replaceAll('_', '=20'), 'latin1'))
  return { charset: opened[1]!, bytes, end: end + 2 }
}

/** Bytes that are not ASCII belong to the word's charset, whatever they were held as. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, /[^\x00-\xff]/.test(text) ? 'utf8' : 'latin1')
}

function decodeRun(run: readonly Word[]): string {
  let decoded = ''
  let at = 0
  while (at < run.length) {
    const charset = run[at]!.charset.toLowerCase()
    let end = at + 1
    while (run[end]?.charset.toLowerCase() === charset) end++
    decoded += decodeSame(run.slice(at, end), charset)
    at = end
  }
  return decoded
}

/**
 * Words of one charset: together, unless each is whole in itself, as those with escapes should be (RFC 1468). Of a text
 * that was cut inside its last character that one is left out.
 */
function decodeSame(words: readonly Word[], charset: string): string {
  const together = decodeCut(Buffer.concat(words.map(({ bytes }) => bytes)), charset)
  if (words.length === 1 || !together.includes('\ufffd')) return together
  const apart = words.map(({ bytes }) => decodeCut(bytes, charset)).join('')
  return apart.includes('\ufffd') ? together : apart
}

/** The text of bytes of a name, without the character at its end of which not all bytes are there. */
export function decodeCut(bytes: Buffer, charset: string): string {
  const text = decodeText(withoutCutCharacter(bytes, charset), charset)
  return text.indexOf('\ufffd') === text.length - 1 ? text.slice(0, -1) : text
}
