import { Parser } from 'htmlparser2'

/** Elements and pieces of text (an entity is one) of HTML that are looked at; what comes after them is left out. */
export const htmlPieces = 50_000
/** Open elements at which the reading of HTML starts afresh: its parser is quadratic in them. */
export const htmlOpenElements = 500

export interface HtmlVisitor {
  /** `start` and `end` are offsets into the HTML: where the tag begins, and what stands behind the element.
   * `plausible` is false when an attribute has a name or a lack of a value that no real element has (`a<b && c>d`). */
  open(name: string, attributes: Readonly<Record<string, string>>, plausible: boolean, start: number): void
  close(name: string, end: number): void
  text(text: string): void
  /** Asked after each of the others: true ends the walk, with no `close` for what is open. */
  done(): boolean
}

const valueless = new Set(
  'alt async autofocus autoplay checked class compact controls default defer disabled hidden href id ismap loop multiple muted nohref noshade novalidate nowrap open readonly required reversed selected style title'.split(
    ' ',
  ),
)

/**
 * Reads HTML of any form as elements and text (entities decoded), each `open` with its `close`, void elements too.
 * Linear in the length of the text whatever it holds, and at most htmlPieces elements and pieces of text.
 * @returns false when there are more; what is open then gets its `close`
 */
export function walkHtml(html: string, visitor: HtmlVisitor): boolean {
  const pieces = { left: htmlPieces }
  let at = 0
  while (at < html.length) {
    const walked = walkUntilDeep(at === 0 ? html : html.slice(at), at, visitor, pieces)
    if (walked === undefined) return true
    if (pieces.left <= 0) return false
    at += walked
  }
  return true
}

/**
 * The number of characters read when too many elements were open, or no more pieces are left (what is open is closed
 * then); undefined at the end.
 */
function walkUntilDeep(
  html: string,
  base: number,
  visitor: HtmlVisitor,
  pieces: { left: number },
): number | undefined {
  const open: string[] = []
  let plausible = true
  let stopped = false
  const parser = new Parser({
    onopentagname() {
      plausible = true
    },
    onattribute(name, _value, quote) {
      const known = quote !== undefined || valueless.has(name)
      if (!known || !/^[a-z_:][a-z0-9_:.-]*$/.test(name)) plausible = false
    },
    onopentag(name, attributes) {
      open.push(name)
      visitor.open(name, attributes, plausible, base + parser.startIndex)
      if (visitor.done() || open.length >= htmlOpenElements || --pieces.left <= 0) stop()
    },
    onclosetag(name, isImplied) {
      if (stopped) return
      open.pop()
      visitor.close(name, base + (isImplied ? parser.startIndex : parser.endIndex + 1))
      if (visitor.done()) stop()
    },
    ontext(text) {
      visitor.text(text)
      if (visitor.done() || --pieces.left <= 0) stop()
    },
  })
  function stop(): void {
    stopped = true
    parser.pause()
  }
  parser.end(html)
  if (!stopped || visitor.done()) return undefined
  for (const name of open.reverse()) visitor.close(name, base + parser.endIndex + 1)
  return parser.endIndex + 1
}
