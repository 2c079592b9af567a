import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { StorageUnreachable } from '../base/faults.ts'
import type { Db } from './dialect/dialect.ts'
import type { PostgresPool } from './postgres/pool.ts'

/** How often it is looked whether the server's disk has room, and while it has none: before what is written in its place could be taken for the end of it. */
const serverRoomMs = 10_000
const serverShortMs = 2_000

/** Somebody who looks whether a server has room, until they are stopped. */
export interface RoomWatch {
  stop(): Promise<void>
}

/**
 * Looks again and again whether the disk of a server has room: one that does nothing would not find out, and a row may be written over in its
 * place while there is no room for another. What the server says then is told by the pool, as of every other statement.
 */
export function watchRoom(pool: Pick<PostgresPool, 'reading'>): RoomWatch {
  const stopping = new AbortController()
  const { signal } = stopping

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      const isShort = await pool.reading(requireRoom).then(
        () => false,
        error => {
          if (error instanceof StorageUnreachable) return true
          throw error
        },
      )
      const ms = isShort ? serverShortMs : serverRoomMs
      await pause(ms, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const following = follow().catch(() => {})
  return {
    async stop() {
      stopping.abort()
      await following
    },
  }
}

/**
 * Sorts more than the memory that it may use has room for: a megabyte goes into a file that is gone at the end, and neither into a table nor
 * into the log. A server that lets nobody have such files is not asked.
 * @throws StorageUnreachable where the disk of the server is full
 */
export async function requireRoom(transaction: Db): Promise<void> {
  await sql`set local work_mem = '64kB'`.execute(transaction)
  await sql`select count(*) from (
    select repeat(md5("n"::text), 32) as "line" from generate_series(1, (
      select case when "setting"::bigint between 0 and 4096 then 0 else 1024 end
      from pg_settings where "name" = 'temp_file_limit')) as "n" order by "line" offset 0) as "sorted"`.execute(
    transaction,
  )
}
