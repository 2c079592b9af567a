import { sql } from 'kysely'
import type { Db } from '../dialect/dialect.ts'

/** A standby that follows the server, or another who reads its log. */
export interface Standby {
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
  readonly standbys: readonly Standby[]
}

/** What follows the server. */
export async function findReplication(db: Db): Promise<Replication> {
  const { rows: settings } = await sql<Omit<Replication, 'standbys'>>`select
    current_setting('synchronous_standby_names') as "synchronousNames",
    current_setting('synchronous_commit') as "synchronousCommit"`.execute(db)
  const { rows: standbys } = await sql<Standby>`select
    case when "state" is null then null else "application_name" end as "name",
    coalesce("sync_state" in ('sync', 'quorum'), false) as "isSynchronous",
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), "flush_lsn"), 0)::bigint as "behindBytes"
    from pg_stat_replication where "state" is distinct from 'backup' order by "application_name"`.execute(db)
  return { ...settings[0]!, standbys }
}

/** How many connections the server lets this user have to this database. */
export async function findRoom(db: Db): Promise<number> {
  const { rows } = await sql<{ room: number }>`select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
      (select nullif("datconnlimit", -1) from pg_database where "datname" = current_database()),
      (select nullif("rolconnlimit", -1) from pg_roles where "rolname" = current_user)
    ) as "room"`.execute(db)
  return rows[0]!.room
}

/** What a node last said of itself, and the server's clock as that is read, in milliseconds. */
export interface NodeBeat {
  readonly id: string
  readonly beat: number
  readonly beatAt: string
  readonly serverMs: number
}

/** Of all nodes that should work. */
export async function findBeats(db: Db): Promise<NodeBeat[]> {
  const { rows } = await sql<NodeBeat>`select "id", "beat", "beatAt",
    (extract(epoch from clock_timestamp()) * 1000)::bigint as "serverMs"
    from "node" where "state" = 'up'`.execute(db)
  return rows
}
