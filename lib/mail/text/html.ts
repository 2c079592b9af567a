import { compile, type HtmlToTextOptions } from 'html-to-text'
import { htmlFragment } from './html-fragment.ts'
import { walkHtml } from './html-walk.ts'

/** Characters of HTML that are read as text, and of the text; above it the rest is left out. */
export const htmlLength = 1024 * 1024

/** The elements of HTML, of today and of the mail of yesterday. */
const elements = new Set(
  'a abbr acronym address applet area article aside audio b base basefont bdi bdo big blink blockquote body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav nobr noframes noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search section select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr'.split(
    ' ',
  ),
)

const blocks = 'address caption center dd dl dt figcaption figure menu summary'.split(' ')

const romanMax = 3999

const options: HtmlToTextOptions = {
  wordwrap: false,
  // The fragment is a body already.
  baseElements: { selectors: [], returnDomByDefault: true },
  formatters: {
    alt: (element, _walk, builder) => {
      const { alt } = element.attribs ?? {}
      if (alt) builder.addInline(alt)
    },
    cell: (element, walk, builder) => {
      walk(element.children, builder)
      // What stands in two cells is two words.
      builder.addInline(' ')
    },
    numbered: (element, walk, builder, options) => {
      const { attribs } = element
      const last = Number(attribs.start || 1) + element.children.length
      // Above it the library finds no Roman letters, and throws.
      if (!(last <= romanMax)) delete attribs.type
      builder.options.formatters.orderedList?.(element, walk, builder, options)
    },
  },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    { selector: 'img', format: 'alt' },
    { selector: 'ol', format: 'numbered' },
    { selector: 'tr', format: 'block' },
    // The library knows none of these, and would put what stands in two of them together as one word.
    ...blocks.map(selector => ({
      selector,
      format: 'block',
      options: { leadingLineBreaks: 1, trailingLineBreaks: 1 },
    })),
    ...['td', 'th'].map(selector => ({ selector, format: 'cell' })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(selector => ({ selector, options: { uppercase: false } })),
    // As many as a rule above the footer of a list has at the least; each is text that is read on.
    { selector: 'hr', options: { length: 20 } },
  ],
}

/** Made when the first HTML comes: it takes some 10 ms, and most threads and calls meet none. */
let toText: ((html: string) => string) | undefined

/** Whether a text is HTML: it has at least one whole tag that opens an element of HTML. */
export function isHtml(text: string): boolean {
  let found = false
  walkHtml(text, {
    open(name, _attributes, plausible) {
      if (plausible && elements.has(name)) found = true
    },
    close() {},
    text() {},
    done: () => found,
  })
  return found
}

/**
 * HTML as plain text: paragraphs and lines as they show, links as `text [url]`, images by their `alt`, no line wrapping.
 * Of what is very long the rest is left out.
 */
export function htmlToText(html: string): string {
  const fragment = htmlFragment(html, htmlLength)
  toText ??= compile(options)
  const text = toText(fragment.html)
  if (!fragment.cut && text.length <= htmlLength) return text
  return `${text.slice(0, htmlLength).toWellFormed()}\n[…]`
}
