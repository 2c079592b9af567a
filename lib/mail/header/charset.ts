import { isAscii, isUtf8 } from 'node:buffer'
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

/**
 * The text of bytes that are said to be of this charset (empty: none said). What the bytes can't be is not believed: text
 * that is UTF-8 and called ASCII or Latin-1 is UTF-8, and what is called UTF-8 and is not is windows-1252, as is what is
 * called nothing.
 */
export function decodeText(bytes: Buffer, charset: string): string {
  if (/^["'\s]*(?:unicode-1-1-)?utf-?7["'\s]*$/i.test(charset.slice(0, 40))) return decodeUtf7(bytes)
  const decoder = decoderOf(charset)
  const encoding = decoder?.encoding ?? ''
  // In these, bytes of ASCII are other characters.
  if (/^(?:iso-2022-jp|utf-16)/.test(encoding)) return decoder!.decode(bytes)
  if (isAscii(bytes)) return bytes.toString('latin1')
  const isLatinOrUnsaid = decoder === undefined || encoding === 'windows-1252' || encoding === 'utf-8'
  if (!isLatinOrUnsaid) return decoder.decode(bytes)
  if (isUtf8(bytes)) return utf8.decode(bytes)
  if (encoding === 'utf-8') {
    const text = utf8.decode(bytes)
    if (isMostlyRight(text)) return text
  }
  return windows1252.decode(bytes)
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
