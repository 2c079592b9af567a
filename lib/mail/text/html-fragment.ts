import { escapeHtml } from '../../base/text.ts'
import { walkHtml } from './html-walk.ts'

/** HTML elements inside one another that are kept as elements; deeper ones leave only their text. */
const htmlDepth = 100
/** HTML elements that are kept as elements; of what comes after them only the text: each costs much more than its bytes. */
export const htmlElements = 5_000
/** Quotes and lists inside one another: each makes every line of its text longer. */
const htmlIndents = 20

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const kept = words(
  'a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark menu nav ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr',
)
/** Elements whose content is not text of the message. */
const dropped = words(
  'applet audio canvas datalist embed frameset iframe math noembed noframes object script select style svg template textarea title video',
)
const voids = words('br col hr img wbr')
/** What follows them stands on a line, or in a cell, of its own. */
const breaks = words(
  'address article aside blockquote br caption center dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section summary table td th tr ul',
)
const indents = words('blockquote dl ol ul')
const keptAttributes = words(
  'align alt bgcolor border cellpadding cellspacing cite color cols colspan datetime dir face height href lang reversed rowspan size span src start style title type valign value width',
)
const links = words('cite href src')
const safeLink = /^(?:https?:|mailto:|tel:)/i
/** Looks; nothing that fetches, runs, or lays a stranger's text over ours. */
const styleProperty =
  /^(?:color|background(?:-color)?|font(?:-\w+)*|text-(?:align|decoration|indent)|line-height|(?:padding|margin)(?:-\w+)?|border(?:-\w+)*|(?:max-)?width|height|vertical-align|white-space|list-style(?:-type)?)$/
const styleValue = /^(?!.*(?:url|expression|-\s*[\d.]))[\w\s#%.,'"()!+-]+$/is

/**
 * What HTML of a stranger shows, as a fragment that can stand inside other HTML: what is inside its body, every
 * element closed, without scripts, styles, forms, frames, event handlers and links that are not web, mail or telephone.
 * Of a result longer than `maxLength`, and of more than htmlPieces, the rest is left out, and `cut` says so.
 */
export function htmlFragment(html: string, maxLength: number): { html: string; cut: boolean } {
  const parts: string[] = []
  const open: { name: string; written: boolean }[] = []
  let length = 0
  let written = 0
  let elements = 0
  let indented = 0
  let hidden = 0
  let cut = false

  function put(part: string): void {
    parts.push(part)
    length += part.length
  }

  function write(part: string): void {
    if (length + part.length > maxLength) cut = true
    else put(part)
  }

  function mayWrite(name: string): boolean {
    if (hidden > 0 || !kept.has(name) || written >= htmlDepth) return false
    if (elements >= htmlElements) return false
    return !indents.has(name) || indented < htmlIndents
  }

  function close(name: string, wasWritten: boolean): void {
    if (dropped.has(name)) hidden--
    if (!wasWritten) return
    written--
    if (indents.has(name)) indented--
    if (!voids.has(name)) put(`</${name}>`)
  }

  const isWhole = walkHtml(html, {
    open(name, attributes) {
      const writes = mayWrite(name)
      if (writes) write(`<${name}${attributesOf(attributes)}>`)
      // A tag that did not fit is not there to be closed.
      const isWritten = writes && !cut
      open.push({ name, written: isWritten })
      if (dropped.has(name)) hidden++
      if (!isWritten) {
        // The words that it parts stay two.
        if (hidden === 0 && elements >= htmlElements && breaks.has(name)) write(' ')
        return
      }
      written++
      elements++
      if (indents.has(name)) indented++
    },
    close(name) {
      close(name, open.pop()?.written ?? false)
    },
    text(text) {
      if (hidden > 0) return
      const escaped = escapeHtml(text)
      write(escaped)
      // The longest entity has six characters.
      if (cut) put(escapeHtml(text.slice(0, Math.max(0, maxLength - length) / 6).toWellFormed()))
    },
    done: () => cut,
  })
  for (const element of open.reverse()) close(element.name, element.written)
  return { html: parts.join(''), cut: cut || !isWhole }
}

function attributesOf(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .filter(([name]) => keptAttributes.has(name))
    .map(([name, value]): [string, string] => [name, name === 'style' ? safeStyle(value) : value])
    .filter(([name, value]) => !links.has(name) || safeLink.test(value.trim()))
    .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
    .join('')
}

function safeStyle(style: string): string {
  const safe = style.split(';').filter(declaration => {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    return styleProperty.test(property) && styleValue.test(declaration.slice(colon + 1))
  })
  return safe.join(';')
}
