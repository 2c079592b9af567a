import {
  attributionStart,
  behindHeaderBlock,
  isBlank,
  isHeaderBlock,
  joinedAtBrackets,
  separatorOf,
} from '../quote/lines.ts'
import { withoutSignature } from '../quote/signature.ts'
import { isForwardSubject, isReplySubject } from '../quote/subject.ts'
import { htmlToText } from './html.ts'
import { lettersOf, withoutQuotes } from './own-html.ts'

/** Lines that are read; of what is longer the rest is taken as it stands. */
const linesRead = 20_000
/** How often a message that is forwarded is looked for in another. */
const forwardsRead = 5

/** What came anew with a message. */
export interface NewText {
  readonly text: string
  /** The HTML without what it quotes; empty where there is none. */
  readonly html: string
}

interface Own {
  readonly text: string
  /** Whether it is, or holds, a message that was forwarded. */
  readonly isForward: boolean
}

interface Told {
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Message-IDs of In-Reply-To and References; undefined if the header is unknown. */
  readonly inReplyTo?: readonly string[] | undefined
  readonly references?: readonly string[] | undefined
}

/**
 * Returns what the sender of a message wrote: its text without quoted history and signature. Text counts as a quote only
 * with evidence: an attribution, a header block, or the markup that mail programs quote with. The first message of a
 * thread quotes nothing. A forwarded message yields the sender's note and the new text of the forwarded message.
 * A message that consists of a quote alone is returned whole.
 */
export function newText(message: Told): NewText {
  const { subject, text, html } = message
  const whole = text.trim()
  const hint = hintOf(subject)
  if (isFirst(message)) return { text: withoutSignature(linesOf(text)) || whole, html }
  const found = withoutHistory(linesOf(text), hint)
  // What elements the HTML quotes in is believed before any words.
  const own = withoutQuotes(html, found.isForward)
  if (own === undefined) return { text: found.text || whole, html }
  const isKnown =
    found.isForward || own.letters === '' || isAllBut(own.letters, lettersOf(found.text || whole))
  const told = isKnown ? found : withoutHistory(linesOf(htmlToText(own.html)), hint)
  return { text: told.text || found.text || whole, html: own.html }
}

/** `[list] Re: …` */
const tags = /^\s*(?:\[[^[\]]{0,60}\]\s*){1,3}/

/** Whether a message begins a thread: nothing in it says that it answers another or passes one on. */
function isFirst({ subject, text, inReplyTo, references }: Told): boolean {
  if (inReplyTo?.length !== 0 || references?.length !== 0) return false
  const bare = subject.slice(0, 400).replace(tags, '')
  if ([subject, bare].some(one => isReplySubject(one) || isForwardSubject(one))) return false
  return !linesOf(text)
    .slice(0, linesRead)
    .some(line => separatorOf(line) === 'forwarded')
}

/** Letters of a signature, at the most. */
const signatureLetters = 250

/** Whether they are the same, a signature at the end apart. */
function isAllBut(letters: string, others: string): boolean {
  return letters.startsWith(others) && letters.length - others.length <= signatureLetters
}

/** `VS:` stands for a reply in Finland and for what is forwarded in Denmark. */
function hintOf(subject: string): 'forward' | 'reply' | undefined {
  const [isForward, isReply] = [isForwardSubject(subject), isReplySubject(subject)]
  return isForward === isReply ? undefined : isForward ? 'forward' : 'reply'
}

function linesOf(text: string): string[] {
  return text.split(/\r\n?|\n/)
}

/**
 * @param hint what the subject says of it, for a header block alone stands above what is forwarded and above what is replied to
 */
function withoutHistory(all: readonly string[], hint: 'forward' | 'reply' | undefined, forwards = 0): Own {
  const lines = joinedAtBrackets(all.slice(0, linesRead))
  const rest = all.slice(linesRead)
  const parts: string[] = []
  let part: string[] = []
  const end = () => {
    const own = withoutSignature(part)
    if (own !== '') parts.push(own)
    part = []
  }
  const answer = (isForward = false): Own => {
    end()
    return { text: parts.join('\n\n').trim(), isForward }
  }
  const followers = wordsBelow(lines)
  /** Whether something above says that lines with the marks of a quote are one. */
  let isEvident = false
  let hasOtherMarks = false
  const isQuote = (line: string) => isQuoted(line) || (hasOtherMarks && otherMarks.test(line))
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    if (isBlank(line)) {
      part.push(line)
      continue
    }
    const separator = separatorOf(line)
    if (separator === 'end') continue
    if (separator !== undefined || isHeaderBlock(lines, at)) {
      // Words between rules above a header block, in whatever language, say what the block says.
      if (separator === undefined) while (part.length > 0 && isBlankOrRuled(part.at(-1)!)) part.pop()
      const isFirst = parts.length === 0 && part.every(isBlank)
      const isForward =
        separator === 'forwarded' ||
        (separator !== 'above' &&
          (hint === 'forward' || (isFirst && hint !== 'reply' && separator === undefined)))
      if (isForward && forwards < forwardsRead) {
        end()
        const inner = withoutHistory(
          forwardedLines(lines, at, separator !== undefined),
          undefined,
          forwards + 1,
        )
        if (inner.text !== '') parts.push(inner.text)
        return answer(true)
      }
      // A line that asks to write above it stands at the top of what a program sent.
      if (!isFirst && !(isQuoted(line) && isQuoted(followers[at]!))) return answer()
      if (separator !== undefined) {
        isEvident = true
        continue
      }
    }
    if (isQuote(line)) {
      const last = blockEnd(lines, at, isQuote)
      const evidence = isEvident ? 'above' : evidenceIn(lines.slice(at, last))
      if (evidence === undefined) part.push(...lines.slice(at, last))
      else {
        isEvident = true
        end()
        // Mail.ru and Orange mark the attribution alone.
        if (evidence === 'last') return answer()
      }
      at = last + (evidence === undefined ? 0 : wrappedLines(lines, last, isQuote)) - 1
      continue
    }
    // Within lines that all have such marks, as a table has, no line speaks of those below.
    const hasOthers = otherMarks.test(followers[at]!) && !otherMarks.test(line)
    const isAboveQuote = isQuoted(followers[at]!) || hasOthers
    const start = attributionStart(lines, at, isAboveQuote)
    if (start === undefined) {
      part.push(line)
      continue
    }
    part.splice(Math.max(0, part.length - (at - start)))
    isEvident = true
    hasOtherMarks ||= hasOthers
    // What is not marked as a quote line by line is one to the end.
    if (!isAboveQuote) return answer()
    end()
  }
  end()
  if (rest.length > 0) parts.push(rest.join('\n'))
  return answer()
}

/** The lines of what was forwarded, without its header, and without the marks of a quote around or below it. */
function forwardedLines(lines: readonly string[], at: number, isBelowLine: boolean): readonly string[] {
  const first = isBelowLine ? at + 1 : at
  const inner = unmarked(lines.slice(first))
  return unmarked(inner.slice(behindHeaderBlock(inner, 0)))
}

/** Without the marks of a quote, where each line has one. */
function unmarked(lines: readonly string[]): readonly string[] {
  const isMarked = lines.every(line => isBlank(line) || isQuoted(line))
  return isMarked ? lines.map(line => line.replace(/^\s{0,3}> ?/, '')) : lines
}

/** Of each line the next one below it that is not blank. */
function wordsBelow(lines: readonly string[]): string[] {
  const below: string[] = []
  let next = ''
  for (let at = lines.length - 1; at >= 0; at--) {
    below[at] = next
    if (!isBlank(lines[at]!)) next = lines[at]!
  }
  return below
}

function isBlankOrRuled(line: string): boolean {
  return (
    isBlank(line) ||
    (line.length < 100 && /^\s{0,8}[-_=*]{3}/.test(line) && /[-_=*]{3}$/.test(line.trimEnd()))
  )
}

/** Marks that stand for a quote below an attribution only: `| text`, and initials, `AB> text`. */
const otherMarks = /^\s{0,3}(?:\|(?:\s|$)|\p{L}{1,4}>)/u

/** The line behind the marked lines that begin at `start`. */
function blockEnd(lines: readonly string[], start: number, isQuote: (line: string) => boolean): number {
  let end = start
  while (end < lines.length && isQuote(lines[end]!)) end++
  return end
}

/**
 * What in marked lines says that they are a quote: an attribution or a header block among them; `last` when it is an
 * attribution or block that ends them, so what it speaks of is below.
 */
function evidenceIn(marked: readonly string[]): 'inside' | 'last' | undefined {
  const lines = marked.map(line => line.replace(/^\s{0,3}[>＞]+ ?/u, ''))
  for (let at = 0; at < lines.length; at++) {
    if (isBlank(lines[at]!)) continue
    if (isHeaderBlock(lines, at))
      return lines.slice(behindHeaderBlock(lines, at)).every(isBlank) ? 'last' : 'inside'
    if (
      attributionStart(lines, at, isQuoted(marked[at + 1]?.replace(/^\s{0,3}[>＞] ?/u, '') ?? '')) ===
      undefined
    )
      continue
    return lines.slice(at + 1).every(isBlank) ? 'last' : 'inside'
  }
  return undefined
}

/** Columns at which programs break lines, at the least. */
const wrapColumn = 72
const wrappedMost = 20

/**
 * How many lines behind a quote belong to its last line, which a program on the way broke without marking the rest:
 * each line above has no room for the next word, and the quote goes on below or its sentence does.
 */
function wrappedLines(lines: readonly string[], start: number, isQuote: (line: string) => boolean): number {
  let at = start
  for (; at < lines.length && at - start < wrappedMost; at++) {
    const line = lines[at]!
    if (isBlank(line) || isQuote(line)) break
    const above = lines[at - 1]!.trimEnd()
    const word = line.slice(0, wrapColumn).trimStart().split(/\s/, 1)[0]!
    if (above.length + 1 + word.length <= wrapColumn || above.length > 2 * wrapColumn) return 0
  }
  const goesOn = at < lines.length && isQuote(lines[at]!)
  const isUnfinished =
    !/[.!?:;。！？]["')\]]?\s*$/u.test(lines[start - 1]!) && /^\p{Ll}/u.test(lines[start] ?? '')
  return isUnfinished || (goesOn && !/[.!?]\s*$/.test(lines[start - 1]!)) ? at - start : 0
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}[>＞]/.test(line)
}
