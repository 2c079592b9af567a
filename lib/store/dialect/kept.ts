import type { Compilable, CompiledQuery } from 'kysely'
import { type Db, type DialectName, dialectOf, type WriteDb } from './dialect.ts'

/** What a statement may be given: what a column of ours holds. */
export type Value = string | number | Buffer | null

/** The values that each call gives a kept statement, by their names. */
export type Values = Readonly<Record<string, Value>>

/** Runs composed statements past kysely, whose work for a connection costs as much as some of them do. */
export interface Direct {
  readonly dialect: DialectName
  rows(sql: string, values: readonly unknown[]): unknown[] | Promise<unknown[]>
  /** Gives how many rows were changed. */
  change(sql: string, values: readonly unknown[]): number | Promise<number>
}
const directs = new WeakMap<Db, Direct>()

/** Has the kept statements on `db` run by `direct`. */
export function runDirectly(db: Db, direct: Direct): void {
  directs.set(db, direct)
}

/** Stands in a statement where each call puts the value of this name, of the values that it is given or of one of its rows. */
class Place {
  readonly name: string
  readonly row: number | undefined
  constructor(name: string, row?: number) {
    this.name = name
    this.row = row
  }
}

/** Gives a place for every name that a statement asks for; kysely takes it for a value. */
const placesIn = (row?: number) => new Proxy({}, { get: (_target, name) => new Place(String(name), row) })
const places = placesIn()

interface Kept {
  readonly query: CompiledQuery<unknown>
  /** For each parameter of the statement, in their order: where its value comes from, or undefined where it is always the same. */
  readonly places: readonly (Place | undefined)[]
}

/** Composes a statement at the first call on each kind of database. */
function composedOnce<Handle extends Db, Given extends Values>(
  build: (db: Handle, given: Given) => Compilable<unknown>,
): (db: Handle) => Kept {
  const kept = new Map<DialectName, Kept>()
  return db => {
    const dialect = directs.get(db)?.dialect ?? dialectOf(db)
    let known = kept.get(dialect)
    if (!known) {
      const query = build(db, places as Given).compile()
      known = { query, places: query.parameters.map(one => (one instanceof Place ? one : undefined)) }
      kept.set(dialect, known)
    }
    return known
  }
}

/** What a statement takes beside single values: many rows of one kind, or lists of values. */
type Rows = readonly (Values | List)[]

/** Without an iterator, and of its length from the start: each statement passes here. */
function valuesOf({ query: { parameters }, places }: Kept, given: Values, rows: Rows = []): unknown[] {
  const values = new Array<unknown>(places.length)
  for (let index = 0; index < places.length; index++) {
    const place = places[index]
    if (place === undefined) values[index] = parameters[index]
    else values[index] = ((place.row === undefined ? given : rows[place.row]) as Values)[place.name]
  }
  return values
}

/**
 * A query that most requests make, composed once: composing costs as much as SQLite needs to answer it.
 * @param build composes it with the names of the values that each call gives
 */
export function keptRows<Given extends Values, Row>(
  build: (db: Db, given: Given) => Compilable<Row>,
): (db: Db, given: Given) => Promise<Row[]> {
  const keptOn = composedOnce(build)
  return async (db, given) => rowsOf<Row>(db, keptOn(db), given)
}

/** The same for one row. */
export function keptRow<Given extends Values, Row>(
  build: (db: Db, given: Given) => Compilable<Row>,
): (db: Db, given: Given) => Promise<Row | undefined> {
  const keptOn = composedOnce(build)
  return async (db, given) => (await rowsOf<Row>(db, keptOn(db), given))[0]
}

function rowsOf<Row>(db: Db, kept: Kept, given: Values, rows?: Rows): Row[] | Promise<Row[]> {
  const values = valuesOf(kept, given, rows)
  const direct = directs.get(db)
  if (direct) return direct.rows(kept.query.sql, values) as Row[] | Promise<Row[]>
  return db.executeQuery({ ...kept.query, parameters: values }).then(({ rows }) => rows as Row[])
}

/**
 * A change that most requests or calls make, composed once; gives how many rows it changed.
 * @param build composes it with the names of the values that each call gives
 */
export function keptChange<Given extends Values>(
  build: (db: WriteDb, given: Given) => Compilable<unknown>,
): (db: WriteDb, given: Given) => Promise<number> {
  const keptOn = composedOnce(build)
  return async (db, given) => {
    const kept = keptOn(db)
    return changeOf(db, kept, valuesOf(kept, given))
  }
}

async function changeOf(db: WriteDb, { query }: Kept, parameters: readonly unknown[]): Promise<number> {
  const direct = directs.get(db)
  if (direct) return direct.change(query.sql, parameters)
  const { numAffectedRows } = await db.executeQuery({ ...query, parameters })
  return Number(numAffectedRows ?? 0)
}

/** What takes many rows of one kind, always so many, and values beside them. */
type OfRows<Result> = (db: WriteDb, rows: readonly Values[], given?: Values) => Promise<Result>

/** The same for a change that takes `count` rows. */
export function keptChangeOfRows(
  count: number,
  build: (db: WriteDb, rows: readonly Values[], given: Values) => Compilable<unknown>,
): OfRows<number> {
  const keptOn = composedOnce((db: WriteDb, given: Values) => build(db, rowsOfPlaces(count), given))
  return async (db, rows, given = {}) => {
    const kept = keptOn(db)
    return changeOf(db, kept, valuesOf(kept, given, rows))
  }
}

/** The same for one that gives rows back. */
export function keptReturningOfRows<Row>(
  count: number,
  build: (db: WriteDb, rows: readonly Values[]) => Compilable<Row>,
): OfRows<Row[]> {
  const keptOn = composedOnce((db: WriteDb) => build(db, rowsOfPlaces(count)))
  return async (db, rows, given = {}) => rowsOf<Row>(db, keptOn(db), given, rows)
}

function rowsOfPlaces(count: number): Values[] {
  return Array.from({ length: count }, (_, row) => placesIn(row) as Values)
}

/** A change that gives a row back, such as what a counter comes to. */
export function keptReturning<Given extends Values, Row>(
  build: (db: WriteDb, given: Given) => Compilable<Row>,
): (db: WriteDb, given: Given) => Promise<Row | undefined> {
  const keptOn = composedOnce(build)
  return async (db, given) => (await rowsOf<Row>(db, keptOn(db), given))[0]
}

type List = readonly string[]
/** The lists of each call come last; for each of their lengths the statement is composed once, see `padded`. */
type OfLists<Handle extends Db, Given extends Values, Result> = (
  db: Handle,
  given: Given,
  ...lists: List[]
) => Promise<Result>

/**
 * A query with lists of values (`in (…)`), which must not mind that a value stands in one twice; nothing where one is empty.
 * @param build composes it with the names of the values, and of those in the lists
 */
export function keptRowsOf<Given extends Values, Row>(
  build: (db: Db, given: Given, ...lists: List[]) => Compilable<Row>,
): OfLists<Db, Given, Row[]> {
  return composedForLists(build, (kept, db, given, lists) => rowsOf<Row>(db, kept, given, lists), [])
}

/** The same for a change that gives rows back. */
export function keptReturningRowsOf<Given extends Values, Row>(
  build: (db: WriteDb, given: Given, ...lists: List[]) => Compilable<Row>,
): OfLists<WriteDb, Given, Row[]> {
  return composedForLists(build, (kept, db, given, lists) => rowsOf<Row>(db, kept, given, lists), [])
}

function composedForLists<Handle extends Db, Given extends Values, Result>(
  build: (db: Handle, given: Given, ...lists: List[]) => Compilable<unknown>,
  run: (kept: Kept, db: Handle, given: Values, lists: Rows) => Result | Promise<Result>,
  none: Result,
): OfLists<Handle, Given, Result> {
  const kept = new Map<string, (db: Handle) => Kept>()
  return async (db, given, ...lists) => {
    if (lists.some(list => list.length === 0)) return none
    const all = lists.map(padded)
    const lengths = all.map(list => list.length).join()
    let keptOn = kept.get(lengths)
    if (!keptOn) {
      const named = all.map((list, row) => list.map((_, index) => new Place(String(index), row)))
      keptOn = composedOnce((on: Handle, names: Given) => build(on, names, ...(named as unknown as List[])))
      kept.set(lengths, keptOn)
    }
    return run(keptOn(db), db, given, all)
  }
}

/** The list, its last value repeated until their number is a power of two: lists of all lengths make few statements. */
function padded(list: List): List {
  const length = 2 ** Math.ceil(Math.log2(list.length))
  return length === list.length ? list : [...list, ...Array(length - list.length).fill(list.at(-1))]
}

/**
 * Compiled statements kept for each connection; the first one that was kept makes room for a new one. Most of the product's
 * are always the same text, but filters and lists of values make many texts of one.
 */
const statementsKept = 500

/**
 * kysely prepares a statement for every query; compiling costs SQLite more than running it (measured: 65 µs a
 * select by key against 11 µs). Each gives all its rows at once: one that was iterated could not be run again meanwhile.
 */
export function keepPrepared<Statement>(prepare: (sql: string) => Statement): (sql: string) => Statement {
  const kept = new Map<string, Statement>()
  return sql => {
    const known = kept.get(sql)
    if (known) return known
    const statement = prepare(sql)
    if (kept.size >= statementsKept) kept.delete(kept.keys().next().value!)
    kept.set(sql, statement)
    return statement
  }
}
