import { Problem } from '../base/problem.ts'
import { noteHealth } from '../store/account.ts'
import type { App } from './app.ts'

/**
 * Writes what nobody reads and waits for its fsync, which fails when the disk is full or the database broken. Asked
 * often, it costs little: what is asked at the same time shares one fsync.
 * @throws Problem `unavailable`
 */
export async function requireHealth(app: App): Promise<void> {
  try {
    await app.store.write(db => noteHealth(db, app.clock.now().toISOString()))
  } catch (error) {
    app.log.error({ err: error }, 'the database can not be written')
    throw new Problem('unavailable')
  }
}
