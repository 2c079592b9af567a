import { isAscii, isUtf8 } from 'node:buffer'
import type { CharsetGuess } from './charset-guess.ts'
import { decodeUtf7 } from './utf-7.ts'

/** Names that mail uses and the Encoding Standard, whose labels TextDecoder knows, does not list. */
const aliases: Readonly<Record<string, string>> = {
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  'big5-eten': 'big5',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  'iso-2022-jp-1': 'iso-2022-jp',
  'iso-2022-jp-2': 'iso-2022-jp',
  'iso-2022-jp-ms': 'iso-2022-jp',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  'koi8-ru': 'koi8-u',
  macroman: 'macintosh',
  'mac-roman': 'macintosh',
  'shift-jisx0213': 'shift_jis',
  tis620: 'windows-874',
  utf8mb4: 'utf-8',
}

/** Decoders by what was asked for, undefined for what nobody knows; emptied when strangers have named too many. */
const decoders = new Map<string, TextDecoder | undefined>()
const decodersKept = 1000

const utf8 = new TextDecoder('utf-8')
const windows1252 = new TextDecoder('windows-1252')

/** Labels that say no more than that nothing was said: what is 8-bit is none of them. */
const asciiLabels =
  /^["'\s]*(?:(?:us-)?ascii|ansi_x3|iso-ir-6|7-?bit|unknown|x-unknown|default|8-?bit|unknown-8bit)/i

/**
 * The text of bytes that are said to be of this charset (empty: none said). What the bytes can't be is not believed: text
 * that is UTF-8 and called ASCII or Latin-1 is UTF-8. What is called UTF-8 and is not, ASCII and is not, or nothing, is UTF-8 where most of it
 * can be, and else what the detector takes it for, and windows-1252 as the last word.
 */
export function decodeText(bytes: Buffer, charset: string, guess: CharsetGuess = () => ''): string {
  if (/^(?:unicode-1-1-)?utf-?7$/i.test(charset.slice(0, 40).replace(/["'\s]+/g, '')))
    return decodeUtf7(bytes)
  const decoder = asciiLabels.test(charset.slice(0, 40)) ? undefined : decoderOf(charset)
  const encoding = decoder?.encoding ?? ''
  // In these, bytes of ASCII are other characters.
  if (encoding.startsWith('utf-16')) return decoder!.decode(bytes)
  if (encoding === 'iso-2022-jp')
    return isAscii(bytes) ? decoder!.decode(bytes) : decodeSaid(bytes, decoder!, guess)
  if (isAscii(bytes)) {
    return decoder === undefined && bytes.includes(toKanji)
      ? decoderOf('iso-2022-jp')!.decode(bytes)
      : bytes.toString('latin1')
  }
  const isLatinOrUnsaid = decoder === undefined || encoding === 'windows-1252' || encoding === 'utf-8'
  if (!isLatinOrUnsaid) return decodeSaid(bytes, decoder, guess)
  if (isUtf8(bytes)) return utf8.decode(bytes)
  if (encoding === 'windows-1252') return windows1252.decode(bytes)
  if (isMostlyRight(utf8.decode(bytes))) return decodeMixed(bytes)
  return decodeGuessed(bytes, guess)
}

/** The beginning of two-byte characters in ISO-2022-JP (RFC 1468). */
const toKanji = Buffer.from('\x1b$')

/** Text that is what it is said to be, unless it can't be read as that and can be read otherwise. */
function decodeSaid(bytes: Buffer, decoder: TextDecoder, guess: CharsetGuess): string {
  const text = decoder.decode(bytes)
  if (!text.includes('\ufffd')) return text
  if (isUtf8(bytes)) return utf8.decode(bytes)
  return isMostlyRight(text) ? text : decodeGuessed(bytes, guess)
}

function decodeGuessed(bytes: Buffer, guess: CharsetGuess): string {
  const text = decoderOf(guess(bytes))?.decode(bytes)
  return text === undefined || text.includes('\ufffd') ? windows1252.decode(bytes) : text
}

/** What windows-1252 makes of each byte above ASCII. */
const highCharacters = [...windows1252.decode(Buffer.from(Array.from({ length: 128 }, (_, at) => 128 + at)))]

/** UTF-8 with other bytes in it: those are windows-1252, one by one. */
function decodeMixed(bytes: Buffer): string {
  const parts: string[] = []
  let start = 0
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at)
    if (length === 0) {
      parts.push(utf8.decode(bytes.subarray(start, at)), highCharacters[bytes[at]! - 128]!)
      start = at + 1
    }
    at += Math.max(1, length)
  }
  return [...parts, utf8.decode(bytes.subarray(start))].join('')
}

/** How many bytes the character at `at` has in UTF-8 (RFC 3629 §4); 0 where none begins. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at]!
  if (first < 0x80) return 1
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  if (first < 0xc2 || first > 0xf4) return 0
  const second = bytes[at + 1] ?? 0
  const [low, high] = [
    first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80,
    first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf,
  ]
  if (second < low || second > high) return 0
  for (let next = at + 2; next < at + length; next++) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}

/** What HTML says of itself in its first 1,024 bytes; empty for nothing. */
export function markupCharset(content: Buffer): string {
  return /<meta\s[^<>]*charset=["']?([\w-]{1,40})/i.exec(content.toString('latin1', 0, 1024))?.[1] ?? ''
}

/** Whether a charset is named that says something of bytes above ASCII. */
export function isSaid(charset: string): boolean {
  return charset !== '' && !asciiLabels.test(charset.slice(0, 40))
}

/** Windows-1252 in the place of the Latin-1 as which bytes of an unknown charset are held. */
export function fromLatin1(text: string): string {
  return /[\x80-\x9f]/.test(text)
    ? text.replace(/[\x80-\x9f]+/g, run => windows1252.decode(Buffer.from(run, 'latin1')))
    : text
}

/** Whether more characters were read than were not: one was cut in two, say. */
function isMostlyRight(text: string): boolean {
  let wrong = 0
  let right = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) wrong++
    else if (code > 0x7f) right++
  }
  return right > wrong
}

function decoderOf(charset: string): TextDecoder | undefined {
  const label = charset.toLowerCase().replace(/[\s"']+/g, '')
  if (label === '' || label.length > 40) return undefined
  if (decoders.has(label)) return decoders.get(label)
  if (decoders.size >= decodersKept) decoders.clear()
  const decoder = makeDecoder(label) ?? makeDecoder(aliasOf(label))
  decoders.set(label, decoder)
  return decoder
}

function aliasOf(label: string): string {
  const windows = /^(?:x-)?(?:cp|win|windows|ms|microsoft)[-_]?(125\d|874)$/.exec(label)
  if (windows) return `windows-${windows[1]}`
  const iso = /^(?:iso|latin)[-_]?(?:8859)?[-_]?(\d{1,2})(?:[-_]?[ei])?$/.exec(label)
  if (iso && label.startsWith('iso')) return `iso-8859-${iso[1]}`
  if (iso) return `latin${iso[1]}`
  return aliases[label.replace(/^(?:x-|cs)/, '').replaceAll('_', '-')] ?? label.replaceAll('_', '-')
}

function makeDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}
