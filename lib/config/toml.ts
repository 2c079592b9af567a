import { parse, stringify, TomlDate, TomlError } from 'smol-toml'
import type { Fault } from './fault.ts'

/** Settings and lists are one level deep in a table; anything deeper is a fault whatever it holds. */
const maxDepth = 8

/** The document that `text` holds, or its first fault of syntax. */
export function readToml(text: string): { document: Record<string, unknown> } | { fault: Fault } {
  try {
    const document: Record<string, unknown> = parse(text, { maxDepth })
    // A date is an object of JavaScript, and must not pass for a table.
    for (const [name, value] of Object.entries(document)) {
      if (value instanceof TomlDate) document[name] = value.toISOString()
    }
    return { document }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return {
      fault: {
        path: `line ${error.line}, column ${error.column}`,
        message: `is not valid TOML: ${sentenceOf(error, text)}`,
      },
    }
  }
}

/** What those who write it by hand do wrong in their own words; of the rest what the parser says. */
function sentenceOf({ message, line, column }: TomlError, text: string): string {
  const lines = text.split(/\r?\n/)
  const own = lines[line - 1] ?? ''
  const [said = ''] = message.replace(/^Invalid TOML document: /, '').split('\n')
  const table = tableOf(own)
  if (/already defined/.test(said) && table !== undefined) {
    const first = lines.findIndex(one => tableOf(one) === table) + 1
    if (first < line)
      return `the table ${table} stands twice. Put the lines under the first, in line ${first}, and take this one out`
  }
  if (/[\u2018-\u201f\u00ab\u00bb]/.test(own.replace(/#.*/, '')))
    return 'a typographic quote stands in this line, as word processors write it: write a straight one (")'
  const [, name] = /^\s*([\w-]{1,60})\s*:/.exec(own) ?? []
  if (name !== undefined) return `a setting is written with "=", and no colon: ${name} = …`
  if (/unfinished string/.test(said) || (/control characters/.test(said) && column > own.length))
    return 'a text in quotes is not closed: write the quote at its end'
  return ofHabit(own) ?? said
}

/** What is written so in other languages. */
function ofHabit(line: string): string | undefined {
  if (/^\s*\/\//.test(line)) return 'a comment begins with "#"'
  if (/^\s*\[[\w.-]{1,100}\]\s*[\w.-]{1,60}\s*=/.test(line))
    return 'the header of a table has a line of its own: its settings begin in the next one'
  const [, truth] = /=\s*(true|false|yes|no|on|off)\s*(?:#|$)/i.exec(line) ?? []
  if (truth !== undefined && truth !== 'true' && truth !== 'false') {
    const meant = /^(?:true|yes|on)$/i.test(truth) ? 'true' : 'false'
    return `${truth} is written ${meant}, in small letters and without quotes`
  }
  const [, number] = /=\s*(\d{1,20}[a-z]{1,10})\s*(?:#|$)/i.exec(line) ?? []
  if (number !== undefined)
    return `${number} is no number: a setting with a unit is a text in quotes, and one without has all its digits`
  const [, address] = /=\s*\[\s*([\da-f.:]{1,60}|\[[\da-f:]{1,60}\]:\d{1,5})\s*[\],]/i.exec(line) ?? []
  if (address !== undefined && /[.:]/.test(address)) return `an address is a text in quotes: ["${address}"]`
  return undefined
}

/** The header of a table in a line, without its spaces: `[smtp]`. */
function tableOf(line: string): string | undefined {
  return /^\s*(\[[\w.\s-]{1,100}\])\s*(?:#|$)/.exec(line)?.[1]?.replaceAll(/\s/g, '')
}

/** `document` as TOML text. */
export function writeToml(document: object): string {
  return stringify(document)
}

/** `name = value`, as one line of TOML. */
export function tomlLine(name: string, value: unknown): string {
  return stringify({ [name]: value }).trim()
}
