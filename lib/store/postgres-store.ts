import { sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { createListeners, type Notices } from './dialect/notices.ts'
import { openPostgres } from './dialect/postgres.ts'
import { followIndex, type IndexTrouble } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { startPlacer } from './placer.ts'

/** The database of a server: what SQLite leaves to this process is the server's. */
export function postgresStore(url: string, clock: Clock) {
  const pool = openPostgres(url)
  const listeners = createListeners()
  const placer = startPlacer(pool.db, work => pool.alone(work, listeners.tell))
  const committed = (notices: Notices) => {
    listeners.tell(notices)
    if (notices.has('event')) placer.wake()
  }
  const write = <T>(work: (db: WriteDb) => Promise<T>) => pool.write(work, writeLeft, committed)
  return {
    dialect: 'postgres' as const,
    read: pool.db,
    write,
    version: () => undefined,
    writeUnsynced: write,
    placed: placer.placed,
    onCommit: listeners.on,
    // Both are the server's own business.
    failed: new Promise<never>(() => {}),
    keepLog: () => ({ stop: async () => {} }),
    keepIndex: (told: (trouble: IndexTrouble) => void) =>
      followIndex({ read: pool.db, write, version: () => undefined }, clock, told),
    async forgetOverwrittenSecrets() {
      await sql`vacuum full "account", "domain", "inbox"`.execute(pool.db)
    },
    async compact() {
      await sql`vacuum full`.execute(pool.db)
    },
    async close() {
      await placer.stop()
      await pool.close()
    },
  }
}
