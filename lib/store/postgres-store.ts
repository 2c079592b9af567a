import { sql } from 'kysely'
import { limits } from '../base/limits.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { createListeners } from './dialect/notices.ts'
import type { IndexTrouble } from './indexing.ts'
import { openPostgres } from './postgres/pool.ts'
import { startIndexThread } from './start-index-thread.ts'

/** The database of a server: what SQLite leaves to this process is the server's. */
export function postgresStore(url: string, connections: number = limits.postgresConnections) {
  const pool = openPostgres(url, connections)
  const listeners = createListeners()
  return {
    dialect: 'postgres' as const,
    read: pool.db,
    write: <T>(work: (db: WriteDb) => Promise<T>) => pool.write(work, listeners.tell),
    version: () => undefined,
    writeUnsynced: <T>(work: (db: WriteDb) => Promise<T>) => pool.write(work, listeners.tell),
    onCommit: listeners.on,
    // Both are the server's own business.
    failed: new Promise<never>(() => {}),
    keepLog: () => ({ stop: async () => {} }),
    keepIndex: (told: (trouble: IndexTrouble) => void) => startIndexThread(url, told),
    async forgetOverwrittenSecrets() {
      await sql`vacuum full "account", "domain", "inbox"`.execute(pool.db)
    },
    async compact() {
      await sql`vacuum full`.execute(pool.db)
    },
    close: pool.close,
  }
}
