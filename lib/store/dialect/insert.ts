import { type InsertQueryBuilder, type InsertResult, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { dialectOf, together, type WriteDb } from './dialect.ts'
import { leaveToInsert } from './left-rows.ts'
import { type Prepared, prepared, type Values } from './prepared.ts'

/** Inserts whole rows of one kind; gives how many (0 where the row was there and stays). */
type Insert = (db: WriteDb, row: Values) => Promise<number>

/** For each way to meet a row that is there, one statement for each table. */
type Kept = Map<keyof Tables, Insert>
const inserted: Kept = new Map()
const insertedOnce: Kept = new Map()
const put: Kept = new Map()

type Builder = InsertQueryBuilder<Tables, keyof Tables, InsertResult>

/**
 * The statement is composed once: composing costs kysely more than SQLite takes to run it (measured: 34 µs an insert,
 * 12 µs this way).
 */
function insert<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  row: Tables[Name],
  kept: Kept,
  meet: (builder: Builder, columns: readonly string[]) => Builder,
): Promise<number> {
  let known = kept.get(table)
  if (!known) {
    const columns = Object.keys(row)
    known = prepared((on, given: Values) => {
      const values = Object.fromEntries(columns.map(column => [column, given[column]]))
      return meet(on.insertInto(table).values(values as never) as unknown as Builder, columns)
    }).change
    kept.set(table, known)
  }
  return known(db, row as unknown as Values)
}

/** Inserts one whole row. */
export async function insertRow<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  row: Tables[Name],
): Promise<void> {
  if (leaveToInsert(db, table, [row])) return
  await insert(db, table, row, inserted, builder => builder)
}

/** The most rows that one statement inserts. */
const rowsAtOnce = 64
/** On a server each statement is a round trip: what is left of few rows is one statement, of whatever length. */
const rowsLeft = 16

/** Inserts rows of one kind; gives how many. */
type InsertSeveral = Prepared<Values, unknown, readonly Values[]>['change']
const severalInserted = new Map<string, InsertSeveral>()

/** How rows that are there are met; each way has a name. */
interface Meeting {
  readonly name: string
  meet(builder: Builder): Builder
}

/** The statement for rows of one kind. */
function insertSeveral(
  table: keyof Tables,
  columns: readonly string[],
  { name: kind, meet }: Meeting,
): InsertSeveral {
  const name = `${table} ${kind}`
  const known = severalInserted.get(name)
  if (known) return known
  const made = prepared((on, _given, rows: readonly Values[]) => {
    const values = rows.map(row => rowOf(columns, row))
    return meet(on.insertInto(table).values(values as never) as unknown as Builder)
  }).change
  severalInserted.set(name, made)
  return made
}

const rowOf = (columns: readonly string[], row: Values) =>
  Object.fromEntries(columns.map(column => [column, row[column]]))

/**
 * Inserts whole rows in few statements: 64 at once, then 32, and so on, so that few are composed.
 * @param key unless there is one with the same key; without it every row must be new
 */
export async function insertRows<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
  key?: readonly (keyof Tables[Name] & string)[],
): Promise<void> {
  if (!key && leaveToInsert(db, table, rows)) return
  const meet = (builder: Builder) =>
    key ? builder.onConflict(conflict => conflict.columns(key as never).doNothing()) : builder
  await insertMany(db, table, rows, { name: String(key ?? ''), meet })
}

/**
 * Inserts rows, each with a key of its own, as `insertRows` does; where one with this key is there it is changed.
 * @param changes what each column becomes, of `<table>.<column>` and `excluded.<column>`; always the same for a table
 */
export async function addRowsTo<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
  key: readonly (keyof Tables[Name] & string)[],
  changes: Partial<Readonly<Record<keyof Tables[Name], RawBuilder<unknown>>>>,
): Promise<void> {
  const meet = (builder: Builder) =>
    builder.onConflict(conflict => conflict.columns(key as never).doUpdateSet(changes as never))
  await insertMany(db, table, rows, { name: 'added', meet })
}

async function insertMany<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
  meeting: Meeting,
): Promise<void> {
  if (rows.length === 0) return
  const columns = Object.keys(rows[0]!)
  const isServed = dialectOf(db) === 'postgres'
  const asked: Promise<number>[] = []
  for (let at = 0, count = rowsAtOnce; at < rows.length; at += count) {
    const left = rows.length - at
    while (count > left) count = left <= rowsLeft && isServed ? left : count / 2
    const some = at === 0 && count === rows.length ? rows : rows.slice(at, at + count)
    asked.push(insertSeveral(table, columns, meeting)(db, {}, some as unknown as Values[]))
  }
  await (asked.length === 1 ? asked[0] : together(asked))
}

/** Inserts a row unless there is one with the same `key`; gives whether there was none. */
export async function insertRowOnce<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  row: Tables[Name],
  key: readonly (keyof Tables[Name] & string)[],
): Promise<boolean> {
  const count = await insert(db, table, row, insertedOnce, builder =>
    builder.onConflict(conflict => conflict.columns(key as never).doNothing()),
  )
  return count > 0
}

/** Inserts a row, or puts it into the place of the one with the same `key`. */
export async function putRow<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  row: Tables[Name],
  key: readonly (keyof Tables[Name] & string)[],
): Promise<void> {
  await insert(db, table, row, put, (builder, columns) =>
    builder.onConflict(conflict =>
      conflict.columns(key as never).doUpdateSet(eb => {
        const others = columns.filter(column => !key.includes(column as never))
        return Object.fromEntries(
          others.map(column => [column, eb.ref(`excluded.${column}` as never)]),
        ) as never
      }),
    ),
  )
}

type Returning = Prepared<Values, unknown, readonly Values[]>['rows']
const added = new Map<keyof Tables, Returning>()

/** Inserts rows, or adds their number in `column` to that of those with the same `key`; gives them as they are then. */
export async function addToRows<Name extends 'usage'>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
  key: readonly (keyof Tables[Name] & string)[],
  column: keyof Tables[Name] & string,
): Promise<Tables[Name][]> {
  const columns = Object.keys(rows[0]!)
  const known =
    added.get(table) ??
    prepared((on, _given, places: readonly Values[]) =>
      on
        .insertInto(table)
        .values(places.map(row => rowOf(columns, row)) as never)
        .onConflict(conflict =>
          conflict.columns(key as never).doUpdateSet({
            [column]: sql`${sql.ref(`${table}.${column}`)} + ${sql.ref(`excluded.${column}`)}`,
          } as never),
        )
        .returningAll(),
    ).rows
  added.set(table, known)
  return (await known(db, {}, rows as unknown as readonly Values[])) as Tables[Name][]
}

const inserting = new Map<keyof Tables, Returning>()

/** Inserts those of these rows that are not there by their `key`; gives them. */
export async function insertMissingRows<Name extends 'contact'>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
  key: readonly (keyof Tables[Name] & string)[],
): Promise<Tables[Name][]> {
  if (rows.length === 0) return []
  const columns = Object.keys(rows[0]!)
  const known =
    inserting.get(table) ??
    prepared((on, _given, places: readonly Values[]) =>
      on
        .insertInto(table)
        .values(places.map(row => rowOf(columns, row)) as never)
        .onConflict(conflict => conflict.columns(key as never).doNothing())
        .returningAll(),
    ).rows
  inserting.set(table, known)
  return (await known(db, {}, rows as unknown as readonly Values[])) as Tables[Name][]
}

/**
 * Composes the insert of a row where a condition holds, in the place of one with the same `key` of which `replaces` is so.
 * @param values of the columns; a number as it must be cast
 */
export function insertWhere(
  db: WriteDb,
  table: keyof Tables,
  values: Readonly<Record<string, unknown>>,
  condition: RawBuilder<unknown>,
  { key, replaces }: { readonly key: readonly string[]; readonly replaces: RawBuilder<unknown> },
) {
  const columns = Object.keys(values)
  const refs = (names: readonly string[]) => sql.join(names.map(name => sql.ref(name)))
  const changes = columns
    .filter(column => !key.includes(column))
    .map(column => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  const statement = sql`insert into ${sql.table(table)} (${refs(columns)}) select ${sql.join(Object.values(values))}
    where ${condition} on conflict (${refs(key)}) do update set ${sql.join(changes)} where ${replaces}`
  return { compile: () => statement.compile(db) }
}

const changed = new Map<string, (db: WriteDb, values: Values) => Promise<number>>()

/** Changes some columns of the row with this id; gives how many rows there are. */
export async function changeRow<Name extends 'delivery' | 'inbox' | 'message'>(
  db: WriteDb,
  table: Name,
  id: string,
  changes: Partial<Tables[Name]>,
): Promise<number> {
  const columns = Object.keys(changes)
  const name = `${table}.${columns.join('.')}`
  let known = changed.get(name)
  if (!known) {
    known = prepared((on, given: Values) =>
      on
        .updateTable(table as 'delivery')
        .set(Object.fromEntries(columns.map(column => [column, given[column]])) as never)
        .where('id', '=', given.id as string),
    ).change
    changed.set(name, known)
  }
  return known(db, { ...(changes as unknown as Values), id })
}
