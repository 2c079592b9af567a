import { singleLine } from '../header/text.ts'

/** Characters that are kept of what a server said of a recipient. */
export const reportTextLength = 1000

/** An SMTP reply that is quoted in a text. */
export interface SaidReply {
  readonly code: number | undefined
  readonly enhanced: string | undefined
  /** Where in the text it begins. */
  readonly index: number
}

/**
 * Three digits as a reply begins with them, and the enhanced code after them (RFC 2034): at the beginning of a line, or
 * behind what says that a reply follows. Some repeat the digits, set a colon behind them, or name both codes (Zoho).
 */
const withCode =
  /(?:^[ \t<>*#-]*|[:;'"([#>]\s?|\b(?:said|code|error|response) )([45][0-5]\d)(?:[ -][45][0-5]\d)?(?:(?:[ -]+|: ?|, error_code ?:)[#(]{0,2}([245]\.\d{1,3}\.\d{1,3})(?![\d.])|[ :,)-]|$)/im
/** An enhanced code alone, as qmail and others mark it, or at the beginning. */
const alone = /(?:^\s*|[#([])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/

/** The first reply that says "no" in a text; only where it stands as one, for texts are full of numbers. */
export function findReply(text: string): SaidReply | undefined {
  const coded = withCode.exec(text)
  const marked = alone.exec(text)
  if (!coded) return marked ? { code: undefined, enhanced: marked[1], index: marked.index } : undefined
  const enhanced = coded[2] ?? marked?.[1]
  const code = Number(coded[1])
  return {
    code,
    // One of another class contradicts the reply (RFC 2034 §4).
    enhanced: enhanced?.charAt(0) === coded[1]?.charAt(0) ? enhanced : undefined,
    index: coded.index,
  }
}

/**
 * Of two enhanced codes for the same failure the one to go by: that of a policy (5.7.x), which must never be taken for
 * a fault of the recipient, else the remote's own, unless it says nothing (x.0.0).
 */
export function enhancedOf(said: string | undefined, status: string | undefined): string | undefined {
  const codes = [said, status].filter(code => code !== undefined)
  return codes.find(code => /^[45]\.7\./.test(code)) ?? codes.find(code => !code.endsWith('.0.0')) ?? codes[0]
}

/** What was said without the codes before it, on one line of at most reportTextLength; codes alone stay. */
export function wordsOf(said: string): string {
  const line = singleLine(said.slice(0, 8 * reportTextLength))
  const words = line.replace(
    /^[#(:;>*' -]*(?:[45][0-5]\d(?:[: )-]+|$)){0,2}[#(]*(?:[245]\.\d{1,3}\.\d{1,3}(?:[ :)-]+|$))?/,
    '',
  )
  return (words === '' ? line : words).slice(0, reportTextLength).toWellFormed()
}
