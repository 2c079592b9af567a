import { kinds } from '../queue/lease.ts'
import {
  countUnindexed,
  countWaiting,
  findLongestDue,
  findOldestQueued,
  findOldestUnindexed,
  type WaitingState,
  waitingStates,
} from '../store/load.ts'
import type { App } from './app/app.ts'
import { readDisk } from './status.ts'

/** How far /metrics counts what waits. */
const loadCounted = 10_000

/** How much waits, and for how long, and what room there is. */
export interface Load {
  readonly queue: {
    readonly waiting: readonly {
      readonly kind: string
      readonly state: WaitingState
      readonly count: number
    }[]
    /** For how long the entry that is due longest is due. */
    readonly late: readonly { readonly kind: string; readonly lateMs: number }[]
    readonly oldestMs: number
  }
  readonly index: { readonly waiting: number; readonly failed: number; readonly lagMs: number }
  readonly disk: { readonly database: number; readonly log: number; readonly free: number }
}

/** What the operator's monitor asks for again and again: each look-up of it ends at `loadCounted` rows. */
export async function readLoad(app: App): Promise<Load> {
  const db = app.store.read
  const nowMs = app.clock.now().getTime()
  const now = app.clock.now().toISOString()
  const most = loadCounted
  const since = (instant: string | undefined) =>
    instant === undefined ? 0 : Math.max(0, nowMs - Date.parse(instant))
  const waiting: { kind: string; state: WaitingState; count: number }[] = []
  const late: { kind: string; lateMs: number }[] = []
  for (const kind of kinds) {
    for (const state of waitingStates) {
      waiting.push({ kind, state, count: await countWaiting(db, { kind, state, now }, most) })
    }
    late.push({ kind, lateMs: since(await findLongestDue(db, kind, now)) })
  }
  return {
    queue: { waiting, late, oldestMs: since(await findOldestQueued(db)) },
    index: {
      waiting: await countUnindexed(db, 'waiting', most),
      failed: await countUnindexed(db, 'failed', most),
      lagMs: since(await findOldestUnindexed(db)),
    },
    disk: await readDisk(app),
  }
}
