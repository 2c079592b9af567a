import Database from 'better-sqlite3'
import { ddlFor } from '../dialect/dialect.ts'
import type { MigrationRow } from '../tables.ts'
import { migrations } from './index.ts'
import { refuseUnreleased } from './migrate.ts'

/** How much of a strange schema is told. */
const toldOfStrange = 20
const ledger = 'migration'
const appliedSteps = `select "number", "name" from "${ledger}" limit 10000`

interface Part {
  readonly type: string
  readonly name: string
  readonly sql: string
}

/** What the schema of a database has that no step of ours made, or does not have as ours made it. */
export interface StrangeSchema {
  /** In words, at most twenty; none where all is ours. */
  readonly found: readonly string[]
  /** Whether a trigger or a view is among it, which runs with our statements. */
  readonly mayRun: boolean
  /** Whether steps were applied that this program does not know, so that not all can be judged. */
  readonly isNewer: boolean
}

/**
 * Compares what stands in the schema of a SQLite file with what the steps make that were applied to it. A trigger or a view of
 * somebody else would run with our statements, and an index or a column can hold expressions. Nothing of it is run here.
 * Where steps are unknown that a newer program applied, tables, columns and indexes may be theirs; triggers and views are nobody's.
 * @throws SqliteError when the file cannot be read; UnreleasedSchema when a development version made it
 */
export function findStrangeSchema(path: string): StrangeSchema {
  const connection = new Database(path, { readonly: true, fileMustExist: true })
  try {
    connection.pragma('trusted_schema = off')
    const present = partsOf(connection)
    const isOurLedger = present.some(({ type, name }) => type === 'table' && name === ledger)
    const applied = isOurLedger ? connection.prepare<[], MigrationRow>(appliedSteps).all() : []
    refuseUnreleased(applied)
    const numbers = applied.map(({ number }) => number)
    const isNewer = numbers.some(number => !migrations.some(step => step.number === number))
    const strange = compare(present, expectedOf(numbers), isNewer)
    const mayRun = strange.some(({ type }) => type === 'trigger' || type === 'view')
    return { found: strange.slice(0, toldOfStrange).map(({ said }) => said), mayRun, isNewer }
  } finally {
    connection.close()
  }
}

interface Strange {
  readonly type: string
  readonly said: string
}

function compare(present: readonly Part[], expected: readonly Part[], isNewer: boolean): Strange[] {
  const wanted = new Map(expected.map(part => [`${part.type} ${part.name}`, part]))
  const found: Strange[] = []
  for (const { type, name, sql } of present) {
    const ours = wanted.get(`${type} ${name}`)
    wanted.delete(`${type} ${name}`)
    const isPlain = type === 'index' || (type === 'table' && !/^\s*create\s+virtual\b/i.test(sql))
    if (ours?.sql === sql || (isNewer && isPlain)) continue
    const why = ours === undefined ? 'none of mailboxd' : 'not as mailboxd made it'
    found.push({ type, said: `the ${type} ${name} is ${why}` })
  }
  const missing = isNewer ? [] : [...wanted.values()]
  return [
    ...found,
    ...missing.map(({ type, name }) => ({ type: 'missing', said: `the ${type} ${name} is missing` })),
  ]
}

/** Returns the schema that the steps with these numbers make, by running them. */
function expectedOf(numbers: readonly number[]): Part[] {
  const truth = new Database(':memory:')
  try {
    for (const { number, sql } of migrations) if (numbers.includes(number)) truth.exec(ddlFor('sqlite', sql))
    return partsOf(truth)
  } finally {
    truth.close()
  }
}

/** More than ours can have is as strange as one too much. */
const mostParts = 2_000
const mostLetters = 20_000

function partsOf(connection: Database.Database): Part[] {
  const rows = connection
    .prepare<[number, number], Part>(
      `select "type", "name", coalesce(substr("sql", 1, ?), '') as "sql" from sqlite_schema
      where "name" not like 'sqlite!_stat_' escape '!' or "type" != 'table' limit ?`,
    )
    .all(mostLetters, mostParts)
  // ALTER TABLE and reformatted steps differ in white space alone.
  return rows.map(({ type, name, sql }) => ({
    type: String(type),
    name: String(name),
    sql: String(sql)
      .replace(/\s+/g, ' ')
      .replace(/ ?([(),]) ?/g, '$1'),
  }))
}
