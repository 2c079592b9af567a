import { linkTerms, linkWords } from './code-words.ts'
import type { Link } from './links.ts'

const doing = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${linkWords})`,
  'iu',
)
const terms = new RegExp(linkTerms, 'iu')
const otherLink =
  /unsubscribe|abmelden|abbestellen|désabonn|help|support|privacy|terms|view (?:it )?(?:in|on)|preferences|hilfe|impressum|datenschutz|aide|mentions légales|ayuda|ajuda|aiuto|privacidad|not you|not interested|block|decline|wasn['’]t (?:me|you)|利用規約|帮助|幫助|隐私|도움말/i
/** A shorter one, which counts where words say what the link is for; digits alone only where its own URL says so, too. */
const shortToken = /^(?=[\w~]{0,64}\d)(?=[\w~]{0,64}[a-z])[\w~]{4,64}$/i
const number = /^(?!(?:19|20)\d\d$)\d{4,12}$/
const counted = /^(?:utm_|lang|locale|ref|source|campaign)/i
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
  const own = message.links.filter(({ url, text }) => !otherLink.test(text) && !isOther(url, message))
  const isAbout = isAsked || terms.test(message.text.slice(0, read))
  const secret = isAbout ? own.filter(({ url }) => hasToken(url)) : []
  const doers = secret.filter(link => doing.test(wordsOf(link, message)))
  const [found, another] = doers.length > 0 || !isAsked ? doers : secret
  if (found) return another ? null : found.url
  // What nobody can guess may be short where the words around it, and the URL or the subject, say what it is for.
  const short = own.filter(({ url }) => hasShortToken(url))
  const said = short.filter(
    link => doing.test(wordsOf(link, message)) && (isAsked || doing.test(pathOf(link.url))),
  )
  const [one, two] = said.length > 0 || !isAsked ? said : short
  return one && !two ? one.url : null
}

/** Whether the line before a link in a text names it as another: `Help: https://…`. */
function isOther(url: string, { text, html }: { text: string; html: string }): boolean {
  if (html !== '') return false
  const at = text.indexOf(url)
  return at > 0 && otherLink.test(text.slice(text.lastIndexOf('\n', at) + 1, at).slice(-60))
}

const pathOf = (url: string) => new URL(url).pathname.slice(0, 500).replace(/[/_-]/g, ' ')

function hasShortToken(url: string): boolean {
  const { pathname, search, hash } = new URL(url)
  const isDoing = doing.test(pathOf(url))
  return `${pathname}&${search.slice(1)}&${hash.slice(1)}`.split(/[/&]/).some(piece => {
    if (counted.test(piece)) return false
    const value = piece.slice(piece.indexOf('=') + 1)
    return shortToken.test(value) || (isDoing && number.test(value))
  })
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
