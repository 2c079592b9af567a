import { decodeWords } from './encoded-word.ts'

/** What an address field says (RFC 5322 §3.4 and, as far as it is clear who is meant, §4.4). */
export interface AddressList {
  readonly mailboxes: readonly ListedMailbox[]
  readonly hasGroup: boolean
  /** The first thing for which different readers might find different people in it, in words for the log. */
  readonly fault: string | undefined
}

/** One mailbox as it stands there, encoded words not decoded. */
interface ListedMailbox {
  /** Without comments and white space; what is no address, such as `root` in angle brackets, as it is. */
  readonly address: string
  /** The display name, or the comments in its place. */
  readonly name: string
}

/**
 * Reads the value of an address field, undecoded: what an encoded word holds is never structure (RFC 2047 §5). In one
 * pass, without recursion. Never fails: of what is no address list there is what can be told apart, and a fault.
 */
export function readAddressList(value: string): AddressList {
  const { tokens, fault } = tokenise(value)
  const list = createList(fault)
  for (const token of tokens) list.take(token)
  return list.end()
}

function createList(firstFault: string | undefined) {
  const mailboxes: ListedMailbox[] = []
  let fault = firstFault
  let hasGroup = false
  let isInGroup = false
  let words: AddressToken[] = []
  let comments: string[] = []
  let angle: AddressToken[] | undefined
  let isInAngle = false

  const doubt = (what: string) => {
    fault ??= what
  }
  const endMailbox = () => {
    if (angle) {
      const { address, fault } = addressOf(angle)
      if (fault !== undefined) doubt(fault)
      const phrase = textOf(words)
      if (hidesAddress(words, comments)) doubt('a quote or comment that begins in an encoded word')
      if (words.some(isUnclearInName) && !isSame(phrase, address)) {
        doubt('a name with characters that stand only in quotes')
      }
      if (address !== '') mailboxes.push({ address, name: phrase || comments.join(' ') })
    } else if (words.some(word => word.kind === '@')) {
      const begin = words.findLastIndex((_word, index) => follows(words, index))
      if (begin > 0) doubt('words before an address without angle brackets')
      const { address, fault } = addressOf(words.slice(Math.max(begin, 0)))
      if (fault !== undefined) doubt(fault)
      if (address !== '')
        mailboxes.push({ address, name: begin > 0 ? textOf(words.slice(0, begin)) : comments.join(' ') })
    } else if (words.length > 0) {
      doubt('a name without an address')
    }
    words = []
    comments = []
    angle = undefined
    isInAngle = false
  }
  const takeInAngle = (token: AddressToken) => {
    // A comma stands only in a route: <@a,@b:c@d>.
    const isRoute = angle?.[0]?.kind === '@'
    if (token.kind === '>') {
      isInAngle = false
    } else if (token.kind === ';' || token.kind === '<' || (token.kind === ',' && !isRoute)) {
      doubt('an angle bracket that is not closed')
      if (token.kind !== '<') endMailbox()
    } else {
      angle?.push(token)
    }
  }
  return {
    take(token: AddressToken): void {
      if (token.kind === 'comment') {
        comments.push(token.text)
      } else if (isInAngle) {
        takeInAngle(token)
      } else if (token.kind === '<') {
        if (angle) doubt('two addresses in angle brackets for one name')
        angle = []
        isInAngle = true
      } else if (token.kind === ',') {
        endMailbox()
      } else if (token.kind === ';') {
        if (!isInGroup) doubt('a semicolon outside of a group')
        endMailbox()
        isInGroup = false
      } else if (token.kind === ':') {
        if (isInGroup || angle) doubt('a colon inside of a mailbox or a group')
        words = []
        comments = []
        hasGroup = true
        isInGroup = true
      } else if (angle || token.kind === '>') {
        doubt('text behind an address in angle brackets')
      } else {
        words.push(token)
      }
    },
    end(): AddressList {
      if (isInAngle) doubt('an angle bracket that is not closed')
      endMailbox()
      if (isInGroup) doubt('a group that is not closed')
      return { mailboxes, hasGroup, fault }
    },
  }
}

/** An addr-spec of tokens, without the route before it (RFC 5322 §4.4), and what is wrong with it. */
function addressOf(tokens: readonly AddressToken[]): { address: string; fault: string | undefined } {
  const colon = tokens[0]?.kind === '@' ? tokens.findIndex(token => token.kind === ':') : -1
  const spec = tokens.slice(colon + 1)
  const signs = spec.filter(token => token.kind === '@').length
  // Of a@b@c nobody can say whose it is.
  if (signs > 1) return { address: '', fault: 'an address with more than one @' }
  const isPlain =
    signs === 1 &&
    spec.every((token, index) => token.kind !== ':' && token.kind !== ',' && !follows(spec, index)) &&
    tokens.slice(0, Math.max(colon, 0)).every(token => token.kind !== 'quoted')
  const address = spec
    .map((token, index) => (follows(spec, index) ? ' ' : '') + writtenOf(token))
    .join('')
    .trim()
  return { address, fault: isPlain ? undefined : 'an address that is none' }
}

/** Whether two words stand side by side, with neither a dot nor an @ between them. */
function follows(tokens: readonly AddressToken[], index: number): boolean {
  const isWord = (token: AddressToken | undefined) => token?.kind === 'word' || token?.kind === 'quoted'
  return isWord(tokens[index - 1]) && isWord(tokens[index])
}

function writtenOf({ kind, text }: AddressToken): string {
  return kind === 'quoted' ? `"${text.replace(/["\\]/g, '\\$&')}"` : text
}

/**
 * Whether quotes or a comment around an address may be the text of encoded words to another reader, so that it finds that
 * address: `=?utf-8?Q?"?= <a@b> =?utf-8?Q?"?= <c@d>`.
 */
function hidesAddress(words: readonly AddressToken[], comments: readonly string[]): boolean {
  const quoted = words.filter(word => word.kind === 'quoted').map(word => word.text)
  if (![...quoted, ...comments].some(text => /[<@]/.test(text))) return false
  return words.some(({ text }) => text.replace(/=\?[^?\s]+\?[bq]\?[^?\s]*\?=/gi, '').includes('=?'))
}

/** Whether a name is the address itself: many programs write that without quotes, and it names nobody else. */
function isSame(phrase: string, address: string): boolean {
  return [phrase, decodeWords(phrase)].some(name => name.toLowerCase() === address.toLowerCase())
}

/** What stands in a name though it has a meaning of its own. */
function isUnclearInName({ kind, text }: AddressToken): boolean {
  return kind === '@' || (kind === 'word' && text.includes('\\'))
}

/** A phrase as it is read: quotes gone, one space where there were any. */
function textOf(words: readonly AddressToken[]): string {
  return words
    .map(({ text, isSpaced }) => (isSpaced ? ` ${text}` : text))
    .join('')
    .trim()
}

/** A token of an address field (RFC 5322 §3.2, §3.4). */
interface AddressToken {
  /** What it is; a character with a meaning is that character. */
  readonly kind: 'word' | 'quoted' | 'comment' | Special
  /** Of a quoted string and a comment what stands in it, the backslashes of pairs gone. */
  readonly text: string
  /** Whether white space or a comment stands before it. */
  readonly isSpaced: boolean
}

type Special = '<' | '>' | ',' | ';' | ':' | '@' | '.'

/** Comments inside one another: who writes more is not read as if it were clear. */
const commentDepth = 32

const word = /[^ \t\r\n()<>,;:@."]+/y
/** An address literal (RFC 5322 §3.4.1) stands behind the @ alone. */
const literal = /\[[^[\]\\ \t\r\n]*\]/y

/** The tokens of a value in one pass, and the first thing that keeps it from being sure what they are. */
function tokenise(value: string): { tokens: AddressToken[]; fault: string | undefined } {
  const tokens: AddressToken[] = []
  let fault: string | undefined
  let isSpaced = false
  let at = 0
  const push = (kind: AddressToken['kind'], text: string, end: number) => {
    tokens.push({ kind, text, isSpaced })
    isSpaced = kind === 'comment'
    at = end
  }
  while (at < value.length) {
    const character = value[at]!
    if (isWhite(character)) {
      isSpaced = true
      at++
    } else if (character === '"' || character === '(') {
      const closed = character === '"' ? closeQuoted(value, at) : closeComment(value, at)
      fault ??= closed.fault
      const text = value.slice(at + 1, closed.end).replace(/\\(.)/gsu, '$1')
      push(character === '"' ? 'quoted' : 'comment', text, closed.end + 1)
    } else if (character === ')') {
      fault ??= 'a comment that was not opened'
      at++
    } else if (isSpecial(character)) {
      push(character, character, at + 1)
    } else {
      const form = character === '[' && tokens.at(-1)?.kind === '@' ? literal : word
      form.lastIndex = at
      const text = form.exec(value)?.[0] ?? character
      push('word', text, at + text.length)
    }
  }
  return { tokens, fault }
}

function closeQuoted(value: string, open: number): { end: number; fault: string | undefined } {
  for (let at = open + 1; at < value.length; at++) {
    if (value[at] === '\\') at++
    else if (value[at] === '"') return { end: at, fault: undefined }
  }
  return { end: value.length, fault: 'a quoted string that is not closed' }
}

function closeComment(value: string, open: number): { end: number; fault: string | undefined } {
  let depth = 0
  let deepest = 0
  for (let at = open; at < value.length; at++) {
    if (value[at] === '\\') at++
    else if (value[at] === '(') deepest = Math.max(deepest, ++depth)
    else if (value[at] === ')' && --depth === 0) {
      return { end: at, fault: deepest > commentDepth ? 'too many comments inside one another' : undefined }
    }
  }
  return { end: value.length, fault: 'a comment that is not closed' }
}

function isWhite(character: string): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n'
}

function isSpecial(character: string): character is Special {
  return '<>,;:@.'.includes(character)
}
