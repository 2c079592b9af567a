/**
 * The words of one message that it is found by, and the different ones among them: what stands after these (in the order of
 * sender, subject, recipients, body) is not found. They are one step of the index, some milliseconds.
 */
const messageWords = 20_000
export const messageDistinctWords = 4_000

/** Characters of one text, and the longest token, that the index keeps; what is beyond is not found. */
export const indexedTextLength = 256 * 1024
const tokenLength = 64
/** Terms of one query that are looked for; the rest is left out. */
const termsKept = 32

/** Scripts that put no space between words: their runs are indexed as overlapping pairs of characters. */
const unspaced =
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\u30fc]'
const runs = new RegExp(`(${unspaced}+)|(?:(?!${unspaced})[\\p{L}\\p{N}\\p{M}])+`, 'gu')

/** Words that stand one after the other. `isOpen`: the last one may go on (`東` finds `東京`). */
export interface Phrase {
  readonly tokens: readonly string[]
  readonly isOpen: boolean
}

export interface Term extends Phrase {
  readonly isExcluded: boolean
}

/** What the texts of a message are found by: their words, with a space between them. */
export interface SearchWords {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly body: string
}

/**
 * What a search for senders looks in.
 * @param names display names by lower-case address
 */
export function senderTokens(from: string, names: Readonly<Record<string, string>>): string[] {
  return indexTokens(`${from} ${names[from.toLowerCase()] ?? ''}`)
}

/** What a message is found by. */
export interface SearchTexts {
  readonly from: string
  readonly to: readonly string[]
  /** Display names by lower-case address; those that are not the author's are found under `to`. */
  readonly names: Readonly<Record<string, string>> | null
  readonly subject: string
  readonly text: string
  readonly filenames: readonly string[]
}

/**
 * The words of a message: `messageWords` at the most, and of different ones `messageDistinctWords`, for each of
 * these costs the index as much as many that it has already.
 */
export function searchWords(message: SearchTexts): SearchWords {
  const { keep, ...words } = headerWords(message)
  return { ...words, body: keep(indexTokens(bodyOf(message))).join(' ') }
}

function bodyOf({ text, filenames }: SearchTexts): string {
  return [text, ...filenames].join(' ')
}

/** The words of all but the body, and what keeps of the body's those for which there is room. */
function headerWords(message: SearchTexts) {
  const author = message.from.toLowerCase()
  const names = message.names ?? {}
  const others = Object.keys(names).filter(address => address !== author)
  const keep = keepWithinBounds()
  const from = keep(senderTokens(message.from, names)).join(' ')
  const subject = keep(indexTokens(message.subject)).join(' ')
  const recipients = [...message.to, ...others.map(address => names[address])]
  const to = keep(indexTokens(recipients.join(' '))).join(' ')
  return { from, to, subject, keep }
}

/** Gives the beginning of what it is called with, until all of it together reaches a bound. */
function keepWithinBounds(): (tokens: readonly string[]) => readonly string[] {
  const distinct = new Set<string>()
  let left: number = messageWords
  return tokens => {
    let count = 0
    for (const token of tokens) {
      if (count === left || (distinct.size === messageDistinctWords && !distinct.has(token))) break
      distinct.add(token)
      count++
    }
    left -= count
    return tokens.slice(0, count)
  }
}

/**
 * The words of a text as the index has them: letters and digits, in lower case, without accents. A run of a script
 * without spaces gives its overlapping pairs and then its last character (東京都: 東京, 京都, 都), so that whatever
 * stands in it is found, one character too.
 */
export function indexTokens(text: string): string[] {
  const tokens: string[] = []
  const words = folded(text.slice(0, indexedTextLength))
  if (isAscii(words)) return (words.match(/[a-z0-9]+/g) ?? []).slice(0, messageWords).map(shortened)
  for (const [word, run] of words.matchAll(runs)) {
    if (tokens.length >= messageWords) break
    if (run === undefined) tokens.push(shortened(word))
    else for (const pair of pairsOf(run)) tokens.push(pair)
  }
  return tokens
}

/** A text that is looked for as it stands; undefined when it has no word in it. */
export function readPhrase(text: string): Phrase | undefined {
  const matches = [...folded(text).matchAll(runs)]
  const tokens = matches.flatMap(([word, run]) => (run === undefined ? [shortened(word)] : [...pairsOf(run)]))
  if (tokens.length === 0) return undefined
  const lastRun = matches.at(-1)?.[1]
  // What follows the end of the query may be anything, so its last character stands alone only when it is all there is.
  if (lastRun === undefined) return { tokens: tokens.slice(0, termsKept), isOpen: false }
  const isSingle = [...lastRun].length === 1
  return { tokens: (isSingle ? tokens : tokens.slice(0, -1)).slice(0, termsKept), isOpen: isSingle }
}

/**
 * Reads `word "a phrase" -not -"this one"`. Nothing is a fault: a quote that is not closed goes to the end, and what
 * has no word in it is left out.
 */
export function readTerms(query: string): Term[] {
  const terms: Term[] = []
  for (const [, minus, quoted, word] of query.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/gu)) {
    if (terms.length >= termsKept) break
    const phrase = readPhrase(quoted ?? word ?? '')
    if (phrase) terms.push({ ...phrase, isExcluded: minus === '-' })
  }
  return terms
}

/** Whether the words of a phrase stand in these tokens, as the index would find them. */
export function holdsPhrase(tokens: readonly string[], phrase: Phrase): boolean {
  const last = phrase.tokens.length - 1
  return tokens.some((_token, start) =>
    phrase.tokens.every((wanted, index) => {
      const token = tokens[start + index]
      return token === wanted || (phrase.isOpen && index === last && token?.startsWith(wanted) === true)
    }),
  )
}

function folded(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFKC')
    .toLowerCase()
}

/** Such a text has nothing to fold but its case, and is read eight times as fast. */
function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text)
}

function shortened(word: string): string {
  return word.length <= tokenLength ? word : word.slice(0, tokenLength).toWellFormed()
}

function* pairsOf(run: string): Generator<string> {
  let before: string | undefined
  for (const character of run) {
    if (before !== undefined) yield before + character
    before = character
  }
  if (before !== undefined) yield before
}
