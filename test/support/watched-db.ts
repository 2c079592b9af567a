import type { KyselyPlugin } from 'kysely'
import type { Db, WriteDb } from '../../lib/store/dialect/dialect.ts'
import { gatherNotices } from '../../lib/store/dialect/notices.ts'

/** The handle with all that goes through it shown to `plugin`. What a write on it gives notice of is told to nobody. */
export function watchedDb<Handle extends Db>(db: Handle, plugin: KyselyPlugin): Handle {
  const watched: WriteDb = (db as unknown as WriteDb).withPlugin(plugin)
  gatherNotices(watched, new Map())
  return watched as unknown as Handle
}
