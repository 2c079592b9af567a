import { escapeHtml } from '../../base/text.ts'
import { htmlToText } from './html.ts'

/** The text and HTML of a message that the row keeps (each, in UTF-16 units); the raw keeps all. */
export const storedBodyLength = 1024 * 1024

/** A part of a message that is text to be shown, or that holds such parts. */
export interface BodyPart {
  readonly contentType: string
  readonly textContent?: string
  readonly children: readonly BodyPart[]
}

interface Shown {
  readonly isHtml: boolean
  readonly content: string
  /** A multipart/alternative has the same in the other form (RFC 2046 §5.1.4). */
  readonly hasTwin: boolean
}

/**
 * What a message says, as text and as HTML. Where a part exists in one form alone the other is made from it, so that
 * neither lacks anything; `html` is empty when no part is HTML. Each is cut at storedBodyLength, and no more HTML
 * than that is made text: it takes time.
 */
export function bodyText(root: BodyPart): { text: string; html: string; isCut: boolean } {
  const shown = withoutStubs(shownParts(root))
  let unread: number = storedBodyLength
  const text = joined(shown, ({ isHtml, content, hasTwin }) => {
    if (!isHtml || hasTwin) return isHtml ? '' : content
    const read = content.slice(0, unread)
    unread -= read.length
    return read === '' ? '' : htmlToText(read)
  })
  const html = joined(shown, ({ isHtml, content, hasTwin }) => {
    if (isHtml || hasTwin) return isHtml ? content : ''
    return paragraph(content.slice(0, storedBodyLength))
  })
  const hasHtml = shown.some(part => part.isHtml)
  const isCut = [text, hasHtml ? html : ''].some(form => form.length > storedBodyLength)
  return { text: storable(text), html: hasHtml ? storable(html) : '', isCut }
}

function shownParts(part: BodyPart): Shown[] {
  const content = part.textContent ?? ''
  const own =
    content.trim() === '' ? [] : [{ isHtml: part.contentType === 'text/html', content, hasTwin: false }]
  const shown = [...own, ...part.children.flatMap(shownParts)]
  const isBoth = shown.some(({ isHtml }) => isHtml) && shown.some(({ isHtml }) => !isHtml)
  return part.contentType === 'multipart/alternative' && isBoth
    ? shown.map(each => ({ ...each, hasTwin: true }))
    : shown
}

/** The longest text that is looked at, and how many times as long the HTML's is where it is a stub. */
const stubLength = 400
const stubRatio = 2

/** Words of a text that only says that there is HTML, whatever language it says so in. */
const stubWords =
  /html|browser|mail (?:program|client|reader)|navigateur|navegador|браузер|ブラウザ|浏览器|瀏覽器|브라우저/i

/** Where the text of a message only says that its HTML is to be read, the HTML alone. The two forms of a person's text say the same. */
function withoutStubs(shown: readonly Shown[]): readonly Shown[] {
  const [texts, html] = [shown.filter(({ isHtml }) => !isHtml), shown.filter(({ isHtml }) => isHtml)]
  const said = texts.map(({ content }) => content.trim()).join('\n')
  const isShort = said.length <= stubLength && shown.every(({ hasTwin }) => hasTwin)
  if (html.length === 0 || !isShort || !stubWords.test(said)) return shown
  const readable = html.map(({ content }) => htmlToText(content.slice(0, storedBodyLength))).join('\n')
  const words = (text: string) => text.replace(/https?:\/\/[^\s<>]+|[\s<>()[\]]+/g, '')
  const isSame =
    words(readable).includes(words(said)) && words(readable).length < stubRatio * words(said).length
  if (isSame || words(readable) === '') return shown
  return html.map(each => ({ ...each, hasTwin: false }))
}

/** Each part in its form, one below the other, until it is long enough. */
function joined(parts: readonly Shown[], form: (part: Shown) => string): string {
  let all = ''
  for (const part of parts) {
    if (all.length > storedBodyLength) break
    const content = form(part)
    if (content !== '') all += all === '' ? content : `\n${content}`
  }
  return all
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text.trim()).replaceAll('\n', '<br>\n')}</p>`
}

/** Without NUL, which PostgreSQL's text can't hold, and cut between two characters. */
function storable(text: string): string {
  const cut = text.slice(0, storedBodyLength)
  const last = cut.charCodeAt(cut.length - 1)
  const whole = cut.length < text.length && last >= 0xd800 && last < 0xdc00 ? cut.slice(0, -1) : cut
  return whole.replaceAll('\0', '').toWellFormed()
}
