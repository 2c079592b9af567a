import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'
import { printableJson, printableLine } from './text.ts'

/** How entries are written: plain data, so that threads write theirs in the same way. */
export interface LogStyle {
  /** For people on a terminal, or one JSON object a line. */
  readonly isText: boolean
  /** Whether the level stands before each line as the journal reads it (sd-daemon(3)). */
  readonly hasPriority: boolean
}

export const jsonStyle: LogStyle = { isText: false, hasPriority: false }

const standardError = 2

/**
 * How this process writes to standard error: text on a terminal and JSON elsewhere, unless the setting says which.
 * @param journalStream JOURNAL_STREAM of the environment: device and inode of the stream that leads to the journal. Where
 *   standard error is another one, it does not
 */
export function logStyle(format: 'auto' | 'json' | 'text', journalStream: string | undefined): LogStyle {
  return {
    isText: format === 'text' || (format === 'auto' && isatty(standardError)),
    hasPriority: isJournal(journalStream),
  }
}

function isJournal(journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false
  try {
    const { dev, ino } = fstatSync(standardError, { bigint: true })
    return journalStream === `${dev}:${ino}`
  } catch {
    return false
  }
}

/** Levels as syslog numbers them. */
const priorities: Readonly<Record<string, number>> = {
  trace: 7,
  debug: 7,
  info: 6,
  warn: 4,
  error: 3,
  fatal: 2,
}

/** The line that stands in the log, of the one that pino made. */
export function styledLine(line: string, { isText, hasPriority }: LogStyle): string {
  const level = /^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info'
  // JSON escapes C0 alone, and a log is looked at on a terminal.
  const styled = isText ? textOf(line) : printableJson(line)
  return hasPriority ? withPriority(styled, level) : styled
}

/** What is said beside the log of why a process ends, so that who looks for errors in the journal finds it. */
export function faultText(text: string, { hasPriority }: Pick<LogStyle, 'hasPriority'>): string {
  return hasPriority ? withPriority(text, 'error') : text
}

function withPriority(text: string, level: string): string {
  return `${text.trimEnd().replaceAll(/^/gm, `<${priorities[level] ?? 6}>`)}\n`
}

interface Entry {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string }
}

/** `07:41:08.123 warn  the message  name=value`, and the stack of an error in the lines after it. */
function textOf(line: string): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(line) as Entry
  const named = Object.entries(fields).map(([name, value]) => `${name}=${inText(value)}`)
  const fault = err && `${err.type ?? 'Error'}: ${err.message ?? ''}`
  const first = [`${time.slice(11, 23)} ${level.padEnd(5)} ${msg}`, ...named, ...(fault ? [fault] : [])]
  const stack = err?.stack?.split('\n').slice(1) ?? []
  return [first.join('  '), ...stack].map(one => `${printableLine(one)}\n`).join('')
}

function inText(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=[\]{}]+$/.test(value)
  return isPlain ? value : JSON.stringify(value)
}
