import { sql } from 'kysely'
import { ClockApart, SchemaFault, StorageUnreachable } from '../../base/faults.ts'
import { aheadMs, type Clock, nodeClockMs } from '../../base/time.ts'

import type { Db } from '../dialect/dialect.ts'

/** Bytes of a database on a PostgreSQL server. */
export async function findServerSize(db: Db): Promise<number> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as "size"`.execute(
    db,
  )
  return rows[0]!.size
}

/** Asks a server for its time, in milliseconds since 1970. */
export const askTime = 'select extract(epoch from clock_timestamp()) * 1000 as "clockMs"'

/**
 * By the clock of a machine its processes date and find due what other nodes date and find due, too.
 * @param askedMs when the server was asked for its time, by the clock that only goes forward
 * @throws StorageUnreachable where it is not that of the server
 */
export function requireSameTime(clock: Clock, askedMs: number, theirMs: number): void {
  const ahead = aheadMs(clock, askedMs, theirMs)
  if (Math.abs(ahead) > nodeClockMs) throw new StorageUnreachable(new ClockApart(ahead))
}

/** The same for who holds nothing there. */
export async function requireTime(db: Db, clock: Clock): Promise<void> {
  const askedMs = clock.monotonicMs()
  const { rows } = await sql.raw<{ clockMs: number }>(askTime).execute(db)
  requireSameTime(clock, askedMs, rows[0]!.clockMs)
}

/** How a database keeps text. */
export interface Encoded {
  readonly encoding: string
  /** What makes one beside it that takes every letter, for the same user. */
  readonly utf8Paste: string
}

async function findEncoding(db: Db): Promise<Encoded> {
  const { rows } = await sql<{ encoding: string; user: string; free: string }>`select
    current_setting('server_encoding') as "encoding", quote_ident(current_user) as "user", quote_ident((
      select "free" from generate_series(1, 1000) as "at", lateral (
        select left(current_database(), 50) || '_utf8' || case when "at" = 1 then '' else '_' || "at" end as "free"
      ) as "name"
      where "free" not in (select datname from pg_database) order by "at" limit 1)) as "free"`.execute(db)
  const { encoding, user, free } = rows[0]!
  return {
    encoding,
    utf8Paste: `create database ${free} encoding 'UTF8' template template0 owner ${user}`,
  }
}

/** @throws SchemaFault where a database on a server does not take every letter, and mail with others would be put off for good */
export async function requireUtf8(db: Db): Promise<void> {
  const { encoding, utf8Paste } = await findEncoding(db)
  if (encoding === 'UTF8') return
  throw new SchemaFault(
    `the database is in ${encoding}, and mail has every letter: make one in UTF-8 (${utf8Paste}) and name that; rows that are here go there with mailboxctl migrate --to`,
  )
}

/** insufficient_privilege, and that the user may use no schema that it looks in */
const forbiddenCodes = ['42501', '3F000']

/** What is told where the user of a server may not do what was asked: a SchemaFault; every other error as it is. */
export async function toldForbidden(db: Db, error: unknown): Promise<unknown> {
  if (!(error instanceof Error && 'code' in error && forbiddenCodes.includes(String(error.code))))
    return error
  const { rows } = await sql<{
    user: string
    database: string
    schema: string | null
    path: string
    mayCreate: boolean
    isThere: boolean
  }>`select
    quote_ident(current_user) as "user", quote_ident(current_database()) as "database",
    current_schema() as "schema", current_setting('search_path') as "path",
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
    exists (select from pg_namespace where nspname in (
      select replace(trim(both '"' from trim(named)), '$user', current_user)
      from unnest(string_to_array(current_setting('search_path'), ',')) named)) as "isThere"`.execute(db)
  const { user, database, schema, path, mayCreate, isThere } = rows[0]!
  if (schema === null && !isThere) {
    return new SchemaFault(
      `no schema that search_path names (${path}) is there for the user ${user}: alter role ${user} in database ${database} set search_path = public, or the schema that the tables are in`,
      { cause: error },
    )
  }
  return new SchemaFault(
    mayCreate
      ? `the user ${user} may not use what is in the database ${database} (${error.message}): let it own all tables there`
      : `the user ${user} may not make tables in the database ${database} (${error.message}): alter database ${database} owner to ${user}`,
    { cause: error },
  )
}

/** Whether sessions take no writes without a word of their own. */
interface ReadOnly {
  readonly isOn: boolean
  /** What sets it back there. */
  readonly resetPaste: string
}

const readOnly = sql<ReadOnly>`(select json_build_object(
  'isOn', "reset_val" = 'on', 'resetPaste', case "source"
    when 'database' then 'alter database ' || quote_ident(current_database())
    when 'user' then 'alter role ' || quote_ident(current_user)
    when 'database user' then 'alter role ' || quote_ident(current_user) || ' in database ' || quote_ident(current_database())
    else 'alter system' end || ' reset ' || "name")
  from pg_settings where "name" = 'default_transaction_read_only')`

/** What a PostgreSQL server is and does, in its own words. */
export interface ServerState extends Encoded {
  /** 150018 is 15.18. */
  readonly version: number
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly maxConnections: number
  readonly readOnly: ReadOnly
  /** How far its clock is ahead of the one given, in milliseconds. */
  readonly aheadMs: number
}

export async function findServerState(db: Db, clock: Clock): Promise<ServerState> {
  const askedMs = clock.monotonicMs()
  const { rows } = await sql<Omit<ServerState, 'aheadMs' | keyof Encoded> & { clockMs: number }>`select
    current_setting('server_version_num')::int as "version",
    current_setting('fsync') as "fsync",
    current_setting('full_page_writes') as "fullPageWrites",
    current_setting('synchronous_commit') as "synchronousCommit",
    current_setting('max_connections')::int as "maxConnections",
    ${readOnly} as "readOnly",
    extract(epoch from clock_timestamp()) * 1000 as "clockMs"`.execute(db)
  const { clockMs, ...state } = rows[0]!
  const ahead = aheadMs(clock, askedMs, clockMs)
  return { ...state, ...(await findEncoding(db)), aheadMs: ahead }
}

/** A standby that follows the server, or another program that reads its log. */
export interface Follower {
  /** Null: this user may not see it. */
  readonly name: string | null
  readonly isSynchronous: boolean
  /** Bytes of the log that it has not flushed yet. */
  readonly behindBytes: number
}

export interface Replication {
  /** Whom commits wait for, as the server is set; empty: nobody. */
  readonly synchronousNames: string
  /** What a commit of ours waits for. */
  readonly synchronousCommit: string
  readonly standbys: readonly Follower[]
}

/** Returns what follows the server. */
export async function findReplication(db: Db): Promise<Replication> {
  const { rows: settings } = await sql<Omit<Replication, 'standbys'>>`select
    current_setting('synchronous_standby_names') as "synchronousNames",
    current_setting('synchronous_commit') as "synchronousCommit"`.execute(db)
  const { rows: standbys } = await sql<Follower>`select
    case when "state" is null then null else "application_name" end as "name",
    coalesce("sync_state" in ('sync', 'quorum'), false) as "isSynchronous",
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), "flush_lsn"), 0)::bigint as "behindBytes"
    from pg_stat_replication where "state" is distinct from 'backup' order by "application_name"`.execute(db)
  return { ...settings[0]!, standbys }
}

/** Returns how many connections the server lets this user have to this database. */
export async function findRoom(db: Db): Promise<number> {
  const { rows } = await sql<{ room: number }>`select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
      (select nullif("datconnlimit", -1) from pg_database where "datname" = current_database()),
      (select nullif("rolconnlimit", -1) from pg_roles where "rolname" = current_user)
    ) as "room"`.execute(db)
  return rows[0]!.room
}
