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
    const [said = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    return {
      fault: { path: `line ${error.line}, column ${error.column}`, message: `is not valid TOML: ${said}` },
    }
  }
}

/** `document` as TOML text. */
export function writeToml(document: object): string {
  return stringify(document)
}

/** `name = value`, as one line of TOML. */
export function tomlLine(name: string, value: unknown): string {
  return stringify({ [name]: value }).trim()
}
