import { sql } from 'kysely'
import { limits } from '../base/limits.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { createListeners, type Notices } from './dialect/notices.ts'
import type { IndexTrouble } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { startPlacer } from './placer.ts'
import { openPostgres } from './postgres/pool.ts'
import { startIndexThread } from './start-index-thread.ts'

/** The database of a server: what SQLite leaves to this process is the server's. */
export function postgresStore(url: string, connections: number = limits.postgresConnections) {
  const pool = openPostgres(url, connections)
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
    keepIndex: (told: (trouble: IndexTrouble) => void) => startIndexThread(url, () => undefined, told),
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
