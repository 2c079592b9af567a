import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import { inTime } from '../base/in-time.ts'
import { limits } from '../base/limits.ts'
import type { Meter } from '../base/meter.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { createListeners, type Notices } from './dialect/notices.ts'
import type { IndexTrouble } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { startPlacer } from './placer.ts'
import { createBell } from './postgres/bell.ts'
import type { StoreOutage } from './postgres/hold.ts'
import { openPostgres, writersOf } from './postgres/pool.ts'
import { watchRoom } from './room-watch.ts'
import { startIndexThread } from './start-index-thread.ts'
import { createWriters } from './transactions/writers.ts'

interface ServerParts {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly meter: Meter
  /** How many connections it is asked over. */
  readonly connections?: number | undefined
  readonly outage?: StoreOutage | undefined
}

/** The database of a server: what SQLite leaves to this process is the server's. */
export function postgresStore(
  url: string,
  { clock, meter, connections = limits.postgresConnections, outage = {} }: ServerParts,
) {
  const pool = openPostgres(url, connections, outage)
  /** Does what takes as long as it takes, over a connection of its own. */
  const doAtLength = async (statement: RawBuilder<unknown>) => {
    const { db, close } = openPostgres(url, 1, outage, 0)
    await statement.execute(db).finally(close)
  }
  const listeners = createListeners()
  const bell = createBell(url, pool.notify, listeners.tell, outage.hold)
  const tell = (notices: Notices) => {
    listeners.tell(notices)
    // What this process carries itself others find by their looks: told of it they would all reach for the same.
    bell.ring(new Map([...notices].filter(([topic]) => topic !== 'queue' || !listeners.has('queue'))))
  }
  const placer = startPlacer(pool.db, turn => pool.alone(turn, tell))
  const committed = (notices: Notices) => {
    tell(notices)
    if (notices.has('event')) placer.wake()
  }
  const write = <T>(work: (db: WriteDb) => Promise<T>) => pool.write(work, { writeLeft, committed })
  const writers = createWriters({
    take: pool.take,
    connections: writersOf(connections),
    writeLeft,
    committed,
    monotonicMs: () => clock.monotonicMs(),
    transacted(writes, tookMs) {
      meter.observe('store_batch_writes', writes)
      meter.observe('store_transaction_seconds', tookMs / 1000)
    },
  })
  return {
    dialect: 'postgres' as const,
    read: pool.db,
    write,
    version: () => undefined,
    writeUnsynced: write,
    writeHolding: writers.write,
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
      startIndexThread({ location: url }, () => undefined, told, outage.hold),
    forgetOverwrittenSecrets: () => doAtLength(sql`vacuum full "account", "domain", "inbox"`),
    compact: () => doAtLength(sql`vacuum full`),
    async close() {
      const done = writers.idle().then(placer.stop).then(bell.stop)
      await inTime(done, limits.postgresCloseMs, () => {})
      await pool.close()
    },
  }
}
