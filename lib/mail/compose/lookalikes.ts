import { normaliseAddress } from '../address/address.ts'
import { decodeWords } from '../header/encoded-word.ts'

/** Whether there is an at sign in it, also a wide or a small one, or in what its encoded words hold. */
export function hasAtSign(value: string): boolean {
  return readingsOf(value).some(text => text.includes('@'))
}

/**
 * All that looks like an address in the value of a field, found by its at signs: in names, comments, URIs and encoded words, too.
 * More than any one reader finds, for who asks whether it may be written to, and not for who writes.
 */
export function lookalikes(value: string): Set<string> {
  const found = new Set<string>()
  for (const text of readingsOf(value)) {
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      const domain = domainAfter(text, at)
      for (const local of localPartsBefore(text, at)) {
        const address = normaliseAddress(`${local}@${domain}`)
        if (address !== undefined) found.add(address)
      }
    }
  }
  return found
}

/** How often words and percent signs are undone that came out of such. */
const layers = 3
/** What is not shown (soft hyphens, joiners) and what a reader may pass over between the parts of an address. */
const unseen = /\p{Default_Ignorable_Code_Point}|\\/gu
const aroundSign = /\s{0,9}@\s{0,9}/g

/** The value as programs of different care read it: words and percent signs undone, comments and white space left out of it. */
function readingsOf(value: string): string[] {
  const readings = new Set<string>()
  let text = value
  for (let layer = 0; layer <= layers; layer++) {
    const plain = text.normalize('NFKC').replace(unseen, '').replace(aroundSign, '@')
    readings.add(plain)
    readings.add(plain.replace(/\([^()]*\)/g, ''))
    if (plain.includes('<')) readings.add(plain.replace(/\s+/g, ''))
    const undone = unescaped(decodeWords(text))
    if (undone === text) break
    text = undone
  }
  return [...readings]
}

/** Percent signs of a URI undone (RFC 3986 §2.1); what is no UTF-8 stays. */
function unescaped(value: string): string {
  return value.replace(/(?:%[0-9a-f]{2})+/gi, escapes => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  })
}

/** The letters, digits, dots and hyphens behind an at sign: a name ends where something else begins. */
function domainAfter(text: string, at: number): string {
  const run = /^[\p{L}\p{M}\p{N}.。-]{1,255}/u.exec(text.slice(at + 1, at + 256))?.[0] ?? ''
  let end = run.length
  while (end > 0 && '.。-'.includes(run[end - 1]!)) end--
  return run.slice(0, end)
}

const longestLocalPart = 64
const atext = /[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~.-]/u

/** What may stand before an at sign: in quotes, or a run of letters, without what may be around it. */
function localPartsBefore(text: string, at: number): Set<string> {
  if (text[at - 1] === '"') {
    const start = text.lastIndexOf('"', at - 2)
    return new Set(start < 0 || at - start > longestLocalPart + 2 ? [] : [text.slice(start + 1, at - 1)])
  }
  let start = at
  while (start > 0 && at - start < longestLocalPart && atext.test(text[start - 1]!)) start--
  const run = text.slice(start, at)
  const bare = run.replace(/^[^\p{L}\p{N}]{1,64}/u, '')
  // `to=ann@…` of a URI, `x|ann@…` of a list.
  return new Set([
    run,
    bare,
    bare.slice(1 + Math.max(...['=', '|', '/', '?', '&'].map(sign => bare.lastIndexOf(sign)))),
  ])
}
