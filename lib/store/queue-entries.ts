import { sql } from 'kysely'
import type { Db, DialectName, WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import { keptChange, keptChangeOf, type Values } from './dialect/kept.ts'
import type { QueueEntryRow } from './tables.ts'

export async function insertQueueEntries(db: WriteDb, rows: readonly QueueEntryRow[]): Promise<void> {
  await insertRows(db, 'queueEntry', rows)
}

/** What a claim looks for. */
export interface Wanted {
  readonly kind: string
  readonly now: string
  readonly limit: number
}

/** A leased entry is due again when its lease ends, so `dueAt` alone decides and the index skips what is deferred. */
function dueEntries(db: Db, { kind, now, limit }: Wanted) {
  return db
    .selectFrom('queueEntry')
    .where('kind', '=', kind)
    .where('state', '=', 'ready')
    .where('dueAt', '<=', now)
    .orderBy('dueAt')
    .orderBy('id')
    .limit(limit)
}

export async function hasDueEntry(db: Db, wanted: Wanted): Promise<boolean> {
  const row = await dueEntries(db, { ...wanted, limit: 1 })
    .select('id')
    .executeTakeFirst()
  return row !== undefined
}

/** The entries that are due, the longest due first. */
export async function findDueEntries(db: Db, dialect: DialectName, wanted: Wanted): Promise<QueueEntryRow[]> {
  const due = dueEntries(db, wanted).selectAll()
  // On PostgreSQL other nodes claim at the same time; on SQLite a write is alone.
  return (dialect === 'postgres' ? due.forUpdate().skipLocked() : due).execute()
}

/** What a lease makes of entries: they are due again when it ends. */
export interface LeaseTaken extends Values {
  readonly destination: string
  readonly leasedBy: string
  readonly leasedUntil: string
}

/** Leases entries for an attempt at one destination. Each has one attempt more, and one cut off more where it was leased before. */
export async function leaseEntries(db: WriteDb, ids: readonly string[], taken: LeaseTaken): Promise<void> {
  await leaseByIds(db, taken, ids)
}
const leaseByIds = keptChangeOf((db, { destination, leasedBy, leasedUntil }: LeaseTaken, ids = []) =>
  db
    .updateTable('queueEntry')
    .set(eb => ({
      destination,
      leasedBy,
      leasedUntil,
      dueAt: leasedUntil,
      attempts: eb('attempts', '+', 1),
      cutOffs: eb(
        'cutOffs',
        '+',
        eb.case().when('leasedBy', 'is', null).then(sql.lit(0)).else(sql.lit(1)).end(),
      ),
      state: 'ready',
    }))
    .where('id', 'in', ids),
)

/** Why an entry that is due is out of the way, and where it waits. */
export interface SetAside extends Values {
  readonly state: 'parked' | 'unproven'
  readonly destination: string
}

/**
 * Takes entries that are due out of the way: parked, because their destination has as much under way as it may, or unproven,
 * because all places of destinations that have not proven to answer are taken.
 */
export async function setAsideEntries(db: WriteDb, ids: readonly string[], aside: SetAside): Promise<void> {
  await setAsideByIds(db, aside, ids)
}
const setAsideByIds = keptChangeOf((db, { state, destination }: SetAside, ids = []) =>
  db.updateTable('queueEntry').set({ state, destination }).where('id', 'in', ids),
)

/** The parked entries of a destination that have been due for longest, at most `limit`, can be claimed again; gives how many. */
export async function unparkEntries(
  db: WriteDb,
  { kind, destination, limit }: { kind: string; destination: string; limit: number },
): Promise<number> {
  const longest = db
    .selectFrom('queueEntry')
    .select('id')
    .where('kind', '=', kind)
    .where('destination', '=', destination)
    .where('state', '=', 'parked')
    .orderBy('dueAt')
    .orderBy('id')
    .limit(limit)
  const done = await db
    .updateTable('queueEntry')
    .set({ state: 'ready' })
    .where('id', 'in', longest)
    .executeTakeFirst()
  return Number(done.numUpdatedRows)
}

/** The destinations that have entries of this kind parked. */
export async function listParkedDestinations(db: Db, kind: string): Promise<string[]> {
  // From one name to the next: to ask for those that differ reads all entries.
  const { rows } = await sql<{ name: string }>`
    with recursive "some" (name) as (
      select min("destination") from "queueEntry" where "kind" = ${kind} and "state" = 'parked'
      union all
      select (select min("destination") from "queueEntry" where "kind" = ${kind} and "state" = 'parked' and "destination" > name)
      from "some" where name is not null
    )
    select name from "some" where name is not null`.execute(db)
  return rows.map(({ name }) => name)
}

/** Takes an entry that nobody has leased out of the queue until it is released; gives whether there is one. */
export async function holdEntry(db: WriteDb, subjectId: string): Promise<boolean> {
  const done = await db
    .updateTable('queueEntry')
    .set({ state: 'held' })
    .where('subjectId', '=', subjectId)
    .where('leasedBy', 'is', null)
    .executeTakeFirst()
  return Number(done.numUpdatedRows) > 0
}

/** Puts an entry that was held back; gives when it is due, at `expiresAt` at the latest, or undefined when it is not held. */
export async function releaseEntry(
  db: WriteDb,
  subjectId: string,
  expiresAt: string,
): Promise<string | undefined> {
  const row = await db
    .updateTable('queueEntry')
    .set(eb => ({
      state: 'ready',
      expiresAt,
      dueAt: eb.case().when('dueAt', '>', expiresAt).then(expiresAt).else(eb.ref('dueAt')).end(),
    }))
    .where('subjectId', '=', subjectId)
    .where('state', '=', 'held')
    .returning('dueAt')
    .executeTakeFirst()
  return row?.dueAt
}

/** Names a lease: the holder, and which of its attempts it is. */
export type Lease = Pick<QueueEntryRow, 'id' | 'leasedBy' | 'attempts'>

export async function deleteEntriesOf(db: WriteDb, subjectId: string): Promise<void> {
  await db.deleteFrom('queueEntry').where('subjectId', '=', subjectId).execute()
}

/** The entry has come to its end. Gives false, and does nothing, when the lease is another's by now. */
export async function deleteLeasedEntry(db: WriteDb, { id, leasedBy, attempts }: Lease): Promise<boolean> {
  return (await deleteLeased(db, { id, leasedBy, attempts })) > 0
}
const deleteLeased = keptChange((db, { id, leasedBy, attempts }: Lease) =>
  db
    .deleteFrom('queueEntry')
    .where('id', '=', id)
    .where('leasedBy', '=', leasedBy)
    .where('attempts', '=', attempts),
)

/** How an entry goes on when its lease ends. */
export type Returned = Pick<QueueEntryRow, 'destination' | 'dueAt' | 'attempts' | 'cutOffs'>

/** The entry is to be tried again. Gives false, and does nothing, when the lease is another's by now. */
export async function returnLeasedEntry(
  db: WriteDb,
  { id, leasedBy, attempts }: Lease,
  { destination, dueAt, attempts: attemptsNow, cutOffs }: Returned,
): Promise<boolean> {
  const given = { id, leasedBy, attempts, destination, dueAt, attemptsNow, cutOffs }
  return (await returnLeased(db, given)) > 0
}
interface Returning extends Lease {
  readonly destination: string
  readonly dueAt: string
  readonly attemptsNow: number
  readonly cutOffs: number
}
const returnLeased = keptChange(
  (db, { id, leasedBy, attempts, destination, dueAt, attemptsNow, cutOffs }: Returning & Values) =>
    db
      .updateTable('queueEntry')
      .set({ destination, dueAt, attempts: attemptsNow, cutOffs, leasedBy: null, leasedUntil: null })
      .where('id', '=', id)
      .where('leasedBy', '=', leasedBy)
      .where('attempts', '=', attempts),
)

/** A lease goes on until then. */
export async function renewLease(
  db: WriteDb,
  { id, leasedBy, attempts }: Lease,
  until: string,
): Promise<void> {
  await renew(db, { id, leasedBy, attempts, until })
}
const renew = keptChange((db, { id, leasedBy, attempts, until }: Lease & { until: string } & Values) =>
  db
    .updateTable('queueEntry')
    .set({ dueAt: until, leasedUntil: until })
    .where('id', '=', id)
    .where('leasedBy', '=', leasedBy)
    .where('attempts', '=', attempts),
)

/** The names in which leases are held. */
export async function listHolders(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('queueEntry')
    .select('leasedBy')
    .distinct()
    .where('leasedBy', 'is not', null)
    .execute()
  return rows.map(({ leasedBy }) => leasedBy!)
}

/** All leases of a holder; it has no more than it works on at once. */
export async function listLeasedEntries(db: Db, leasedBy: string): Promise<QueueEntryRow[]> {
  return db.selectFrom('queueEntry').selectAll().where('leasedBy', '=', leasedBy).execute()
}

/** The queue entries of subjects; most have one, and what has come to its end has none. */
export async function listEntriesOf(db: Db, subjectIds: readonly string[]): Promise<QueueEntryRow[]> {
  if (subjectIds.length === 0) return []
  return db.selectFrom('queueEntry').selectAll().where('subjectId', 'in', subjectIds).execute()
}

/** How many deliveries are queued, and how many of them are leased or held. */
export async function countQueueEntries(db: Db): Promise<{ all: number; leased: number; held: number }> {
  const row = await db
    .selectFrom('queueEntry')
    .select(eb => [
      eb.fn.countAll<number>().as('all'),
      eb.fn.count<number>('leasedBy').as('leased'),
      eb.fn.count<number>(eb.case().when('state', '=', 'held').then(1).end()).as('held'),
    ])
    .where('kind', '=', 'delivery')
    .executeTakeFirstOrThrow()
  return row
}
