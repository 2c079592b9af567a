import { Kysely, type PostgresPool as KyselyPool, PostgresDialect } from 'kysely'
import type { WriteDb } from '../dialect/dialect.ts'
import { runDirectly } from '../dialect/kept.ts'
import type { Tables } from '../tables.ts'

export interface Answer {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: Record<string, unknown>[]
}

/**
 * Sends a statement at once, behind those that were sent and are not answered yet.
 * @param name under which the server keeps its plan on this connection
 */
export type Send = (text: string, values?: readonly unknown[], name?: string) => Promise<Answer>

/** A connection that is taken from a pool. */
export interface Client {
  readonly query: Send
  release(): void
}

/** One connection, with handles on it. */
export interface Connection {
  readonly db: WriteDb
  readonly send: Send
  /** Handles of which each stands for another write of the same transaction. */
  handles(count: number): readonly WriteDb[]
  release(): void
}

/** Kept statements that the server keeps as well, on each connection; what is composed anew each time is not among them. */
const namedStatements = 1000

let names = new Map<string, string>()
let generation = 0

/** The name of a kept statement, the same on all connections; undefined where there are too many. */
export function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namedStatements) return known
  const name = `kept_${generation}_${names.size}`
  names.set(text, name)
  return name
}

/** Whether a plan that the server kept is of tables as they were before another node changed the schema; none is used again then. */
export function isOfOldPlan(error: unknown): boolean {
  // "cached plan must not change result type" has no code of its own: feature_not_supported, which nothing else here gives.
  const isOld = error instanceof Error && 'code' in error && error.code === '0A000'
  if (isOld) {
    names = new Map()
    generation++
  }
  return isOld
}

/** A handle of which the kept statements are planned once for each connection, where what they ask allows it. */
export function handleOver(pool: KyselyPool, send: Send): WriteDb {
  const db: WriteDb = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  runDirectly(db, {
    dialect: 'postgres',
    rows: async (text, values) => (await send(text, values, nameOf(text))).rows,
    change: async (text, values) => (await send(text, values, nameOf(text))).rowCount ?? 0,
  })
  return db
}

/** Takes a connection, for a transaction or several. */
export async function takeConnection(connect: () => Promise<Client>): Promise<Connection> {
  const client = await connect()
  const { query } = client
  const one = { query: query as never, release() {} }
  const pool = { options: {}, connect: async () => one, end: async () => {} } as unknown as KyselyPool
  const handles = [handleOver(pool, query)]
  return {
    db: handles[0]!,
    send: query,
    handles(count) {
      while (handles.length < count) handles.push(handleOver(pool, query))
      return handles
    },
    release: () => client.release(),
  }
}
