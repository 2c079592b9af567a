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
}

/**
 * What came anew with a message: without quoted history and signature, also between the parts of a quote. Of a message
 * that was forwarded that is what its sender wrote above it, and what came anew with the forwarded one. Never empty when the
 * message is not: of a message that is nothing but a quote, all of it.
 */
export function newText({ subject, text, html }: Told): NewText {
  const whole = text.trim()
  const hint = hintOf(subject)
  const found = withoutHistory(linesOf(text), hint)
  // What elements the HTML quotes in is believed before any words.
  const own = withoutQuotes(html, found.isForward)
  if (own === undefined) return { text: found.text || whole, html }
  const isKnown =
    found.isForward || own.letters === '' || isAllBut(own.letters, lettersOf(found.text || whole))
  const told = isKnown ? found : withoutHistory(linesOf(htmlToText(own.html)), hint)
  return { text: told.text || found.text || whole, html: own.html }
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
      if (!isFirst) return answer()
      if (separator !== undefined) continue
    }
    if (isQuoted(line)) {
      end()
      continue
    }
    const isAboveQuote = isQuoted(followers[at]!)
    const start = attributionStart(lines, at, isAboveQuote)
    if (start === undefined) {
      part.push(line)
      continue
    }
    part.splice(Math.max(0, part.length - (at - start)))
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

function isQuoted(line: string): boolean {
  return /^\s{0,3}[>＞]/.test(line)
}
