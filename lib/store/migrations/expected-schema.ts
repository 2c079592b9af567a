import Database from 'better-sqlite3'
import { ddlFor } from '../dialect/dialect.ts'
import { migrations } from './index.ts'
import { ledgerDdl, type Migration } from './migration.ts'

/** How much of a strange schema is told. */
const toldOfStrange = 20
/** What comes from the steps that are applied without a number: before the first of them. */
const ledger = 'migration'
/**
 * In the order in which they were applied, on which the order of a table's columns depends: a step may come later than one with a
 * higher number. Those of one start share the instant.
 */
const appliedNumbers = `select "number" from "${ledger}" order by "appliedAt", "number" limit 10000`

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
 * @throws SqliteError when the file can't be read
 */
export function findStrangeSchema(path: string): StrangeSchema {
  const connection = new Database(path, { readonly: true, fileMustExist: true })
  try {
    connection.pragma('trusted_schema = off')
    const present = partsOf(connection)
    const isOurLedger = present.some(({ type, name }) => type === 'table' && name === ledger)
    const numbers = isOurLedger ? connection.prepare<[], unknown>(appliedNumbers).pluck().all() : []
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

/** What the steps with these numbers make. A ledger whose order can't be (the clock was wrong at one of them) gets that of the numbers. */
function expectedOf(numbers: readonly unknown[]): Part[] {
  const applied = numbers.flatMap(number => migrations.filter(step => step.number === number))
  try {
    return madeBy(applied)
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    return madeBy(applied.toSorted((one, other) => one.number - other.number))
  }
}

/** What these steps make in this order, by making it. */
function madeBy(steps: readonly Migration[]): Part[] {
  const truth = new Database(':memory:')
  try {
    truth.exec(ledgerDdl)
    for (const { sql } of steps) truth.exec(ddlFor('sqlite', sql))
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
