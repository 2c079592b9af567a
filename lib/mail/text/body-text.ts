import { escapeHtml } from '../../base/escape-html.ts'
import { limits } from '../../base/limits.ts'
import { htmlToText } from './html.ts'

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
 * neither lacks anything; `html` is empty when no part is HTML. Each is cut at limits.storedBodyLength, and no more HTML
 * than that is made text: it takes time.
 */
export function bodyText(root: BodyPart): { text: string; html: string; isCut: boolean } {
  const shown = shownParts(root)
  let unread: number = limits.storedBodyLength
  const text = joined(shown, ({ isHtml, content, hasTwin }) => {
    if (!isHtml || hasTwin) return isHtml ? '' : content
    const read = content.slice(0, unread)
    unread -= read.length
    return read === '' ? '' : htmlToText(read)
  })
  const html = joined(shown, ({ isHtml, content, hasTwin }) => {
    if (isHtml || hasTwin) return isHtml ? content : ''
    return paragraph(content.slice(0, limits.storedBodyLength))
  })
  const hasHtml = shown.some(part => part.isHtml)
  const isCut = [text, hasHtml ? html : ''].some(form => form.length > limits.storedBodyLength)
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

/** Each part in its form, one below the other, until it is long enough. */
function joined(parts: readonly Shown[], form: (part: Shown) => string): string {
  let all = ''
  for (const part of parts) {
    if (all.length > limits.storedBodyLength) break
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
  const cut = text.slice(0, limits.storedBodyLength)
  const last = cut.charCodeAt(cut.length - 1)
  const whole = cut.length < text.length && last >= 0xd800 && last < 0xdc00 ? cut.slice(0, -1) : cut
  return whole.replaceAll('\0', '').toWellFormed()
}
