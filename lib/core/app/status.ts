import { Problem } from '../../base/problem.ts'
import { isDiskFull, isStorageFault, StorageUnreachable } from '../../base/storage-fault.ts'
import { noteHealth } from '../../store/account.ts'
import type { App } from './app.ts'
import { noRoomForRequests } from './storage.ts'

const unreachable = 'The server of the database does not answer.'

/**
 * Writes a value that nobody reads and waits for its fsync, which fails when the disk is full or the database broken. Those
 * who ask at the same time share one fsync, so asking often costs little.
 * @returns what is not as it should be, in sentences for the operator
 * @throws Problem `unavailable`
 */
export async function requireHealth(app: App): Promise<readonly string[]> {
  try {
    await app.store.write(db => noteHealth(db, app.clock.now().toISOString()))
  } catch (error) {
    // That of the disk is told once, however often is asked.
    if (!isStorageFault(error)) app.log.error({ err: error }, 'the health can not be noted')
    if (isDiskFull(error)) throw noRoomForRequests()
    const isOutage = error instanceof StorageUnreachable
    throw new Problem('unavailable', isOutage ? unreachable : app.storage.fault)
  }
  if (app.nodes.isDraining) throw new Problem('unavailable', 'This node drains: ask another one.')
  if (app.storage.fault !== undefined) throw new Problem('unavailable', app.storage.fault)
  return app.storage.warnings
}
