import { sql } from 'kysely'
import { aheadMs, type Clock } from '../../base/clock.ts'
import type { Db } from '../dialect/dialect.ts'

/** Bytes of a database on a PostgreSQL server. */
export async function findServerSize(db: Db): Promise<number> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as "size"`.execute(
    db,
  )
  return rows[0]!.size
}

/** What a PostgreSQL server is and does, in its own words. */
export interface ServerState {
  /** 150018 is 15.18. */
  readonly version: number
  readonly encoding: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly maxConnections: number
  /** How far its clock is ahead of the one given, in milliseconds. */
  readonly aheadMs: number
}

export async function findServerState(db: Db, clock: Clock): Promise<ServerState> {
  const askedMs = clock.monotonicMs()
  const { rows } = await sql<Omit<ServerState, 'aheadMs'> & { clockMs: number }>`select
    current_setting('server_version_num')::int as "version",
    pg_encoding_to_char(encoding) as "encoding",
    current_setting('fsync') as "fsync",
    current_setting('full_page_writes') as "fullPageWrites",
    current_setting('synchronous_commit') as "synchronousCommit",
    current_setting('max_connections')::int as "maxConnections",
    extract(epoch from clock_timestamp()) * 1000 as "clockMs"
    from pg_database where datname = current_database()`.execute(db)
  const { clockMs, ...state } = rows[0]!
  return { ...state, aheadMs: aheadMs(clock, askedMs, clockMs) }
}
