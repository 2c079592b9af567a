import {
  DatabaseDamaged,
  damagedSentence,
  isDiskFull,
  isStorageFault,
  StorageContended,
  StorageUnreachable,
} from '../../base/faults.ts'
import { Problem } from '../../base/problem.ts'
import { inTime } from '../../base/time.ts'
import { noteHealth } from '../../store/account.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import type { App } from './app.ts'
import { inServerTime } from './server-time.ts'
import { diskHeld, noRoomForRequests } from './storage.ts'

/** How long /health waits for the database. */
const healthMs = 2_000
/** How long an fsync of the log may take until its disk is told to hang, and who waits for it with an answer is told no. */
export const slowSyncMs = 5_000

/** What clients are told while the server of the database does not do what it is asked. */
export const databaseOut = ({ sentence }: StorageUnreachable | StorageContended) =>
  new Problem('unavailable', `${sentence} Try again shortly.`)

/**
 * Writes a value that nobody reads and waits for its fsync, which fails when the disk is full or the database broken. Those
 * who ask at the same time share one fsync, so asking often costs little.
 * @returns what is not as it should be, in sentences for the operator
 * @throws Problem `unavailable`
 */
export async function requireHealth(app: App): Promise<readonly string[]> {
  try {
    const noted = noteNow(app)
    await (app.store.dialect === 'sqlite'
      ? inTime(noted, healthMs, diskHangs)
      : inServerTime(app, noted, healthMs))
  } catch (error) {
    if (error instanceof Problem) throw error
    // That of the disk is told once, however often is asked.
    if (!isStorageFault(error)) app.log.error({ err: error }, 'the health can not be noted')
    if (isDiskFull(error)) throw noRoomForRequests()
    if (error instanceof DatabaseDamaged) throw new Problem('unavailable', damagedSentence)
    if (error instanceof StorageUnreachable || error instanceof StorageContended) throw databaseOut(error)
    throw new Problem('unavailable', app.storage.fault)
  }
  // One row that is there may be written while there is no room for another.
  const shortage = app.shortage()
  if (shortage) throw databaseOut(shortage)
  if (app.nodes.isDraining) throw new Problem('unavailable', 'This node drains: ask another one.')
  if (app.storage.fault !== undefined) throw new Problem('unavailable', app.storage.fault)
  return app.storage.warnings
}

/** The write under way: who asks meanwhile waits for that, so that they are never many, however long the disk takes. */
const noting = new WeakMap<App, Promise<void>>()

function noteNow(app: App): Promise<void> {
  const under = noting.get(app)
  if (under) return under
  const noted = app.store
    .writeHolding(holdsNothing, db => noteHealth(db, app.clock.now().toISOString()))
    .finally(() => noting.delete(app))
  // Who asked may have gone by then.
  noted.catch(() => {})
  // On a server another connection may come through meanwhile.
  if (app.store.dialect === 'sqlite') noting.set(app, noted)
  return noted
}

const diskHangs = () => Promise.reject(new Problem('unavailable', `${diskHeld} Try again shortly.`)) as never

/**
 * Waits until what was read for an answer is on the disk.
 * @throws Problem `unavailable` when that takes longer than `slowSyncMs`
 */
export async function requireSettled({ store }: Pick<App, 'store'>): Promise<void> {
  const settled = store.settled()
  if (settled) await inTime(settled, slowSyncMs, diskHangs)
}
