import t from 'tap'
import { readJudged } from './judged.ts'
import { builtPatterns, judge, nameOfPattern, type Pattern, writtenPatterns } from './patterns.ts'

/**
 * Those that may take more than linear time, for their text is short: how many characters it has at the most, and who
 * sees to it. A pattern on a stranger's text should not stand here: mend it, or write a scanner.
 */
const exceptions: readonly { pattern: RegExp; characters: number; boundedBy: string }[] = [
  {
    pattern:
      /^(?:[a-z]{3,9}\.?\s*,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]{0,6}\.?[\s-]+(\d{2,4})\s+(\d{1,2})\s*:\s*(\d{2})(?:\s*:\s*(\d{2}))?(?:\s*([+-]\d{4}|[a-z]{1,5}))?(?:\s|$)/i,
    characters: 200,
    boundedBy: 'parseDate, which reads no more of a field',
  },
]

/** Faults that were found in lib once; each took seconds for a message. */
const faults: readonly RegExp[] = [
  /^[\s>*]*(?:from|von|de)\s*\*?\s*[:：]/iu,
  /^\s*(?:re|aw|sv)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]/iu,
  /\d.*(?:wrote|writes|schrieb)(?:\s.{0,120})?\s*[:：]$/iu,
  /\n\s*\n[^\n]*\S/,
  /<[^<>\s]{1,200}@[^<>\s]{1,200}>\s*[:：]$/u,
  /\b(?:class|id)\s*=\s*["']?[^"'>]{0,200}\b(?:gmail_quote|yahoo_quoted|moz-cite-prefix|protonmail_quote|divRplyFwdMsg|appendonsend|stopSpelling|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container)\b/i,
  /^(?:a+)+$/,
]

t.test('every regular expression of lib takes linear time', async t => {
  const { literals, built } = writtenPatterns()
  const builtNow = await builtPatterns(built)
  t.ok(literals.length > 200, 'the literals were found')
  for (const place of built) {
    t.ok(
      builtNow.some(pattern => pattern.place === place),
      `${place} is built somewhere: else call it in built-patterns.ts`,
    )
  }
  const places = placesOf([...literals, ...builtNow])
  const isJudged = readJudged()
  const asked = [...places].filter(([pattern]) => !isJudged(pattern)).map(([, [one]]) => one!)
  const verdicts = await judge([...asked, ...faults.map(({ source, flags }) => ({ source, flags }))])
  for (const [pattern, standing] of places) {
    const fault = verdicts.get(pattern)
    if (fault === undefined || exceptions.some(one => String(one.pattern) === pattern)) continue
    t.fail(`${standing.map(one => one.place).join(', ')}: ${pattern} is ${fault}`)
  }
  for (const { pattern } of exceptions) {
    t.ok(verdicts.get(String(pattern)), `the exception ${pattern} is there, and needed`)
  }
  for (const pattern of faults) t.ok(verdicts.get(String(pattern)), `${pattern} would be found`)
})

/** Each pattern once, with all its places. By `String(RegExp)`. */
function placesOf(patterns: readonly Pattern[]): Map<string, Pattern[]> {
  return Map.groupBy(patterns, nameOfPattern)
}
