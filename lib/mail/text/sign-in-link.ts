import { linkTerms, linkWords } from './code-words.ts'
import type { Link } from './links.ts'

const doing = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${linkWords})`,
  'iu',
)
const terms = new RegExp(linkTerms, 'iu')
const otherLink =
  /unsubscribe|abmelden|désabonn|help|support|privacy|terms|view (?:it )?(?:in|on)|preferences/i
/** A part of a URL that only chance can have made: long, with letters and digits. */
const token = /^(?=[\w.~=%-]{0,200}\d)(?=[\w.~=%-]{0,200}[a-z])[\w.~=%-]{16,}$/i
const read = 20_000
/** How far before a link in a text what it does may stand. */
const before = 200

/**
 * The link that a message was sent to bring, by which whoever opens it signs in, confirms an address or sets a password.
 * Precise before complete: what it does stands in its words or in the subject, it holds what nobody can guess, and of two it
 * is neither.
 */
export function findSignInLink(message: {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly links: readonly Link[]
}): string | null {
  if (message.links.length === 0) return null
  const subject = message.subject.slice(0, 1000)
  const isAsked = doing.test(subject)
  if (!isAsked && !terms.test(message.text.slice(0, read))) return null
  const secret = message.links.filter(({ url, text }) => hasToken(url) && !otherLink.test(text))
  const doers = secret.filter(link => doing.test(wordsOf(link, message)))
  const [found, another] = doers.length > 0 || !isAsked ? doers : secret
  return found && !another ? found.url : null
}

/** What the link stands under, or behind. */
function wordsOf({ url, text }: Link, { text: all, html }: { text: string; html: string }): string {
  if (html !== '') return text
  const at = all.indexOf(url)
  return at < 0 ? '' : all.slice(Math.max(0, at - before), at)
}

function hasToken(url: string): boolean {
  const { pathname, search, hash } = new URL(url)
  return `${pathname}&${search.slice(1)}&${hash.slice(1)}`
    .split(/[/&]/)
    .some(piece => token.test(piece.slice(piece.indexOf('=') + 1)))
}
