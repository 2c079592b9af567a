import { Kysely, type PostgresPool as KyselyPool, PostgresDialect } from 'kysely'
import type { WriteDb } from '../dialect/dialect.ts'
import { runDirectly } from '../dialect/prepared.ts'
import type { Tables } from '../tables.ts'
import { hasCode } from './outage.ts'

export interface Answer {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: Record<string, unknown>[]
}

/**
 * Sends a statement immediately, behind those that were sent and have no answer yet.
 * @param name under which the server keeps its plan on this connection
 */
export type Send = (text: string, values?: readonly unknown[], name?: string) => Promise<Answer>

/** One connection. */
export interface Connection {
  /** Returns handles of which each is for another write of one transaction. */
  handles(count: number): readonly WriteDb[]
  readonly send: Send
  release(): void
}

/** How many prepared statements the server keeps as well, on each connection. */
const namedStatements = 1000

let names = new Map<string, string>()
let generation = 0

/** Returns the name of a prepared statement, the same on all connections; undefined if there are too many. */
function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namedStatements) return known
  const name = `kept_${generation}_${names.size}`
  names.set(text, name)
  return name
}

/** Returns whether a plan that the server kept is older than a change of the schema by another node; all plans are made again then. */
export function isOfOldPlan(error: unknown): boolean {
  // "cached plan must not change result type" has no code of its own: feature_not_supported, which nothing else here gives.
  const isOld = hasCode(error, '0A000')
  if (isOld) {
    names = new Map()
    generation++
  }
  return isOld
}

/** Returns a handle whose prepared statements are planned once for each connection. */
export function handleOver(pool: KyselyPool, send: Send): WriteDb {
  const db: WriteDb = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  runDirectly(db, {
    dialect: 'postgres',
    rows: async (text, values) => (await send(text, values, nameOf(text))).rows,
    change: async (text, values) => (await send(text, values, nameOf(text))).rowCount ?? 0,
  })
  return db
}
