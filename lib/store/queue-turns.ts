import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'
import { keptRow, keptRows, type Values } from './dialect/kept.ts'
import type { Wanted } from './queue-entries.ts'
import type { QueueEntryRow, Tables } from './tables.ts'

/** Among which first attempts a turn is looked for: of a kind and state, and of what is parked those of one destination. */
export interface Turned {
  readonly kind: string
  readonly state: 'ready' | 'unproven' | 'parked'
  readonly destination: string
}

interface Given extends Turned, Values {
  readonly podId: string
  readonly inboxId: string
  readonly limit: number
}

type Entries = SelectQueryBuilder<Tables, 'queueEntry', object>

/** Each of them reads the index from where it begins, and no more rows than it gives, however many wait. */
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
    ofInbox: keptRows((db, given: Given) =>
      entries(db, given)
        .selectAll()
        .where('podId', '=', given.podId)
        .where('inboxId', '=', given.inboxId)
        .orderBy('dueAt')
        .orderBy('id')
        .limit(given.limit),
    ),
    ofAll: keptRows((db, given: Given) =>
      entries(db, given)
        .selectAll()
        .orderBy('podId')
        .orderBy('inboxId')
        .orderBy('dueAt')
        .orderBy('id')
        .limit(given.limit),
    ),
  }
}

const waiting = readsOf((entries, { state }) => entries.where('state', '=', state))
const parked = readsOf((entries, { destination }) =>
  entries.where('state', '=', sql.lit('parked')).where('destination', '=', destination),
)
const readsFor = ({ state }: Turned) => (state === 'parked' ? parked : waiting)
const given = ({ kind, state, destination }: Turned): Given => {
  return { kind, state, destination, podId: '', inboxId: '', limit: 1 }
}

/** The first pod after `podId` that has a first attempt waiting. */
export async function findPodInTurn(db: Db, of: Turned, podId: string): Promise<string | undefined> {
  return (await readsFor(of).pod(db, { ...given(of), podId }))?.podId
}

/** The first inbox of the pod after `inboxId` that has one. */
export async function findInboxInTurn(
  db: Db,
  of: Turned,
  podId: string,
  inboxId: string,
): Promise<string | undefined> {
  return (await readsFor(of).inbox(db, { ...given(of), podId, inboxId }))?.inboxId
}

/** Those of an inbox that have waited longest. */
export async function listOfInboxInTurn(
  db: Db,
  of: Turned,
  { podId, inboxId }: { readonly podId: string; readonly inboxId: string },
  limit: number,
): Promise<QueueEntryRow[]> {
  return readsFor(of).ofInbox(db, { ...given(of), podId, inboxId, limit })
}

/** By pods and inboxes, those of each that have waited longest first: at most `limit`, so that all are there when fewer come. */
export async function listInTurn(db: Db, of: Turned, limit: number): Promise<QueueEntryRow[]> {
  return readsFor(of).ofAll(db, { ...given(of), limit })
}

/** Among which repeated attempts a turn is looked for: those that are due by `now`, as all is that is parked. */
export interface TurnedAgain extends Turned {
  readonly now: string
}

interface GivenAgain extends TurnedAgain, Values {
  readonly podId: string
  readonly limit: number
}

/** The same for what was tried before. @param few orders and narrows all of it so that no more rows are read than are given */
function readsOfRepeats(
  narrowed: (entries: Entries, given: GivenAgain) => Entries,
  few: (entries: Entries, given: GivenAgain) => Entries,
) {
  const entries = (db: Db, given: GivenAgain) =>
    narrowed(
      db.selectFrom('queueEntry').where('kind', '=', given.kind).where('attempts', '>', sql.lit(0)),
      given,
    )
  return {
    pod: keptRow((db, given: GivenAgain) =>
      entries(db, given).select('podId').where('podId', '>', given.podId).orderBy('podId').limit(1),
    ),
    ofPod: keptRows((db, given: GivenAgain) =>
      isDue(entries(db, given).where('podId', '=', given.podId), given)
        .selectAll()
        .orderBy('dueAt')
        .orderBy('id')
        .limit(given.limit),
    ),
    few: keptRows((db, given: GivenAgain) =>
      few(entries(db, given), given).selectAll().orderBy('dueAt').orderBy('id').limit(given.limit),
    ),
  }
}
const isDue = (entries: Entries, { now }: GivenAgain) => entries.where('dueAt', '<=', now)

const repeats = readsOfRepeats((entries, { state }) => entries.where('state', '=', state), isDue)
const parkedRepeats = readsOfRepeats(
  (entries, { destination }) =>
    entries.where('state', '=', sql.lit('parked')).where('destination', '=', destination),
  entries => entries.orderBy('podId'),
)
const repeatsFor = ({ state }: Turned) => (state === 'parked' ? parkedRepeats : repeats)
const givenAgain = (of: TurnedAgain): GivenAgain => {
  return { ...given(of), now: of.now }
}

/** The first pod after `podId` that has something to repeat, due or not. */
export async function findPodInTurnAgain(
  db: Db,
  of: TurnedAgain,
  podId: string,
): Promise<string | undefined> {
  return (await repeatsFor(of).pod(db, { ...givenAgain(of), podId }))?.podId
}

/** Those of a pod that are due for longest. */
export async function listOfPodAgain(
  db: Db,
  of: TurnedAgain,
  podId: string,
  limit: number,
): Promise<QueueEntryRow[]> {
  return repeatsFor(of).ofPod(db, { ...givenAgain(of), podId, limit })
}

/** Some of all, so that all are there when fewer come than `limit`. */
export async function listFewAgain(db: Db, of: TurnedAgain, limit: number): Promise<QueueEntryRow[]> {
  return repeatsFor(of).few(db, { ...givenAgain(of), limit })
}

/** Which entries and destinations a look would find something of. */
export interface Waiting {
  /** First attempts. */
  readonly ready: boolean
  readonly unproven: boolean
  /** Repeated ones that are due. */
  readonly readyAgain: boolean
  readonly unprovenAgain: boolean
  /** Destinations with something parked that are to be looked at, and those of them that fail and are to be probed. */
  readonly toLookAt: boolean
  readonly toProbe: boolean
  /** What is parked and to be given up. */
  readonly expired: boolean
  /** Whether there is more than one pod, so that what one of them has could keep another from its turn. */
  readonly isShared: boolean
}

/** One statement that seeks once for each of them. */
export async function findWaiting(db: Db, kind: string, now: string): Promise<Waiting> {
  const row = (await anyWaiting(db, { kind, now }))!
  const is = (name: keyof Waiting) => Boolean(row[name])
  return {
    ready: is('ready'),
    unproven: is('unproven'),
    readyAgain: is('readyAgain'),
    unprovenAgain: is('unprovenAgain'),
    toLookAt: is('toLookAt'),
    toProbe: is('toProbe'),
    expired: is('expired'),
    isShared: is('isShared'),
  }
}
type Found = { readonly [name in keyof Waiting]: number | boolean }
const anyWaiting = keptRow((db, { kind, now }: { kind: string; now: string }) => {
  const entries = (state: string) =>
    db.selectFrom('queueEntry').select('id').where('kind', '=', kind).where('state', '=', sql.lit(state))
  const first = (state: string) => entries(state).where('attempts', '=', sql.lit(0)).limit(1)
  const again = (state: string) =>
    entries(state).where('attempts', '>', sql.lit(0)).where('dueAt', '<=', now).limit(1)
  const destinations = (isFailing: number) =>
    db
      .selectFrom('destination')
      .select('name')
      .where('isFailing', '=', sql.lit(isFailing))
      .where('lookAt', '<=', now)
      .limit(1)
  return {
    compile: () =>
      sql<Found>`select exists ${first('ready')} as "ready", exists ${first('unproven')} as "unproven",
        exists ${again('ready')} as "readyAgain", exists ${again('unproven')} as "unprovenAgain",
        exists ${destinations(0)} as "toLookAt", exists ${destinations(1)} as "toProbe",
        exists ${entries('parked').where('expiresAt', '<=', now).limit(1)} as "expired",
        exists ${db.selectFrom('account').select('id').where('podCount', '>', sql.lit(1))} as "isShared"`.compile(
        db,
      ),
  }
})

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
