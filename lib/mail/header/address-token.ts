/** A token of an address field (RFC 5322 §3.2, §3.4). */
export interface AddressToken {
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
export function tokenise(value: string): { tokens: AddressToken[]; fault: string | undefined } {
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
