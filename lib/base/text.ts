import { open } from 'node:fs/promises'

/**
 * What does something to whoever shows text and is nothing to be read: C0, DEL and C1 (they command terminals), what turns the
 * direction of writing or separates lines, what is invisible and annotates, and halves of characters.
 */
const commanding =
  /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The same and white space. */
const commandingOrSpace =
  /[\p{Cc}\p{Cs} \u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu

/** Shown as what it is, such as `\x1b` or `\u202e`; lines and tabs stay, and so does CR where a line ends with it. */
export function printable(text: string): string {
  return text.replace(commanding, (character, at: number) => {
    if (character === '\n' || character === '\t') return character
    return character === '\r' && text[at + 1] === '\n' ? character : escaped(character)
  })
}

/** The same in one line. */
export function printableLine(text: string): string {
  return text.replace(commanding, escaped)
}

const short = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function escaped(character: string): string {
  const known = short.get(character)
  if (known !== undefined) return known
  const code = character.codePointAt(0)!
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** The same value in JSON, where such characters stand in strings alone: its lines stay as they are. */
export function printableJson(json: string): string {
  return json.replace(commanding, character => {
    if (character === '\n') return character
    // Two of them for what is above U+FFFF (RFC 8259 §7).
    return Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join('')
  })
}

/** What a stranger said, fit for a log line and a header field: no characters that command a terminal, one line, bounded. */
export function oneLine(text: string): string {
  return text
    .slice(0, 4 * textLength)
    .replace(commandingOrSpace, ' ')
    .trim()
    .slice(0, textLength)
    .toWellFormed()
}

const textLength = 1000

/** The file of a smarthost's password. */
const passwordBytes = 4096

/** The first line of a file with a secret, read each time it is asked for, so that a new one counts at once. */
export async function readFirstLine(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(passwordBytes) })
    return buffer.toString('utf8', 0, bytesRead).split(/\r?\n/)[0] ?? ''
  } finally {
    await file.close()
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it stands in HTML, in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character]!)
}

/** A path, or another text, as one word of a command that is pasted into a shell. */
export const shellWord = (text: string) =>
  /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** How many letters must be put in, taken out, changed or swapped with the next to make `b` of `a` (Damerau–Levenshtein). */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? (before[j - 2] ?? 0) + 1 : change
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** The one of `words` that `typed` is most likely a misspelling of; undefined when none is near. The first wins a tie. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  if (typed.length > 40) return undefined
  const ranked = words
    .map(word => ({ word, distance: editDistance(typed.toLowerCase(), word.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined
}

interface Bounded {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
}

/** What of a JSON schema says which values there may be. */
export interface ValueSchema extends Bounded {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly ValueSchema[]
  readonly oneOf?: readonly ValueSchema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/**
 * What a value must be, for people: `"a" or "b"`, `a text of 1 to 998 characters`. Of null nothing is said: where it may stand it
 * says the same as leaving the value out.
 */
export function valueInWords(schema: ValueSchema): string {
  return [...new Set(formsOf(schema))].join(' or ')
}

/** One of these words; with a question where `given` looks like one of them. */
export function choiceInWords(words: readonly unknown[], given?: unknown): string {
  const choices = words.filter(word => word !== null)
  const named = choices.map(word => JSON.stringify(word)).join(', ')
  const near = typeof given === 'string' ? nearestWord(given, choices.map(String)) : undefined
  const question = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`
  return `${choices.length > 1 ? 'one of ' : ''}${named}${question}`
}

/** `whole number from 0 to 100` */
export function wholeNumberInWords({ minimum, maximum }: Bounded): string {
  return `whole number${range('from', minimum, maximum)}`
}

function formsOf(schema: ValueSchema): string[] {
  const among = schema.anyOf ?? schema.oneOf
  if (among) return among.flatMap(formsOf)
  const words = schema.enum ?? ('const' in schema ? [schema.const] : undefined)
  if (words) return [choiceInWords(words)]
  const { minLength, maxLength, minItems, maxItems } = schema
  return [schema.type ?? []].flat().flatMap(type => {
    switch (type) {
      case 'null':
        return []
      case 'boolean':
        return ['true or false']
      case 'integer':
        return [`a ${wholeNumberInWords(schema)}`]
      case 'string':
        return [`a text${count('character', minLength, maxLength)}`]
      case 'array':
        return [`a list${count('entry', minItems, maxItems)}`]
      case 'object':
        return ['an object']
      default:
        return [`a ${type}`]
    }
  })
}

function range(from: string, least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return ` ${from} ${least} to ${most}`.replace('  ', ' ')
  if (least !== undefined) return ` of at least ${least}`
  return most === undefined ? '' : ` of at most ${most}`
}

function count(thing: 'character' | 'entry', least: number | undefined, most: number | undefined): string {
  // None is what may be said of everything.
  const said = range('of', least || undefined, most)
  if (said === '') return ''
  const isOne = (most ?? least) === 1
  const things = thing === 'entry' ? 'entries' : 'characters'
  return `${said} ${isOne ? thing : things}`
}
