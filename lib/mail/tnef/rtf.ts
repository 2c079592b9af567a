import { decodeText } from '../header/charset.ts'
import { storedBodyLength } from '../text/body-text.ts'
import { charsetOfCodePage, codePageOfFont } from './code-page.ts'

/** What holds within a group, and comes back behind it. */
interface State {
  /** Where the text of the group goes: it is shown, it is HTML, a font is described, or it is nothing to read. */
  readonly place: 'shown' | 'html' | 'fonts' | 'nowhere'
  /** `\htmlrtf`: RTF that stands for HTML which is there, too. */
  readonly isTwin: boolean
  readonly font: number
  /** Characters that follow one in Unicode for readers that know none. */
  readonly skipped: number
}

/** Groups whose text is not the text of the document. */
const apart = new Set(
  'colortbl stylesheet info pict object header headerl headerr headerf footer footerl footerr footerf listtable listoverridetable generator xmlnstbl rsidtbl themedata datastore latentstyles pntext pn bkmkstart bkmkend fldinst'.split(
    ' ',
  ),
)
/** What these words stand for. */
const characters: Readonly<Record<string, string>> = {
  par: '\n',
  line: '\n',
  sect: '\n',
  page: '\n',
  row: '\n',
  tab: '\t',
  cell: '\t',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
  endash: '–',
  emdash: '—',
  emspace: ' ',
  enspace: ' ',
}
const symbols: Readonly<Record<string, string>> = { '~': '\u00a0', _: '\u2011', '\n': '\n', '\r': '\n' }
/** Groups in groups that are kept apart; what is deeper is as the one around it. */
const depth = 100
/** A word of RTF with its number, a byte in hexadecimal, or one character that is not itself. */
const control = /\\(?:([a-z]{1,32})(-?\d{1,10})?[ ]?|'([0-9a-f]{2})|([\s\S]))/iy

/**
 * The text of an RTF document, or the HTML that Exchange made it of (MS-OXRTFEX: what stands in `\*\htmltag`, and the text outside of `\htmlrtf`).
 * One pass over its bytes, `storedBodyLength` characters at the most. Pictures, tables' forms and the like are left out.
 */
export function readRtf(bytes: Buffer): { text: string; html: string } {
  const source = bytes.toString('latin1')
  const isHtml = /\\fromhtml1?(?![\d])/.test(source.slice(0, 4096))
  const text = documentOf(source, isHtml).replaceAll('\0', '')
  return isHtml ? { text: '', html: text } : { text: text.trim(), html: '' }
}

function documentOf(source: string, isHtml: boolean): string {
  let state: State = { place: 'shown', isTwin: false, font: -1, skipped: 1 }
  const around: State[] = []
  let beyond = 0
  let codePage = 1252
  const fonts = new Map<number, number>()
  /** Characters that still are to be passed over. */
  let skips = 0
  /** `\*`: what the next word begins is for those that know it. */
  let isIgnorable = false
  let written = ''
  /** Bytes of a code page that stand together, for one character may be two of them. */
  let held: number[] = []
  let heldPage = codePage

  const isShown = () => (state.place === 'shown' && !state.isTwin) || state.place === 'html'
  const flush = () => {
    if (held.length === 0) return
    written += decodeText(Buffer.from(held), charsetOfCodePage(heldPage))
    held = []
  }
  const put = (text: string) => {
    if (!isShown()) return
    flush()
    written += text
  }
  const putByte = (byte: number) => {
    if (!isShown()) return
    const page = fonts.get(state.font) ?? codePage
    if (page !== heldPage) flush()
    heldPage = page
    held.push(byte)
  }
  const enterDestination = (word: string, isIgnorable: boolean) => {
    if (word === 'htmltag') state = { ...state, place: isHtml ? 'html' : 'nowhere' }
    else if (word === 'fonttbl') state = { ...state, place: 'fonts' }
    else if (apart.has(word) || isIgnorable) state = { ...state, place: 'nowhere' }
  }
  const read = (word: string, number: number | undefined) => {
    const wasIgnorable = isIgnorable
    isIgnorable = false
    if (word === 'u' && number !== undefined) {
      put(String.fromCharCode(number & 0xffff))
      skips = state.skipped
    } else if (word === 'uc') state = { ...state, skipped: Math.min(Math.max(number ?? 1, 0), 10) }
    else if (word === 'ansicpg' && number) codePage = number
    else if (word === 'f' && number !== undefined) state = { ...state, font: number }
    else if (word === 'fcharset' && state.place === 'fonts') {
      const page = codePageOfFont(number ?? 0)
      if (page !== undefined && fonts.size < 1000) fonts.set(state.font, page)
    } else if (word === 'htmlrtf') state = { ...state, isTwin: number !== 0 }
    else if (Object.hasOwn(characters, word)) put(characters[word]!)
    else enterDestination(word, wasIgnorable)
  }

  for (let at = 0; at < source.length && written.length + held.length < storedBodyLength; ) {
    const character = source[at]!
    if (character === '{') {
      at++
      if (around.length < depth) around.push(state)
      else beyond++
      skips = 0
    } else if (character === '}') {
      at++
      if (beyond > 0) beyond--
      else state = around.pop() ?? state
      skips = 0
      isIgnorable = false
    } else if (character === '\\') {
      control.lastIndex = at
      const [whole = '\\', word, number, hex, symbol] = control.exec(source) ?? []
      at += whole.length
      if (hex !== undefined) {
        if (skips > 0) skips--
        else putByte(Number.parseInt(hex, 16))
      } else if (word === 'bin') at += Math.max(0, Number(number ?? 0))
      else if (word !== undefined) read(word.toLowerCase(), number === undefined ? undefined : Number(number))
      else if (symbol === '*') isIgnorable = true
      else if (symbol !== undefined && skips > 0) skips--
      else if (symbol !== undefined) put(symbols[symbol] ?? (/[\\{}]/.test(symbol) ? symbol : ''))
    } else {
      at++
      if (character === '\r' || character === '\n') continue
      if (skips > 0) skips--
      else putByte(character.charCodeAt(0))
    }
  }
  flush()
  return written
}
