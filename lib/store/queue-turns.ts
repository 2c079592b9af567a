import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'
import { keptRow, keptRows } from './dialect/kept.ts'
import type { Wanted } from './queue-entries.ts'
import type { QueueEntryRow, Tables } from './tables.ts'

/** Among which first attempts a turn is looked for: of a kind and state, and of what is parked those of one destination. */
export interface Turned {
  readonly kind: string
  readonly state: 'ready' | 'unproven' | 'parked'
  readonly destination: string
}

interface Given extends Turned, Record<string, string> {
  readonly podId: string
  readonly inboxId: string
}

type Entries = SelectQueryBuilder<Tables, 'queueEntry', object>

/** Each of the three finds one row by a seek in an index, however many wait. */
function readsOf(narrowed: (entries: Entries, given: Given) => Entries) {
  const entries = (db: Db, given: Given) =>
    narrowed(
      // As it stands in the index, so that SQLite knows that it can use that.
      db.selectFrom('queueEntry').where('kind', '=', given.kind).where('attempts', '=', sql.lit(0)),
      given,
    )
  return {
    pod: keptRow((db, given: Given) =>
      entries(db, given).select('podId').where('podId', '>', given.podId).orderBy('podId').limit(1),
    ),
    inbox: keptRow((db, given: Given) =>
      entries(db, given)
        .select('inboxId')
        .where('podId', '=', given.podId)
        .where('inboxId', '>', given.inboxId)
        .orderBy('inboxId')
        .limit(1),
    ),
    entry: keptRow((db, given: Given) =>
      entries(db, given)
        .selectAll()
        .where('podId', '=', given.podId)
        .where('inboxId', '=', given.inboxId)
        .orderBy('dueAt')
        .orderBy('id')
        .limit(1),
    ),
  }
}

const waiting = readsOf((entries, { state }) => entries.where('state', '=', state))
const parked = readsOf((entries, { destination }) =>
  entries.where('state', '=', sql.lit('parked')).where('destination', '=', destination),
)
const readsFor = ({ state }: Turned) => (state === 'parked' ? parked : waiting)

/** The first pod after `podId` that has a first attempt waiting. */
export async function findPodInTurn(db: Db, of: Turned, podId: string): Promise<string | undefined> {
  return (await readsFor(of).pod(db, { ...of, podId, inboxId: '' }))?.podId
}

/** The first inbox of the pod after `inboxId` that has one. */
export async function findInboxInTurn(
  db: Db,
  of: Turned,
  podId: string,
  inboxId: string,
): Promise<string | undefined> {
  return (await readsFor(of).inbox(db, { ...of, podId, inboxId }))?.inboxId
}

/** The one of an inbox that has waited longest. */
export async function findEntryInTurn(
  db: Db,
  of: Turned,
  podId: string,
  inboxId: string,
): Promise<QueueEntryRow | undefined> {
  return readsFor(of).entry(db, { ...of, podId, inboxId })
}

/** Entries of a kind that were tried before and are due, the longest due first. */
export async function listDueAgain(
  db: Db,
  { kind, now, limit }: Wanted,
  state: 'ready' | 'unproven',
): Promise<QueueEntryRow[]> {
  return dueAgain(db, { kind, state, now, limit })
}
const dueAgain = keptRows(
  (db, { kind, state, now, limit }: { kind: string; state: string; now: string; limit: number }) =>
    db
      .selectFrom('queueEntry')
      .selectAll()
      .where('kind', '=', kind)
      .where('state', '=', state)
      // As it stands in the index, so that SQLite knows that it can use that.
      .where('attempts', '>', sql.lit(0))
      .where('dueAt', '<=', now)
      .orderBy('dueAt')
      .orderBy('id')
      .limit(limit),
)

/** Whether an entry of a kind waits that was never tried. */
export async function hasFirstAttempt(db: Db, kind: string, state: 'ready' | 'unproven'): Promise<boolean> {
  return (await anyFirst(db, { kind, state })) !== undefined
}
const anyFirst = keptRow((db, { kind, state }: { kind: string; state: string }) =>
  db
    .selectFrom('queueEntry')
    .select('id')
    .where('kind', '=', kind)
    .where('state', '=', state)
    .where('attempts', '=', sql.lit(0))
    .limit(1),
)

/** What is parked at a destination, the longest due first. */
export async function listParked(
  db: Db,
  of: { readonly kind: string; readonly destination: string },
  limit: number,
): Promise<QueueEntryRow[]> {
  return parkedAt(db, { ...of, limit })
}
const parkedAt = keptRows(
  (db, { kind, destination, limit }: { kind: string; destination: string; limit: number }) =>
    db
      .selectFrom('queueEntry')
      .selectAll()
      .where('kind', '=', kind)
      .where('destination', '=', destination)
      .where('state', '=', sql.lit('parked'))
      .orderBy('dueAt')
      .orderBy('id')
      .limit(limit),
)

/** What is parked and to be given up, at most `limit`. */
export async function listParkedExpired(db: Db, { kind, now, limit }: Wanted): Promise<QueueEntryRow[]> {
  return parkedExpired(db, { kind, now, limit })
}
const parkedExpired = keptRows((db, { kind, now, limit }: { kind: string; now: string; limit: number }) =>
  db
    .selectFrom('queueEntry')
    .selectAll()
    .where('kind', '=', kind)
    .where('state', '=', sql.lit('parked'))
    .where('expiresAt', '<=', now)
    .orderBy('expiresAt')
    .orderBy('id')
    .limit(limit),
)
