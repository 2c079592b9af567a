import { destinationsKnown, Recent } from '../base/concurrency.ts'
import { type Clock, isoAfter } from '../base/time.ts'
import {
  deleteDestination,
  findDestination,
  listDestinationsThatSaid,
  putDestination,
} from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { deferEntriesTo, releaseEntriesTo } from '../store/queue-entries.ts'
import type { DestinationRow } from '../store/tables.ts'
import { nextAttemptAfterMs } from './backoff.ts'

/** Entries for one destination that one statement defers or releases, and destinations that one write releases. */
export const queueMoved = 1_000
export const destinationsReleased = 100

/** What an attempt has shown of its destination, besides what became of the mail: `slows` answers, and wants less at once. */
export type Showing = 'answers' | 'slows' | 'fails'

/** The waits before a destination that fails is probed, in milliseconds; with their jitter at most 30 s, and then 2 minutes. */
const probeWaits = [27_000, 108_000]

/**
 * Notes what an attempt has shown of a destination, in the write that records it. A destination that fails gets a `retryAt`, until
 * which all that waits for it is deferred. An attempt that began before the last recorded failure
 * belongs to the same wave and changes nothing. One that answers is forgotten, and what waited for it is due. Rows, so that other processes know.
 * @param startedAt when the attempt began
 * @returns when the destination is tried next, if it fails
 */
export async function noteShowing(
  db: WriteDb,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
  name: string,
  showing: Showing,
  said: string,
  startedAt = clock.now(),
): Promise<string | undefined> {
  const before = await findDestination(db, name)
  const now = clock.now()
  // A connection that was there before may go on while the server takes no new one.
  if (before && before.failures > 0 && before.updatedAt >= startedAt.toISOString()) return before.retryAt
  if (showing !== 'fails') {
    if (before) await release(db, before, now)
    return undefined
  }
  const failures = (before?.failures ?? 0) + 1
  const retryAt = isoAfter(now, nextAttemptAfterMs(failures, random(), probeWaits))
  const failed = { failures, lastFailure: said, retryAt, updatedAt: now.toISOString() }
  await defer(db, { ...(before ?? newlyFailing(name, now)), ...failed }, before?.retryAt)
  return retryAt
}

/**
 * Nothing for the destination could be tried, and nothing is for so many milliseconds. That is no failure of its own.
 * @returns when the destination is tried next
 */
export async function postpone(
  db: WriteDb,
  clock: Pick<Clock, 'now'>,
  name: string,
  forMs: number,
  said: string,
): Promise<string> {
  const before = await findDestination(db, name)
  const now = clock.now()
  const retryAt = isoAfter(now, forMs)
  const postponed = { lastFailure: said, retryAt, updatedAt: now.toISOString() }
  await defer(db, { ...(before ?? newlyFailing(name, now)), ...postponed }, before?.retryAt)
  return retryAt
}

const newlyFailing = (name: string, now: Date) => ({
  ...{ name, failures: 0, failingSince: now.toISOString(), updatedAt: now.toISOString() },
})

/**
 * Writes when a destination is tried next, and has what waits for it wait until then: at most so many entries in one write.
 * @param before what waits until then, too, whether that is sooner or later
 */
export async function defer(db: WriteDb, row: DestinationRow, before?: string): Promise<void> {
  await putDestination(db, row)
  await deferWaiting(db, row, before)
}

/** Has what waits for a destination that fails wait until that is tried next; returns how many entries it moved. */
export function deferWaiting(db: WriteDb, { name, retryAt }: DestinationRow, before = ''): Promise<number> {
  return deferEntriesTo(db, { destination: name, until: retryAt, before, limit: queueMoved })
}

async function release(db: WriteDb, { name, retryAt }: DestinationRow, now: Date): Promise<void> {
  if (!(await deleteDestination(db, name))) return
  // What is left, where more than that waited, is due at `retryAt`.
  const waiting = { destination: name, at: retryAt, now: now.toISOString(), limit: queueMoved }
  await releaseEntriesTo(db, waiting)
}

/** Releases some of the destinations whose last failure was this, because what it says is over; returns how many. */
export async function releaseThoseThatSaid(
  db: WriteDb,
  clock: Pick<Clock, 'now'>,
  said: string,
): Promise<number> {
  const found = await listDestinationsThatSaid(db, said, destinationsReleased)
  for (const row of found) await release(db, row, clock.now())
  return found.length
}

/** A destination that fails may be tried now. */
export async function tryNow(db: WriteDb, clock: Pick<Clock, 'now'>, name: string): Promise<void> {
  const row = await findDestination(db, name)
  if (row) await putDestination(db, { ...row, retryAt: clock.now().toISOString() })
}

/**
 * What one process remembers of destinations: which of them have answered lately, and which group of mail servers a domain leads to.
 * Bounded. What is forgotten is found out again.
 */
export class DestinationMemory {
  readonly #answering = new Recent<true>(destinationsKnown)
  readonly #groups = new Recent<string>(destinationsKnown)

  isKnown(name: string): boolean {
    return this.#answering.get(name) === true
  }

  know(name: string): void {
    this.#answering.set(name, true)
  }

  forget(name: string): void {
    this.#answering.delete(name)
  }

  /** The group that a domain turned out to lead to; else the name that is given. */
  groupOf(name: string): string {
    return this.#groups.get(name) ?? name
  }

  lead(domain: string, group: string): void {
    if (group === domain) this.#groups.delete(domain)
    else this.#groups.set(domain, group)
  }
}
