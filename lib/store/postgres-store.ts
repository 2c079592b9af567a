import { type RawBuilder, sql } from 'kysely'
import type { Meter } from '../base/metrics.ts'
import { type Clock, inTime } from '../base/time.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { type Held, holdsNothing } from './dialect/held.ts'
import { createListeners, type Notices } from './dialect/notices.ts'
import type { IndexTrouble } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { startPlacer } from './placer.ts'
import { createBell } from './postgres/bell.ts'
import type { StoreOutage } from './postgres/hold.ts'
import { openPostgres } from './postgres/pool.ts'
import { createSharedWrites } from './postgres/shared-writes.ts'
import { watchRoom } from './room-watch.ts'
import { startIndexThread } from './start-index-thread.ts'

/** Connections of a pool that is not the daemon's own. */
const postgresConnections = 4
/** How long writes that nobody waits for may take when the store closes. */
const postgresCloseMs = 3_000

interface ServerParts {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly meter: Meter
  /** How many connections it is asked over. */
  readonly connections?: number | undefined
  readonly outage?: StoreOutage | undefined
}

/** The lock of writes that come one after the other, on all nodes. */
const inOrder = 'in order'
/** The number of the lock of the process that gives events their places. */
const placingLock = 0x706c6163

/** The database of a server: what SQLite leaves to this process is the server's. */
export function postgresStore(
  url: string,
  { clock, meter, connections = postgresConnections, outage = {} }: ServerParts,
) {
  const pool = openPostgres(url, connections, outage)
  /** Does what takes as long as it takes, over a connection of its own. */
  const doAtLength = async (statement: RawBuilder<unknown>) => {
    const { db, close } = openPostgres(url, 1, outage, 0)
    await statement.execute(db).finally(close)
  }
  const listeners = createListeners()
  const bell = createBell(url, pool.notify, listeners.tell)
  const tell = (notices: Notices) => {
    listeners.tell(notices)
    // Other processes find by their polls what this one carries itself: told of it, they would all try to claim it.
    bell.ring(new Map([...notices].filter(([topic]) => topic !== 'queue' || !listeners.has('queue'))))
  }
  const placer = startPlacer(pool.db, work =>
    pool.writeAlone(placingLock, work, { writeLeft, committed: tell }),
  )
  const written = {
    writeLeft,
    committed(notices: Notices) {
      tell(notices)
      if (notices.has('event')) placer.wake()
    },
  }
  const share = createSharedWrites(pool, written, writes => meter.observe('store_batch_writes', writes))
  const underWay = new Set<Promise<unknown>>()

  /** Measures a write, and waits for it when the store closes. */
  async function track<T>(writing: Promise<T>): Promise<T> {
    const began = clock.monotonicMs()
    underWay.add(writing)
    try {
      const value = await writing
      meter.observe('store_transaction_seconds', (clock.monotonicMs() - began) / 1000)
      return value
    } finally {
      underWay.delete(writing)
    }
  }

  const writeHolding = <T>(held: () => Held, work: (db: WriteDb) => Promise<T>) => track(share(held, work))

  let last: Promise<unknown> = Promise.resolve()
  /** Those of this process wait for each other here, so that one of them at most has a connection. */
  function write<T>(work: (db: WriteDb) => Promise<T>): Promise<T> {
    const writing = last.then(() => pool.write(() => ({ names: [inOrder] }), work, written))
    last = writing.catch(() => {})
    return track(writing)
  }
  return {
    dialect: 'postgres' as const,
    read: pool.db,
    write,
    version: () => undefined,
    writeUnsynced: <T>(work: (db: WriteDb) => Promise<T>) => writeHolding(holdsNothing, work),
    writeHolding,
    // What a server shows it has on its disk, and on the standby that it waits for.
    settled: () => undefined,
    placed: placer.placed,
    onCommit: listeners.on,
    hearOthers: bell.hear,
    // Both are the server's own business.
    failed: new Promise<never>(() => {}),
    keepLog: () => ({ stop: async () => {} }),
    watchRoom: () => watchRoom(pool),
    keepIndex: (told: (trouble: IndexTrouble) => void) =>
      startIndexThread({ location: url }, () => undefined, told),
    forgetOverwrittenSecrets: () => doAtLength(sql`vacuum full "account", "domain", "inbox"`),
    compact: () => doAtLength(sql`vacuum full`),
    async close() {
      const idle = async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay)
      }
      const done = idle().then(placer.stop).then(bell.stop)
      await inTime(done, postgresCloseMs, () => {})
      await pool.close()
    },
  }
}
