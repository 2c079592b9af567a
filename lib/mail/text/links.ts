import { linksShown } from '../../base/lengths.ts'
import { walkHtml } from './html-walk.ts'

/** Links of one message that are read. */
const linksLookedAt = 2000
/** Characters of a link, and of the text that it stands under. */
export const linkLength = 2048
export const linkTextLength = 200

export interface Link {
  readonly url: string
  /** What it stands under; the URL itself in a message without HTML. */
  readonly text: string
}

const webUrl =
  /\bhttps?:\/\/[^\s<>"'`{}|\\^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}，。、；：！？（）「」]+/giu

/**
 * The web links of a message in their order, each once, `linksShown` at the most; of the HTML where there is one.
 */
export function findLinks(message: { readonly text: string; readonly html: string }): Link[] {
  const found = new Map<string, string>()
  if (message.html === '') {
    let looks = 0
    for (const [written] of message.text.matchAll(webUrl)) {
      if (found.size >= linksShown || ++looks > linksLookedAt) break
      if (written.length > linkLength) continue
      const url = withoutEnd(written)
      put(found, url, url)
    }
  } else {
    readAnchors(message.html, found)
  }
  return [...found].map(([url, text]) => ({ url, text }))
}

function readAnchors(html: string, found: Map<string, string>): void {
  const open: (string | undefined)[] = []
  let looks = 0
  let url: string | undefined
  let text = ''
  walkHtml(html, {
    open(name, attributes) {
      if (name === 'a') {
        open.push(attributes.href)
        url = attributes.href
        text = ''
      }
      if (name === 'img' && url !== undefined) text += ` ${attributes.alt ?? ''}`
    },
    close(name) {
      if (name !== 'a') return
      const closed = open.pop()
      if (closed !== undefined && closed === url) {
        put(found, closed.trim(), text)
        looks++
      }
      url = undefined
    },
    text(part) {
      if (url !== undefined && text.length < linkTextLength * 4) text += part
    },
    done: () => found.size >= linksShown || looks >= linksLookedAt,
  })
}

function put(found: Map<string, string>, url: string, text: string): void {
  if (!/^https?:\/\//i.test(url) || url.length > linkLength || !URL.canParse(url)) return
  const words = text.replaceAll(/\s+/g, ' ').trim().slice(0, linkTextLength).toWellFormed()
  // Of an image and words with the same link, the words.
  if (!found.get(url)) found.set(url, words)
}

/** What ends a sentence ends no URL; nor does a bracket that was not opened before it. */
function withoutEnd(url: string): string {
  // What stands before `end` closes so many more brackets than it opens; each character is counted once.
  const open = { round: excess(url, ')', '('), square: excess(url, ']', '[') }
  let end = url.length
  for (; end > 0; end--) {
    const last = url[end - 1]!
    if (/[.,;:!?*_~]/.test(last)) continue
    if (last === ')' && open.round > 0) open.round--
    else if (last === ']' && open.square > 0) open.square--
    else break
  }
  return url.slice(0, end)
}

function excess(text: string, closing: string, opening: string): number {
  return text.split(closing).length - text.split(opening).length
}
