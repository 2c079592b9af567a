import { type ExpressionBuilder, sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import { prepared, type Values } from './dialect/prepared.ts'
import type { QueueEntryRow, Tables } from './tables.ts'

export async function insertQueueEntries(db: WriteDb, rows: readonly QueueEntryRow[]): Promise<void> {
  await insertRows(db, 'queueEntry', rows)
}

/** What a lease makes of entries: they are due again when it ends. */
export interface LeaseTaken extends Values {
  readonly now: string
  readonly leasedBy: string
  readonly leasedUntil: string
}

/**
 * Leases those of the entries that are still due, which another process may have claimed meanwhile; returns their ids. Each has one
 * attempt more, and one cut off more if it was leased before.
 */
export async function leaseEntries(
  db: WriteDb,
  ids: readonly string[],
  taken: LeaseTaken,
): Promise<Set<string>> {
  return new Set((await leaseByIds(db, taken, ids)).map(({ id }) => id))
}
const leaseByIds = prepared((db, { now, leasedBy, leasedUntil }: LeaseTaken, ids = []) =>
  db
    .updateTable('queueEntry')
    .set(eb => ({
      leasedBy,
      leasedUntil,
      dueAt: leasedUntil,
      attempts: eb('attempts', '+', 1),
      cutOffs: eb(
        'cutOffs',
        '+',
        eb.case().when('leasedBy', 'is', null).then(sql.lit(0)).else(sql.lit(1)).end(),
      ),
      lane: 'slow',
    }))
    .where('id', 'in', eb =>
      eb
        .selectFrom('queueEntry')
        .select('id')
        .where('id', 'in', ids)
        .where('dueAt', '<=', now)
        .where('lane', '<>', 'held')
        // Another process that claims them does not keep this one waiting.
        .$if(dialectOf(db) === 'postgres', query => query.forUpdate().skipLocked()),
    )
    .returning('id'),
).rows

/** A destination of mail, and how many of its entries one statement changes: one write must not take long. */
interface Some {
  readonly destination: string
  readonly limit: number
}

/**
 * Makes what waits for a destination due at `until`, or when it is given up if that is sooner, in the slow lane; returns how many entries.
 * These are the entries that are due earlier, and those that are due at `before`.
 */
export async function deferEntriesTo(
  db: WriteDb,
  { destination, until, before, limit }: Some & { readonly until: string; readonly before: string },
): Promise<number> {
  return deferTo(db, { destination, until, before, limit })
}
type Deferred = Values & Some & { readonly until: string; readonly before: string }
const deferTo = prepared((db, { destination, until, before, limit }: Deferred) =>
  db
    .updateTable('queueEntry')
    .set(eb => ({
      dueAt: eb.case().when('expiresAt', '<', until).then(eb.ref('expiresAt')).else(until).end(),
      lane: 'slow',
      isKnown: 0,
    }))
    .where('id', 'in', eb =>
      waitingFor(eb, destination)
        .where(on => on.or([on('dueAt', '<', until), on('dueAt', '=', before), on('lane', '=', 'fast')]))
        .where('dueAt', '<>', until)
        .whereRef('dueAt', '<', 'expiresAt')
        .limit(limit),
    ),
).change

/** Makes what waits for a destination until `at` due now, first attempts in the fast lane; returns how many entries. */
export async function releaseEntriesTo(
  db: WriteDb,
  { destination, at, now, limit }: Some & { readonly at: string; readonly now: string },
): Promise<number> {
  return releaseTo(db, { destination, at, now, limit })
}
const releaseTo = prepared(
  (db, { destination, at, now, limit }: Values & Some & { at: string; now: string }) =>
    db
      .updateTable('queueEntry')
      .set(eb => ({
        dueAt: now,
        lane: eb.case().when('attempts', '=', 0).then('fast').else('slow').end(),
        isKnown: 1,
      }))
      .where('id', 'in', eb => waitingFor(eb, destination).where('dueAt', '=', at).limit(limit)),
).change

function waitingFor(eb: ExpressionBuilder<Tables, 'queueEntry'>, destination: string) {
  return eb
    .selectFrom('queueEntry')
    .select('id')
    .where('kind', '=', sql.lit('delivery'))
    .where('destination', '=', destination)
    .where('lane', '<>', sql.lit('held'))
    .where('leasedBy', 'is', null)
}

/** Notes that what waits for a domain goes to a group of mail servers. */
export async function renameDestination(
  db: WriteDb,
  { from, destination, limit }: Some & { readonly from: string },
): Promise<number> {
  return rename(db, { from, destination, limit })
}
const rename = prepared((db, { from, destination, limit }: Values & Some & { from: string }) =>
  db
    .updateTable('queueEntry')
    .set({ destination })
    .where('id', 'in', eb => waitingFor(eb, from).limit(limit)),
).change

/** Takes an entry that nobody has leased out of the queue until it is released; gives whether there is one. */
export async function holdEntry(db: WriteDb, subjectId: string): Promise<boolean> {
  const done = await db
    .updateTable('queueEntry')
    .set({ lane: 'held' })
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
      lane: eb.case().when('attempts', '=', 0).then('fast').else('slow').end(),
      expiresAt,
      dueAt: eb.case().when('dueAt', '>', expiresAt).then(expiresAt).else(eb.ref('dueAt')).end(),
    }))
    .where('subjectId', '=', subjectId)
    .where('lane', '=', 'held')
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
const deleteLeased = prepared((db, { id, leasedBy, attempts }: Lease) =>
  db
    .deleteFrom('queueEntry')
    .where('id', '=', id)
    .where('leasedBy', '=', leasedBy)
    .where('attempts', '=', attempts),
).change

/** How an entry goes on when its lease ends. */
export type Returned = Pick<
  QueueEntryRow,
  'destination' | 'lane' | 'isKnown' | 'dueAt' | 'attempts' | 'cutOffs'
>

/** The entry is to be tried again. Gives false, and does nothing, when the lease is another's by now. */
export async function returnLeasedEntry(
  db: WriteDb,
  { id, leasedBy, attempts }: Lease,
  { destination, lane, isKnown, dueAt, attempts: attemptsNow, cutOffs }: Returned,
): Promise<boolean> {
  const given = { id, leasedBy, attempts, destination, lane, isKnown, dueAt, attemptsNow, cutOffs }
  return (await returnLeased(db, given)) > 0
}
type Returning = Lease & Returned & { readonly attemptsNow: number }
const returnLeased = prepared((db, given: Returning & Values) => {
  // Each value by its name: what is given has no others to spread.
  const { id, leasedBy, attempts, destination, lane, isKnown, dueAt, attemptsNow, cutOffs } = given
  return db
    .updateTable('queueEntry')
    .set({
      destination,
      lane,
      isKnown,
      dueAt,
      attempts: attemptsNow,
      cutOffs,
      leasedBy: null,
      leasedUntil: null,
    })
    .where('id', '=', id)
    .where('leasedBy', '=', leasedBy)
    .where('attempts', '=', attempts)
}).change

/** A lease goes on until then. */
export async function renewLease(
  db: WriteDb,
  { id, leasedBy, attempts }: Lease,
  until: string,
): Promise<void> {
  await renew(db, { id, leasedBy, attempts, until })
}
const renew = prepared((db, { id, leasedBy, attempts, until }: Lease & { until: string } & Values) =>
  db
    .updateTable('queueEntry')
    .set({ dueAt: until, leasedUntil: until })
    .where('id', '=', id)
    .where('leasedBy', '=', leasedBy)
    .where('attempts', '=', attempts),
).change

/** Returns the names in which leases are held and that are of no node which is up. */
export async function listEndedHolders(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('queueEntry')
    .select('leasedBy')
    .distinct()
    .where('leasedBy', 'is not', null)
    .where('leasedBy', 'not in', db.selectFrom('node').select('holder').where('state', '=', 'up'))
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
      eb.fn.count<number>(eb.case().when('lane', '=', 'held').then(1).end()).as('held'),
    ])
    .where('kind', '=', 'delivery')
    .executeTakeFirstOrThrow()
  return row
}
