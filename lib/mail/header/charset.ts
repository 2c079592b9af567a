import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import type { CharsetGuess } from './charset-guess.ts'
import { decodeUtf7 } from './utf-7.ts'

/** What decodes a charset: TextDecoder, or tables that Node does not have. */
interface Decoder {
  readonly encoding: string
  decode(bytes: Buffer): string
}

/** Names that mail uses and the Encoding Standard, whose labels TextDecoder knows, does not list. */
const aliases: Readonly<Record<string, string>> = {
  'big5-eten': 'big5',
  'big5-hkscs-2004': 'big5',
  big5hkscs: 'big5',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  hz: 'hz-gb-2312',
  'ks-c-5601': 'euc-kr',
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
  uhc: 'euc-kr',
  utf8mb4: 'utf-8',
}

/**
 * Encodings for which iconv-lite is asked, by the name that the rest of this file has for them. Node's decoders of euc-kr and big5
 * lack 8,822 Korean syllables and the characters of Hong Kong that the Encoding Standard has.
 */
const tables: Readonly<Record<string, string>> = {
  'euc-kr': 'cp949',
  big5: 'big5hkscs',
  'x-mac-ce': 'maccenteuro',
  'mac-centraleurope': 'maccenteuro',
  'mac-greek': 'macgreek',
  'mac-romanian': 'macromania',
  'mac-turkish': 'macturkish',
  'tcvn-5712': 'tcvn',
  viscii: 'viscii',
}

/** Charsets of bytes below 0x80 that shift between ASCII and characters of two bytes, which a decoder has with bit 7 set. */
const shifted: Readonly<Record<string, string>> = {
  'hz-gb-2312': 'gbk',
  'iso-2022-cn': 'gbk',
  'iso-2022-kr': 'euc-kr',
}

/** Charsets in which most characters have two bytes or more. */
const wideEncodings = new Set(['big5', 'euc-jp', 'euc-kr', 'gb18030', 'gbk', 'shift_jis'])

/** Decoders by what was asked for, undefined for what nobody knows; emptied when strangers have named too many. */
const decoders = new Map<string, Decoder | undefined>()
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
  if (encoding === 'iso-2022-jp' || encoding in shifted)
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
function decodeSaid(bytes: Buffer, decoder: Decoder, guess: CharsetGuess): string {
  const text = decoder.decode(bytes)
  if (isUtf8(bytes)) {
    const other = utf8.decode(bytes)
    return text.includes('\ufffd') || isRatherUtf8(other, text, decoder) ? other : text
  }
  if (!text.includes('\ufffd')) return text
  return isMostlyRight(text) ? text : decodeGuessed(bytes, guess)
}

/** So many characters of UTF-8 in a row do not happen by chance in a charset of one byte. */
const enoughCharacters = 4

/**
 * Whether bytes that are valid UTF-8 and say `text` under another label are UTF-8 and say `other`. A word or two may be both:
 * `её` in KOI8-R, `l’étude` in macintosh and `천` in EUC-KR are valid UTF-8. So a few characters must be in the label's charset, too,
 * because the writer chose it, or `text` must mix scripts within a word. For charsets of wide characters, most must be wide in UTF-8.
 */
function isRatherUtf8(other: string, text: string, decoder: Decoder): boolean {
  const characters = [...other.slice(0, 4096)].filter(character => character > '\x7f')
  if (wideEncodings.has(decoder.encoding)) {
    const wide = characters.filter(character => character > '\u07ff')
    return wide.length > characters.length / 2
  }
  if (characters.length >= enoughCharacters) return true
  if (mixesScripts(text) && !mixesScripts(other)) return true
  const repertoire = decoder.decode(everyByte)
  return characters.every(character => repertoire.includes(character))
}

/** Whether a letter of another script touches one of ASCII. */
function mixesScripts(text: string): boolean {
  return /[a-z][^\P{L}\p{Script=Latin}]|[^\P{L}\p{Script=Latin}][a-z]/iu.test(text)
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, at) => at))

/**
 * UTF-8 without the character at its end that was cut in two, as a program does that cuts a name at a number of bytes. In
 * other charsets one byte at the end is a letter, so a single byte that begins a wide character counts only behind others of UTF-8.
 */
export function withoutCutCharacter(bytes: Buffer, charset: string): Buffer {
  const decoder = isSaid(charset) ? decoderOf(charset) : undefined
  if (decoder && wideEncodings.has(decoder.encoding)) return withoutCutWide(bytes, decoder)
  if (decoder && decoder.encoding !== 'utf-8') return bytes
  // Half of the escape of its next byte may be there, too.
  const half = /[=%][0-9a-f]?$/i.exec(bytes.toString('latin1', Math.max(0, bytes.length - 2)))?.[0] ?? ''
  const end = bytes.length - half.length
  let start = end - 1
  while (start > 0 && start > end - 3 && (bytes[start]! & 0xc0) === 0x80) start--
  const first = bytes[start] ?? 0
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  const rest = bytes.subarray(0, Math.max(0, start))
  const isCut = first >= 0xc2 && first <= 0xf4 && end - start < length
  if (!isCut || !isUtf8(rest)) return bytes
  const isLetter = isAscii(rest) && length > 2 && start === bytes.length - 1
  return isLetter ? bytes : rest
}

/** The most bytes of a wide character that may be there without its last: gb18030 has some of four. */
const cutBytes = 3

function withoutCutWide(bytes: Buffer, decoder: Decoder): Buffer {
  const text = decoder.decode(bytes)
  const first = text.indexOf('\ufffd')
  for (let cut = 1; first >= 0 && cut <= cutBytes && cut < bytes.length; cut++) {
    const rest = bytes.subarray(0, -cut)
    if (isAscii(rest)) return bytes
    if (decoder.decode(rest) === text.slice(0, first)) return rest
  }
  return bytes
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

function decoderOf(charset: string): Decoder | undefined {
  const label = charset.toLowerCase().replace(/[\s"']+/g, '')
  if (label === '' || label.length > 40) return undefined
  if (decoders.has(label)) return decoders.get(label)
  if (decoders.size >= decodersKept) decoders.clear()
  const decoder = makeDecoder(label) ?? makeDecoder(aliasOf(label))
  decoders.set(label, decoder)
  return decoder
}

/** Code pages of Windows that the Encoding Standard has under another name. */
const codePages: Readonly<Record<string, string>> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
}

function aliasOf(label: string): string {
  const [, page = ''] =
    /^(?:x-)?(?:cs)?(?:cp|ibm|ccsid|dos|win|windows|ms|microsoft)?[-_]?0{0,2}(\d{3,4})$/.exec(label) ?? []
  if (/^(?:125\d|874)$/.test(page)) return `windows-${page}`
  if (page !== '') return `cp${page}`
  const iso = /^(?:iso|latin)[-_]?(?:8859)?[-_]?(\d{1,2})(?:[-_]?[ei])?$/.exec(label)
  if (iso && label.startsWith('iso')) return `iso-8859-${iso[1]}`
  if (iso) return `latin${iso[1]}`
  const plain = label
    .replace(/^(?:x-|cs)/, '')
    .replaceAll('_', '-')
    .replace(/^iso-?2022-?/, 'iso-2022-')
  return aliases[plain] ?? (/^mac-?ce$/.test(plain) ? 'x-mac-ce' : plain)
}

function makeDecoder(label: string): Decoder | undefined {
  const inner = shifted[label]
  const page = /^cp(\d{3})$/.exec(label)?.[1] ?? ''
  if (codePages[page] !== undefined) return makeDecoder(codePages[page])
  if (inner !== undefined) {
    const wide = makeDecoder(inner)!
    const unshifted = label.startsWith('hz') ? fromHz : fromIso2022
    return { encoding: label, decode: bytes => wide.decode(unshifted(bytes)) }
  }
  try {
    const decoder = new TextDecoder(label)
    return tables[decoder.encoding] === undefined ? decoder : tableDecoder(decoder.encoding)
  } catch {
    return tables[label] !== undefined || /^cp\d{3,4}$/.test(label) ? tableDecoder(label) : undefined
  }
}

function tableDecoder(encoding: string): Decoder | undefined {
  const table = tables[encoding] ?? encoding
  return iconv.encodingExists(table) ? { encoding, decode: bytes => iconv.decode(bytes, table) } : undefined
}

/** The bytes of HZ (RFC 1843) as GBK: `~{` and `~}` around characters of two bytes, `~~` for a tilde, `~` before a line's end. */
function fromHz(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes
      .toString('latin1')
      .replace(
        /~\{((?:[\x21-\x7d][\x21-\x7e])*)(?:~\})?|~(~|\r?\n)/g,
        (_all: string, wide: string | undefined, other: string) => {
          if (wide === undefined) return other === '~' ? '~' : ''
          return withBit7(wide)
        },
      ),
    'latin1',
  )
}

/** The bytes of ISO-2022-KR (RFC 1557) and the GB 2312 of ISO-2022-CN (RFC 1922) with bit 7 set between SO and SI or a line's end. */
function fromIso2022(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes
      .toString('latin1')
      .replace(/\x1b\$\)[ACG]/g, '')
      .replace(/\x0e([^\x0f\r\n]*)\x0f?|\x0f/g, (_all: string, wide: string = '') => withBit7(wide)),
    'latin1',
  )
}

function withBit7(text: string): string {
  return text.replace(/[\x21-\x7e]/g, character => String.fromCharCode(character.charCodeAt(0) | 0x80))
}
