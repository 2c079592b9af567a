import type { Compilable, CompiledQuery } from 'kysely'
import { type Db, type DialectName, dialectOf, type WriteDb } from './dialect.ts'

/** What a statement may be given: what a column of ours holds. */
export type Value = string | number | Buffer | null

/** The values that each call gives a prepared statement, by their names. */
export type Values = Readonly<Record<string, Value>>

/** Runs composed statements past kysely, whose work for a connection costs as much as some of them do. */
export interface Direct {
  readonly dialect: DialectName
  rows(sql: string, values: readonly unknown[]): unknown[] | Promise<unknown[]>
  /** Gives how many rows were changed. */
  change(sql: string, values: readonly unknown[]): number | Promise<number>
}
const directs = new WeakMap<Db, Direct>()

/** Has the prepared statements on `db` run by `direct`. */
export function runDirectly(db: Db, direct: Direct): void {
  directs.set(db, direct)
}

/** Stands in a statement for a value that each call gives: one of `given`, or one of an item of a list. */
class Place {
  /** Undefined for an item that is a value itself. */
  readonly name: string | undefined
  readonly list: number
  readonly index: number

  constructor(name: string | undefined, list = -1, index = -1) {
    this.name = name
    this.list = list
    this.index = index
  }
}

/** Has a place for every name that a statement asks for; kysely takes it for a value. */
const placesIn = (list?: number, index?: number) =>
  new Proxy({}, { get: (_target, name) => new Place(String(name), list, index) }) as Values

interface Composed {
  readonly query: CompiledQuery<unknown>
  /** For each parameter of the statement, in their order: where its value comes from, or undefined where it is always the same. */
  readonly places: readonly (Place | undefined)[]
}

/** Values for `in (…)`, or rows of one kind. */
type List = readonly string[] | readonly Values[]

/** The ways to run a prepared statement. If one of the lists is empty, nothing is asked, and nothing found or changed. */
export interface Prepared<Given, Row, Each> {
  rows(db: Db, given: Given, ...lists: readonly Each[]): Promise<Row[]>
  /** Returns the first row. */
  row(db: Db, given: Given, ...lists: readonly Each[]): Promise<Row | undefined>
  /** Returns how many rows were changed. */
  change(db: WriteDb, given: Given, ...lists: readonly Each[]): Promise<number>
}

/**
 * A statement that is composed once for each kind of database, and for each number of items in its lists: composing costs as much as
 * SQLite needs to run it.
 * @param build composes it with the names of the values that each call gives. A value in a list of strings may stand there twice
 */
export function prepared<Given extends Values, Row>(
  build: (db: WriteDb, given: Given, ...lists: (readonly string[])[]) => Compilable<Row>,
): Prepared<Given, Row, readonly string[]>
export function prepared<Row>(
  build: (db: WriteDb, given: Values, rows: readonly Values[]) => Compilable<Row>,
): Prepared<Values, Row, readonly Values[]>
export function prepared<Row>(
  build: (db: WriteDb, given: Values, ...lists: never[]) => Compilable<Row>,
): Prepared<Values, Row, List> {
  const kept = new Map<string, Composed>()

  function composed(db: Db, lists: readonly List[]): Composed {
    const dialect = directs.get(db)?.dialect ?? dialectOf(db)
    const name = lists.length === 0 ? dialect : `${dialect} ${lists.map(list => list.length)}`
    let known = kept.get(name)
    if (!known) {
      const places = lists.map((list, at) =>
        list.map((item, index) =>
          typeof item === 'string' ? new Place(undefined, at, index) : placesIn(at, index),
        ),
      )
      const query = build(db as WriteDb, placesIn(), ...(places as never[])).compile()
      known = { query, places: query.parameters.map(one => (one instanceof Place ? one : undefined)) }
      kept.set(name, known)
    }
    return known
  }

  async function rows(db: Db, given: Values, ...lists: readonly List[]): Promise<Row[]> {
    if (lists.some(list => list.length === 0)) return []
    const all = lists.map(padded)
    const { query, places } = composed(db, all)
    const values = valuesOf(query, places, given, all)
    const direct = directs.get(db)
    if (direct) return direct.rows(query.sql, values) as Row[] | Promise<Row[]>
    return (await db.executeQuery({ ...query, parameters: values })).rows as Row[]
  }

  return {
    rows,
    async row(db, given, ...lists) {
      return (await rows(db, given, ...lists))[0]
    },
    async change(db, given, ...lists) {
      if (lists.some(list => list.length === 0)) return 0
      const all = lists.map(padded)
      const { query, places } = composed(db, all)
      const values = valuesOf(query, places, given, all)
      const direct = directs.get(db)
      if (direct) return direct.change(query.sql, values)
      const { numAffectedRows } = await db.executeQuery({ ...query, parameters: values })
      return Number(numAffectedRows ?? 0)
    },
  }
}

/** Without an iterator, and of its length from the start: each statement passes here. */
function valuesOf(
  { parameters }: CompiledQuery<unknown>,
  places: Composed['places'],
  given: Values,
  lists: readonly List[],
): unknown[] {
  const values = new Array<unknown>(places.length)
  for (let at = 0; at < places.length; at++) {
    const place = places[at]
    if (place === undefined) values[at] = parameters[at]
    else if (place.list < 0) values[at] = given[place.name!]
    else {
      const item = lists[place.list]![place.index]!
      values[at] = typeof item === 'string' ? item : item[place.name!]
    }
  }
  return values
}

/** Repeats the last value until their number is a power of two, so that lists of all lengths make few statements. Rows are left as they are. */
function padded(list: List): List {
  const last = list.at(-1)
  if (typeof last !== 'string') return list
  const length = 2 ** Math.ceil(Math.log2(list.length))
  return length === list.length
    ? list
    : [...(list as readonly string[]), ...Array(length - list.length).fill(last)]
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
