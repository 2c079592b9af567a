import { BackupFault } from '../base/backup-fault.ts'
import { nameOf, Problem } from '../base/problem.ts'
import { SchemaFault } from '../base/schema-fault.ts'
import { ConfigFault, configFaultExitCode } from '../config/fault.ts'
import { SecretKeyFault } from '../core/app/secret-key.ts'

/** Rows as columns of text under their names. */
export function tableOf(rows: readonly object[], columns: readonly string[]): string {
  const cells = [
    columns,
    ...rows.map(row => columns.map(name => cellOf((row as Record<string, unknown>)[name]))),
  ]
  const widths = columns.map((_, index) => Math.max(...cells.map(row => row[index]!.length)))
  return cells
    .map(row =>
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One thing, a line for each of its properties. */
export function fieldsOf(row: object): string {
  const entries = Object.entries(row)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`).join('\n')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${inner}`)
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
      process.stdout.write(`${isJson ? JSON.stringify(value, undefined, 2) : text()}\n`)
    },
  }
}

/** The answer was given, and it is no. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed'
  readonly exitCode: number

  constructor(exitCode = 1) {
    super('the check failed')
    this.exitCode = exitCode
  }
}

/** Tells a failure on standard error and gives the exit code: 1 refused or answered with no, 78 configuration (EX_CONFIG), 70 a fault of ours. */
export function tellFailure(error: unknown, isJson: boolean): number {
  if (error instanceof CheckFailed) return error.exitCode
  if (error instanceof Problem) {
    const { message, more } = error
    const code = nameOf(error.code)
    process.stderr.write(
      isJson ? `${JSON.stringify({ error: code, message, ...more })}\n` : `${message} (${code})\n`,
    )
    return 1
  }
  if (error instanceof ConfigFault) {
    process.stderr.write(isJson ? `${JSON.stringify({ faults: error.faults })}\n` : `${error.message}\n`)
    return configFaultExitCode
  }
  if (error instanceof BackupFault || error instanceof SchemaFault) {
    process.stderr.write(isJson ? `${JSON.stringify({ error: error.message })}\n` : `${error.message}\n`)
    return 1
  }
  if (error instanceof SecretKeyFault) {
    process.stderr.write(`${error.message}\n`)
    return configFaultExitCode
  }
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  return 70
}
