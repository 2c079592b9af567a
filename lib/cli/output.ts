import {
  BackupFault,
  BlobsFault,
  isMachineFault,
  isStoragePassing,
  SchemaFault,
  StorageForbidden,
  tellSystemFault,
  UnreleasedSchema,
} from '../base/faults.ts'
import { nameOf, Problem } from '../base/problem.ts'
import { printable, printableLine } from '../base/text.ts'

import { ConfigFault, configFaultExitCode } from '../config/fault.ts'
import { SecretKeyFault } from '../core/app/secret-key.ts'
import { DatabaseMissing } from '../core/missing-database.ts'
import { BrokenOff } from './breakable.ts'
import { cutTo, displayWidth, domainOf, padTo } from './display-width.ts'
import { faultExitCode, heading, tableWidth, writeJson, writeText } from './terminal.ts'
import { inWordsOfOptions } from './words-of-options.ts'

/** A column is not made narrower than this to fit, and an address or a name not than that while others can. */
const narrowest = 8
const narrowName = 12
/** For an address with its domain there is as much as this. */
const widestDomain = 24
const between = '  '

/**
 * Rows as columns of text under their names, cut to fit: ids and instants are whole, for they are to be copied, and `--json` has all.
 * What does not fit by that is a list of properties for each row.
 * @param room how wide it may be, in columns of a terminal
 */
export function tableOf(
  rows: readonly object[],
  columns: readonly string[],
  room: number = tableWidth(process.stdout),
): string {
  const shown = room < wide ? withoutInstants(rows, columns, room) : columns
  if (shown !== columns) return tableOf(rows, shown, room)
  const cells = [
    columns,
    ...rows.map(row => columns.map(name => shortCellOf((row as Record<string, unknown>)[name]))),
  ]
  const widest = columns.map((_, index) => Math.max(...cells.map(row => displayWidth(row[index]!))))
  const domains = columns.map((_, index) =>
    Math.max(...cells.map(row => displayWidth(domainOf(row[index]!) ?? ''))),
  )
  const widths = fitting(widest, columns, domains, room)
  if (widthOf(widths) > room) return rows.map(row => fieldsOf(pick(row, columns))).join('\n\n')
  const [head, ...lines] = cells.map(row =>
    row
      .map((cell, index) => padTo(cutTo(cell, widths[index]!), widths[index]!))
      .join(between)
      .trimEnd(),
  )
  return [heading(head!), ...lines].join('\n')
}

/** On a terminal that is narrower, when a row was made gives way first: its id has that, too, and the words tell rows apart. */
const wide = 100

function withoutInstants(
  rows: readonly object[],
  columns: readonly string[],
  room: number,
): readonly string[] {
  const isMade = (name: string) => name === 'createdAt' || name === 'occurred_at'
  if (!columns.some(isMade) || !columns.some(name => /id$/i.test(name))) return columns
  const widths = columns.map(name =>
    Math.max(
      displayWidth(name),
      ...rows.map(row => displayWidth(shortCellOf((row as Record<string, unknown>)[name]))),
    ),
  )
  return widthOf(widths) > room ? columns.filter(name => !isMade(name)) : columns
}

const widthOf = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width + between.length, -between.length)

function pick(row: object, columns: readonly string[]): object {
  return Object.fromEntries(columns.map(name => [name, (row as Record<string, unknown>)[name]]))
}

/**
 * Addresses and names give way first, addresses down to their domains; then the widest of what is read. Ids and instants do not.
 * @param domains of each column the widest of its addresses' domains
 */
function fitting(
  widths: readonly number[],
  columns: readonly string[],
  domains: readonly number[],
  room: number,
): readonly number[] {
  // A clientId is whatever its owner likes.
  const isFixed = (name: string) => name === 'event' || /^(?!clientId$)(?:.*[_a-z])?(?:id|at)$/i.test(name)
  const isName = (name: string) => /addr|recipient|url|host|^(?:names|certificate)$/i.test(name)
  // One character of the local part, and the mark of what was cut.
  const leastOf = (index: number) => Math.max(narrowName, Math.min(widestDomain, 2 + domains[index]!))
  const named = narrow(widths, leastOf, index => isName(columns[index]!), room)
  const read = narrow(
    named,
    () => narrowest,
    index => !isFixed(columns[index]!) && !isName(columns[index]!),
    room,
  )
  return narrow(
    read,
    () => narrowest,
    index => !isFixed(columns[index]!),
    room,
  )
}

/** The widest of the columns that may give way until all fits, or none is wider than its least. */
function narrow(
  widths: readonly number[],
  leastOf: (index: number) => number,
  mayGive: (index: number) => boolean,
  room: number,
): readonly number[] {
  const fitted = [...widths]
  const excess = () => widthOf(fitted) - room
  for (let over = excess(); over > 0; over = excess()) {
    const free = fitted
      .map((_, index) => index)
      .filter(index => mayGive(index) && fitted[index]! > leastOf(index))
    if (free.length === 0) break
    const widest = free.reduce((one, other) => (fitted[other]! > fitted[one]! ? other : one))
    const least = leastOf(widest)
    const next = Math.max(least, ...free.filter(index => index !== widest).map(index => fitted[index]!))
    fitted[widest] = Math.max(
      least,
      Math.min(fitted[widest]! - 1, Math.max(fitted[widest]! - over, next - 1)),
    )
  }
  return fitted
}

/** In one line; instants to the minute, in UTC. */
function shortCellOf(value: unknown): string {
  const text = printableLine(cellOf(value).replaceAll(/\s+/g, ' '))
  const instant = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z$/.exec(text)
  return instant ? `${instant[1]} ${instant[2]}Z` : text
}

/** One thing, a line for each of its properties; a value of several lines is indented, so that none of it looks like another property. */
export function fieldsOf(row: object): string {
  const entries = Object.entries(row)
  const width = Math.max(...entries.map(([name]) => name.length))
  const indent = `\n${' '.repeat(width)}${between}`
  return entries
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}${between}${printable(cellOf(value)).replaceAll('\n', indent)}`,
    )
    .join('\n')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellOf).join(', ')
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${cellOf(inner)}`)
    .join(', ')
}

/** How commands speak: text for people, or one JSON value with `--json`. */
export interface Output {
  /** `value` with `--json`, else the text. */
  say(value: unknown, text: () => string): void
}

export function createOutput(isJson: boolean): Output {
  return {
    say(value, text) {
      if (isJson) writeJson('stdout', value, 2)
      else writeText('stdout', `${text()}\n`)
    },
  }
}

/** It was not done, and the message says why. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** What a shell says of who was ended by ^C. */
const interruptedExitCode = 130

/** The answer was given, and it is no. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed'
  readonly exitCode: number

  constructor(exitCode = 1) {
    super('the check failed')
    this.exitCode = exitCode
  }
}

/**
 * Tells a failure on standard error and gives the exit code: 1 refused or answered with no, 78 configuration (EX_CONFIG), 70 a fault of ours or of
 * the machine, 130 who was asked pressed ^C, 128 and the number of a signal that ended what leaves nothing. With `--json` each is `{error, message}`,
 * as the API's, and what more there is to it.
 */
export function tellFailure(error: unknown, isJson: boolean): number {
  if (error instanceof CheckFailed) return error.exitCode
  const say = (code: string, message: string, more: object = {}, text = message) =>
    isJson ? writeJson('stderr', { error: code, message, ...more }) : writeText('stderr', `${text}\n`)
  if (error instanceof Problem) {
    const { code, message, more } = inWordsOfOptions(error)
    say(nameOf(code), message, more, `${message} (${nameOf(code)})`)
    return 1
  }
  if (error instanceof ConfigFault) {
    say('wrong_configuration', error.message, { faults: error.faults })
    return configFaultExitCode
  }
  if (
    error instanceof SecretKeyFault ||
    error instanceof DatabaseMissing ||
    error instanceof UnreleasedSchema
  ) {
    say('wrong_configuration', error.message)
    return configFaultExitCode
  }
  if (error instanceof BrokenOff) {
    say('interrupted', error.message)
    return error.exitCode
  }
  if (error instanceof Error && error.name === 'AbortError') {
    say('interrupted', 'nothing was done', {}, '\nnothing was done')
    return interruptedExitCode
  }
  const refused =
    error instanceof BackupFault ||
    error instanceof SchemaFault ||
    isStoragePassing(error) ||
    error instanceof StorageForbidden ||
    error instanceof BlobsFault ||
    error instanceof Refused
      ? error.message
      : tellSystemFault(error)
  if (refused !== undefined) {
    const isMachine = isMachineFault(error instanceof BackupFault ? error.cause : error)
    say(isMachine ? 'machine_fault' : 'refused', refused)
    return isMachine ? faultExitCode : 1
  }
  say('internal_error', error instanceof Error ? error.message : String(error))
  return faultExitCode
}
