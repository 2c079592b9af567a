import { decodeCut } from './encoded-word.ts'

/** A value with parameters, as Content-Type and Content-Disposition have it (RFC 2045 §5.1, RFC 2183 §2). */
export interface Parameterised {
  /** What stands before the first semicolon, in lower case, without comments and white space. */
  readonly value: string
  /** By lower-case name, the first of each; put together and decoded where RFC 2231 cut or encoded them. */
  readonly parameters: Readonly<Record<string, string | undefined>>
}

interface Segment {
  readonly index: number
  readonly isEncoded: boolean
  readonly text: string
}

/** Reads such a value in one pass. Quotes that don't close end with the value; what is unquoted may have spaces in it. */
export function readParameters(field: string): Parameterised {
  const first = field.indexOf(';')
  const parameters: Record<string, string | undefined> = Object.create(null)
  const segments = new Map<string, Segment[]>()
  let at = first < 0 ? field.length : first + 1
  while (at < field.length) {
    const { name, text, next } = parameterAt(field, at)
    at = next
    // RFC 2231 §3 and §4: name*, name*0, name*0*.
    const [, base = name, index, encoded] = /^([^*]+)\*(?:(\d{1,4})(\*)?)?$/.exec(name) ?? []
    if (base === name) {
      if (name !== '') parameters[name] ??= text
      continue
    }
    const segment = {
      index: Number(index ?? 0),
      isEncoded: index === undefined || encoded !== undefined,
      text,
    }
    const known = segments.get(base)
    if (known) known.push(segment)
    else segments.set(base, [segment])
  }
  for (const [name, parts] of segments) parameters[name] = joined(parts)
  const value = first < 0 ? field : field.slice(0, first)
  return { value: withoutComment(value).trim().toLowerCase(), parameters }
}

function withoutComment(text: string): string {
  const open = text.indexOf('(')
  return open < 0 ? text : text.slice(0, open)
}

/** The parameter that begins at `at`, and where the next one does. */
function parameterAt(field: string, at: number): { name: string; text: string; next: number } {
  const equals = endOf(field, '=;', at)
  if (field[equals] !== '=') return { name: '', text: '', next: equals + 1 }
  const name = field.slice(at, equals).trim().toLowerCase()
  let start = equals + 1
  while (isWhite(field[start])) start++
  if (field[start] !== '"') return { name, ...unquoted(field, start) }
  const end = closingQuote(field, start + 1)
  // Of pairs only those that must be: a path of Windows has backslashes that mean themselves.
  const text = field.slice(start + 1, end).replace(/\\(["\\])/g, '$1')
  // What follows quotes up to the semicolon is nothing, unless that was forgotten and it is a parameter.
  const next = endOf(field, '=;', end + 1)
  return { name, text, next: field[next] === '=' ? end + 1 : next + 1 }
}

/** An unquoted value with its spaces; where the semicolon behind it was forgotten, up to the first. */
function unquoted(field: string, start: number): { text: string; next: number } {
  const space = endOf(field, '; \t\r\n', start)
  const end = endOf(field, '=;', space)
  return field[end] === '='
    ? { text: field.slice(start, space), next: space }
    : { text: field.slice(start, end).trim(), next: end + 1 }
}

function closingQuote(field: string, start: number): number {
  for (let at = start; at < field.length; at++) {
    if (field[at] === '\\') at++
    else if (field[at] === '"') return at
  }
  return field.length
}

/** Where the first of these characters stands; the end of the field where none does. */
function endOf(field: string, characters: string, start: number): number {
  let at = start
  while (at < field.length && !characters.includes(field[at]!)) at++
  return at
}

function isWhite(character: string | undefined): boolean {
  return character !== undefined && ' \t\r\n'.includes(character)
}

/** RFC 2231 §4.1: the first segment names the charset and language, if any is encoded. */
function joined(segments: readonly Segment[]): string {
  let charset = ''
  const bytes = segments
    .toSorted((one, other) => one.index - other.index)
    .map(({ isEncoded, text }, position) => {
      // Some programs encode all segments and mark the first alone.
      if (!isEncoded && charset === '')
        return Buffer.from(text, /[^\x00-\xff]/.test(text) ? 'utf8' : 'latin1')
      const [, named, rest] = (position === 0 && /^([^']{0,60})'[^']{0,60}'(.*)$/s.exec(text)) || []
      charset = named ?? charset
      return percentDecoded(rest ?? text)
    })
  return decodeCut(Buffer.concat(bytes), charset)
}

function percentDecoded(text: string): Buffer {
  const latin1 = Buffer.from(text, /[^\x00-\xff]/.test(text) ? 'utf8' : 'latin1').toString('latin1')
  const decoded = latin1.replace(/%([0-9a-f]{2})/gi, (_written: string, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
