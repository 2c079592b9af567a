import { formsOf, forwardEnds } from './forms.ts'

const plainWords = /^[\p{L}\p{M}]+$/u
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u

const verbs = formsOf('wrote')
/** Verbs that are words of their own, and those in scripts without spaces, or of two words. */
const verbWords = new Set(verbs.filter(verb => plainWords.test(verb) && !unspaced.test(verb)))
const verbParts = verbs.filter(verb => !verbWords.has(verb))
/** How far from the end of such a line its verb may stand. */
const verbWithin = 140

/** "said": Sparrow's and Airmail's word. People write it more often than programs, so it asks for more around it. */
const saidWords = new Set(
  'said|says|sagte|dit|dijo|disse|detto|zei|sade|sagde|sa|sanoi|powiedział|powiedziała|řekl|řekla|сказал|сказала'.split(
    '|',
  ),
)
/** Words of a name, or next to a verb, that begin with a small letter. */
const smallWords = new Set(
  'a ha ho hat has heeft har have van von vom der den de del da das do dos di du la le el al bin ibn af av zu ten ter y e o'.split(
    ' ',
  ),
)
const personalWords = new Set(
  'i the this that it he she we they you ich er sie wir das der die je il elle'.split(' '),
)

const onWords = new Set(formsOf('on'))
/** Of a date, whatever digits it is written in. */
const year = /(?<!\p{Nd})\p{Nd}{4}(?!\p{Nd})/u
const time = /\p{Nd}[:.h]\p{Nd}{2}|[年月日월일]/u
const shortDate = /\p{Nd}{1,2}[./-]\p{Nd}{1,2}[./-]\p{Nd}{2}/u
/** A day of the week, or a name, and then a number; the number alone. */
const datedBeginning = /^(?:\p{Nd}|[\p{L}\p{M}.]{2,14},?\s+\p{Nd}|[于在於])/u
/** An address, as `<…>`, `(…)` or `[mailto:…]` hold it. */
const bracketed = /[<([](?:mailto:)?[^<>()[\]\s@]{1,200}@[^<>()[\]\s@]{1,200}[>)\]]/u
const byAddress =
  /^\p{Nd}[^<>@]{4,60}\s(?:by|von|par|por|da|de|door|av|af|przez|от|від)\s[^\s<>()@]{1,100}@[^\s<>()@]{1,100}$/u
/** Marks that say in which direction a line runs. */
const directions = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Lines that one attribution may be broken into, and its characters. */
const attributionLines = 5
const attributionLength = 500

const shows = /[^\s\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const endsInColon = /[:：][\s\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u

/** Whether nothing of a line shows. */
export function isBlank(line: string): boolean {
  return !shows.test(line)
}

/** A line as it is compared: without what does not show, and trimmed. */
function shown(line: string): string {
  return line.replace(directions, '').trim()
}

/**
 * Where the line (or the few lines that it was broken into) that says who wrote what is quoted below begins, when it
 * ends at `end`; undefined when that is no such line.
 * @param isAboveQuote whether what follows is marked as a quote: then a name and a verb are enough
 */
export function attributionStart(
  lines: readonly string[],
  end: number,
  isAboveQuote: boolean,
): number | undefined {
  const last = shown(lines[end]!)
  if (last === '' || last.length > attributionLength) return undefined
  if (!isAboveQuote && !/(?:[:：]|--)$/u.test(last) && !endsWithoutColon(last)) return undefined
  let joined = ''
  let weak: number | undefined
  for (let start = end; start > end - attributionLines && start >= 0; start--) {
    const line = start === end ? last : shown(lines[start]!)
    if (line === '' || line.startsWith('>')) break
    // A program that breaks a line within the brackets of an address puts no space there.
    joined = joined === '' ? line : /[<([][^<>()[\]\s]*$/.test(line) ? line + joined : `${line} ${joined}`
    if (joined.length > attributionLength) break
    const strength = strengthOf(joined, isAboveQuote)
    if (strength === 'strong') return start
    const isBegun = start === 0 || isBlank(lines[start - 1]!)
    if (strength === 'paragraph' && isBegun) return start
    if (strength === 'alone' && isBegun && isBlank(lines[end + 1] ?? '')) return start
    if (strength !== undefined) weak ??= start
  }
  return isAboveQuote ? weak : undefined
}

/** The end of an address that Gmail has broken before its bracket, and what follows there. */
const brokenAddress = /<[^<>\s@]{1,200}@[^<>\s@]{1,200}$/
const bracketBelow = /^>[^<>]{0,80}$/u

/** The lines, with those that were broken within the brackets of an address put together: what begins with a bracket is no quote then. */
export function joinedAtBrackets(lines: readonly string[]): readonly string[] {
  if (!lines.some(line => bracketBelow.test(line))) return lines
  const joined: string[] = []
  for (const line of lines) {
    const last = joined.at(-1)
    const isBroken = last !== undefined && last.length <= attributionLength && bracketBelow.test(line)
    if (isBroken && brokenAddress.test(last)) joined[joined.length - 1] = last + line
    else joined.push(line)
  }
  return joined
}

/**
 * How surely words say who wrote what follows, and when: `strong` needs nothing else, `paragraph` has to begin one,
 * `alone` has to be one, `weak` needs the marks of a quote below.
 */
function strengthOf(
  line: string,
  isAboveQuote: boolean,
): 'strong' | 'paragraph' | 'alone' | 'weak' | undefined {
  const isDated = year.test(line) || time.test(line) || shortDate.test(line)
  const { said, hasColon } = withoutColon(line)
  if (!isDated && !hasColon) return undefined
  const hasAddress = bracketed.test(said) || addressFirst.test(said)
  if (!isDated && !isAboveQuote && !hasAddress) return undefined
  const isFull = year.test(said) && time.test(said)
  const verb = verbAt(said, isFull || hasAddress || isAboveQuote)
  // `Bob Ross <bob@example.net> wrote:`
  if (!isDated && hasAddress && hasColon && verb >= 0 && isNameAndAddress(said)) return 'paragraph'
  if (!isDated && !isAboveQuote) return undefined
  if (!hasColon && isFull && beginsAsOne(said) && isVerbLast(said, verb))
    return hasAddress ? 'strong' : 'alone'
  if (!hasColon && isAboveQuote && isDated && beginsAsOne(said) && isVerbLast(said, verb)) return 'weak'
  if (hasColon && isDated && beginsAsOne(said)) {
    const isBehindDate = verb > said.search(/\p{Nd}/u) && verb >= said.length - verbWithin
    if (isBehindDate || (hasAddress && /[>)\]]$/.test(said))) return 'strong'
  }
  // Tutanota's: a date, `by` and the address alone.
  if (hasColon && isDated && said.length <= 120 && byAddress.test(said)) return 'strong'
  // In some languages the verb stands before the date, which ends the line.
  const endsInDate = /\p{Nd}\)*$/u.test(said)
  if (hasColon && isDated && verb >= 0 && (hasAddress || (endsInDate && said.length <= 120))) return 'strong'
  const isNamed = isDated || hasAddress || isNameAndVerb(said, verb)
  if (hasColon && verb >= 0 && said.length - verb <= verbWithin && isNamed) return 'weak'
  // `Quoting Bob <bob@example.net>:`
  if (hasColon && hasAddress && said.length <= 120 && /[>)\]]$/.test(said)) return 'weak'
  return isDated && hasAddress ? 'weak' : undefined
}

/** Without the marks of bold type and the rules around the words; Zoho's rule stands in the place of the colon. */
function withoutColon(line: string): { said: string; hasColon: boolean } {
  let end = line.length
  while (end > 0 && /[\s*:：-]/.test(line[end - 1]!)) end--
  const said = line.slice(0, end).replace(/^[\s*_-]+/, '')
  return { said, hasColon: /[:：]|--/.test(line.slice(end)) }
}

function beginsAsOne(said: string): boolean {
  const first = /^[\p{L}\p{M}.-]+/u.exec(said.slice(0, 20))?.[0].toLowerCase() ?? ''
  return (
    datedBeginning.test(said) ||
    onWords.has(first) ||
    /^[^\p{Nd}]{0,60}<[^<>\s]{1,100}>\s*[,于於在]/u.test(said)
  )
}

const addressFirst = /^[^\s<>()[\]@]{1,200}@[^\s<>()[\]@]{1,200}\s/
const nameAndAddress =
  /^([^<>()[\]@]{0,80})[<([]?(?:mailto:)?[^<>()[\]\s@]{1,200}@[^<>()[\]\s@]{1,200}[>)\]]?(.{0,30})$/u

/** Whether there is nothing but a name (with no other words), an address, and a verb behind them. */
function isNameAndAddress(said: string): boolean {
  const bare = addressFirst.exec(said)?.[0]
  const [, name = '', behind = ''] = bare
    ? ['', '', said.slice(bare.length)]
    : (nameAndAddress.exec(said) ?? [])
  if (behind.length > 30) return false
  return behind.trim() !== '' && verbAt(behind, true) >= 0 && smallWordsIn(name) === 0
}

/** Whether a line ends in a verb, and the name of the one it is about where the language puts that last. */
function isVerbLast(said: string, verb: number): boolean {
  return (
    verb >= 0 &&
    /^\S{1,24}(?:\s\p{Lu}[\p{L}.'-]{0,40}){0,4}(?:\s?[<([]\S{3,200}[>)\]])?$/u.test(said.slice(verb))
  )
}

/** `Bob Ross wrote`: no sentence of a person that ends in a colon, which has more words. */
function isNameAndVerb(said: string, verb: number): boolean {
  if (verb < 0 || said.length > 80) return false
  const first = /^[\p{L}'’]+/u.exec(said)?.[0].toLowerCase() ?? ''
  const isSaid = saidWords.has(/^[\p{L}\p{M}]+/u.exec(said.slice(verb))?.[0].toLowerCase() ?? '')
  if (isSaid && personalWords.has(first)) return false
  return smallWordsIn(said.slice(0, verb)) <= (isSaid ? 0 : 1) && smallWordsIn(said.slice(verb)) <= 3
}

function smallWordsIn(text: string): number {
  return [...text.matchAll(/(?<![\p{L}\p{M}'’])\p{Ll}[\p{L}\p{M}]*/gu)].filter(
    ({ 0: word }) => !smallWords.has(word),
  ).length
}

/** Whether a line may be an attribution whose colon was left out. */
function endsWithoutColon(line: string): boolean {
  if (!/\p{Nd}/u.test(line) && !line.includes('@') && line.length > 40) return false
  if (/@[^\s@]{1,200}[>)\]]$/.test(line.slice(-250))) return true
  return isVerbLast(line.slice(-80), verbAt(line.slice(-80), true))
}

/** Where the last word stands that says that somebody wrote; -1 for none. */
function verbAt(text: string, mayBeSaid: boolean): number {
  const lower = text.toLowerCase()
  let found = -1
  for (const { 0: word, index } of lower.matchAll(/[\p{L}\p{M}]+/gu))
    if (verbWords.has(word) || (mayBeSaid && saidWords.has(word))) found = index
  for (const part of verbParts) found = Math.max(found, lower.lastIndexOf(part))
  return found
}

type Field = 'from' | 'date' | 'to' | 'subject'
const fieldNames = new Map<string, Field>(
  // What names two fields in two languages names the rarer one.
  (['to', 'date', 'subject', 'from'] as const).flatMap(field =>
    formsOf(field).map((word): [string, Field] => [word.trim(), field]),
  ),
)
/** Of the longest name, with the marks before and behind it. */
const fieldNameLength = 40
const blockLines = 10

/** Whether a block of header fields (`From: … Sent: … To: … Subject: …`) begins in this line. */
export function isHeaderBlock(lines: readonly string[], start: number): boolean {
  if (fieldOf(lines[start]!) === undefined) return false
  const seen = new Set<Field>()
  let hasAddress = false
  for (const line of lines.slice(start, start + blockLines)) {
    // One blank line between two fields comes of paragraphs in HTML; the end of the block is found all the same.
    const field = fieldOf(line)
    if (field !== undefined) seen.add(field)
    if (field === 'from' && line.includes('@')) hasAddress = true
  }
  return seen.size >= 3 && seen.has('from') && (seen.has('subject') || hasAddress)
}

/**
 * The first line behind the block of header fields that begins at `start`, or behind blank lines there; `start` where
 * there is none.
 */
export function behindHeaderBlock(lines: readonly string[], start: number): number {
  const seen = new Set<Field>()
  let end = start
  let blank = 0
  for (let at = start; at < Math.min(lines.length, start + 3 * blockLines); at++) {
    const line = lines[at]!
    const field = fieldOf(line)
    if (/^[\s>]*$/.test(line)) blank++
    // A second block, behind a blank line, is that of another message.
    else if (field !== undefined && !(blank > 0 && seen.has(field))) {
      seen.add(field)
      end = at + 1
      blank = 0
    } else if (blank === 0 && end > start && /^\s|@/.test(line)) end = at + 1
    else break
  }
  return end
}

/** `> *From:* …`: marks of a quote and of bold type may stand around the name. */
function fieldOf(line: string): Field | undefined {
  // Most lines have none, and every line is asked.
  if (line.length > 2000 || !(line.includes(':') || line.includes('：'))) return undefined
  const begin = line.search(/[^\s>*\u200e\u200f\u202a-\u202e]/)
  const name = line.slice(begin, begin + fieldNameLength)
  const colon = name.search(/[:：]/)
  if (begin < 0 || colon < 0) return undefined
  return fieldNames.get(name.slice(0, colon).replace('*', '').trimEnd().toLowerCase())
}

const originals = new Set(formsOf('original'))
const forwards = new Set(formsOf('forwarded'))
const ends = new Set(forwardEnds)
/** `Bob ---01.11.2026 09:41:03---` above a block of fields. */
const notes = /^[^\d\s-][^\d-]{0,80} ---\d{1,4}[./-]\d{1,2}[./-]\d{2,4} \d{1,2}[:.]\d{2}[^-]{0,12}---/
const aboveLine = /^[\s>#=*_-]*(?:please )?(?:type|write|reply|add)\b.{0,40}\babove this line\b/iu
const rules = /[\s>*_‐‑‒–—―=~#-]/u

/**
 * What a line says of all that stands below it: that it was there before (`original`), that it was passed on
 * (`forwarded`, up to the `end`), or that replies go above it; undefined when it is no such line.
 */
export function separatorOf(line: string): 'original' | 'forwarded' | 'end' | 'above' | undefined {
  if (line.length >= 300 || !mayBeSeparator(line)) return undefined
  if (aboveLine.test(line)) return 'above'
  if (isGroupWise(line) || notes.test(line)) return 'original'
  const { words, hasRule } = withoutRules(shown(line))
  if (words === '') return undefined
  if (hasRule) {
    const name = words.replace(/[:：]$/u, '').replaceAll('’', "'")
    if (originals.has(name)) return 'original'
    if (ends.has(name)) return 'end'
    if (startsAsForward(name)) return 'forwarded'
    // `---- Bob <bob@example.net> wrote ----`
    return bracketed.test(line) && verbAt(words, false) >= 0 ? 'original' : undefined
  }
  // Apple's has no rule, and a colon.
  return /[:：]$/u.test(words) && forwards.has(words.slice(0, -1).trimEnd()) ? 'forwarded' : undefined
}

/** `>>> Bob <bob@example.net> 11/1/2026 9:41 AM >>>` */
function isGroupWise(line: string): boolean {
  return /^>{2,3} /.test(line) && line.trimEnd().endsWith('>>') && time.test(line)
}

/** Whether it begins with marks, ends in a colon, or asks for something: few do. */
function mayBeSeparator(line: string): boolean {
  if (line.includes(' ---') || line.startsWith('>>')) return true
  if (/^[\s>]*[-_‐‑‒–—―=~#*]{2}|^[\s>#=*_-]*(?:please|type|write|reply|add)\b/iu.test(line)) return true
  return endsInColon.test(line)
}

/** `-----Original Message-----`: the words between the rules; that behind the words is left out by some. */
function withoutRules(line: string): { words: string; hasRule: boolean } {
  let begin = 0
  while (begin < line.length && rules.test(line[begin]!)) begin++
  let end = line.length
  while (end > begin && rules.test(line[end - 1]!)) end--
  return {
    words: line.slice(begin, end).toLowerCase(),
    hasRule: /[-_‐‑‒–—―=~#*]{2}/u.test(line.slice(0, begin)),
  }
}

/** `Forwarded message from Bob <bob@example.net>`, or `Forwarded by Bob on 4 May`. */
function startsAsForward(name: string): boolean {
  if (forwards.has(name)) return true
  for (let at = name.indexOf(' '); at >= 0 && at <= 40; at = name.indexOf(' ', at + 1)) {
    if (forwards.has(name.slice(0, at))) return true
  }
  return false
}
