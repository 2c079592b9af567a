import { type Db, isServer } from '../dialect/dialect.ts'
import { openSqliteSnapshot } from '../dialect/sqlite.ts'
import { requireCurrentSchema } from '../migrations/migrate.ts'
import type { Judge } from '../postgres/timeline.ts'

/**
 * Reads a database as it is at one moment, while others write to it. SQLite's log grows meanwhile.
 * @param location as of `openStore`
 * @param judge of its servers
 * @throws SchemaFault where it is of another version than this program
 */
export async function atOneMoment<T>(
  location: string,
  judge: Judge,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const checked = async (db: Db) => {
    await requireCurrentSchema(db, true)
    return work(db)
  }
  if (isServer(location)) {
    const { openPostgres } = await import('../postgres/pool.ts')
    const pool = openPostgres(location, 1, { judge })
    try {
      return await pool.snapshot(checked)
    } finally {
      await pool.close()
    }
  }
  const { db, close } = openSqliteSnapshot(location)
  try {
    return await checked(db)
  } finally {
    close()
  }
}
