import { type Clock, isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { deleteDestination, findDestination, holdDestination, putDestination } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import type { DestinationRow } from '../store/tables.ts'
import { nextAttemptAfterMs } from './backoff.ts'

/** What an attempt has shown of its destination, beside what became of the mail: `slows` answers, and wants less at once. */
export type Showing = 'answers' | 'slows' | 'fails'

/** The waits before a destination that fails is probed, in milliseconds; with their jitter at most 30 s, and then 2 minutes. */
const probeWaits = [27_000, 108_000]

/**
 * Notes what an attempt has shown of a destination, in the write that records it. After `limits.destinationFailures` in a
 * row it gets one attempt at a time; all else for it is parked until it answers. Attempts that fail together are one failure:
 * one that began before the last recorded failure adds nothing. Rows, so that a restart, another process and mailboxctl know.
 * @param startedAt when the attempt began
 */
export async function noteShowing(
  db: WriteDb,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
  name: string,
  showing: Showing,
  said: string,
  startedAt = clock.now(),
): Promise<void> {
  const before = await findDestination(db, name)
  const now = clock.now()
  const updatedAt = now.toISOString()
  if (showing !== 'fails') {
    // Nothing bad is known of it; what is parked there for its room alone begins as that gets free.
    if (!before || before.failures === 0) return
    const held = await holdDestination(db, name)
    if (!held || held.failures === 0) return
    // What is parked may begin, as far as there is room.
    if (held.lookAt === null) await deleteDestination(db, name)
    else await putDestination(db, { ...answering(name, updatedAt), lookAt: updatedAt })
    return
  }
  const isSameWave = before !== undefined && before.failures > 0 && before.updatedAt > startedAt.toISOString()
  // Of one that fails already it may be the probe, and the next one is due.
  if (isSameWave && before.isFailing !== 1) return
  const failures = (before?.failures ?? 0) + (isSameWave ? 0 : 1)
  // One that was postponed fails already, whatever it is counted.
  const isFailing = before?.isFailing === 1 || failures >= limits.destinationFailures
  const waitMs = nextAttemptAfterMs(failures - limits.destinationFailures + 1, random(), probeWaits)
  const soon = isoAfter(now, waitMs)
  // A late attempt of an old wave does not put the probe off.
  const isSooner = isSameWave && before.probeAt !== null && before.probeAt < soon
  const probeAt = !isFailing ? null : isSooner ? before.probeAt : soon
  const isParked = before !== undefined && before.lookAt !== null
  await putDestination(db, {
    name,
    failures,
    isFailing: isFailing ? 1 : 0,
    failingSince: before?.failingSince ?? updatedAt,
    lastFailure: said,
    probeAt,
    lookAt: isParked ? (probeAt ?? before.lookAt) : null,
    updatedAt,
  })
}

/**
 * Nothing for the destination could be tried: it gets its one attempt after so long, and all else for it is parked until then,
 * as when it fails; yet that is no failure of its own, and makes no wait longer.
 */
export async function postpone(
  db: WriteDb,
  clock: Pick<Clock, 'now'>,
  name: string,
  forMs: number,
  said: string,
): Promise<void> {
  const before = await findDestination(db, name)
  const now = clock.now()
  const updatedAt = now.toISOString()
  const probeAt = isoAfter(now, forMs)
  await putDestination(db, {
    name,
    // Not counted: it only has to be something that an answer takes away.
    failures: Math.max(before?.failures ?? 0, 1),
    isFailing: 1,
    failingSince: before?.failingSince ?? updatedAt,
    lastFailure: said,
    probeAt,
    lookAt: (before?.lookAt ?? null) === null ? null : probeAt,
    updatedAt,
  })
}

/** A destination that fails gets its one attempt now, or so long from now. */
export async function probeNow(
  db: WriteDb,
  clock: Pick<Clock, 'now'>,
  name: string,
  inMs = 0,
): Promise<void> {
  const row = await findDestination(db, name)
  if (row?.isFailing !== 1) return
  const probeAt = isoAfter(clock.now(), inMs)
  await putDestination(db, { ...row, probeAt, lookAt: row.lookAt === null ? null : probeAt })
}

/** Its one attempt went elsewhere, and has found out nothing: another one is to. Not at once, for DNS may flap between two of them. */
export function leadElsewhere(db: WriteDb, clock: Pick<Clock, 'now'>, name: string): Promise<void> {
  return probeNow(db, clock, name, limits.ledElsewhereMs)
}

/** A failing destination as it stands when its one attempt is made: the next is due when that is surely over, unless it is noted before. */
export function probed(row: DestinationRow, now: Date): DestinationRow {
  const probeAt = isoAfter(now, limits.probeOverMs)
  return { ...row, probeAt, lookAt: row.lookAt === null ? null : probeAt }
}

/** The standing of a destination of which nothing bad is known. */
export function answering(name: string, updatedAt: string): DestinationRow {
  return {
    name,
    failures: 0,
    isFailing: 0,
    failingSince: null,
    lastFailure: null,
    probeAt: null,
    lookAt: null,
    updatedAt,
  }
}

/** Remembers names, at most so many, those that were noted last. What is forgotten costs a place among the unproven. */
export class NamesKnown<Value> {
  readonly #values = new Map<string, Value>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  note(name: string, value: Value): void {
    this.#values.delete(name)
    this.#values.set(name, value)
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value!)
  }

  forget(name: string): void {
    this.#values.delete(name)
  }

  get(name: string): Value | undefined {
    return this.#values.get(name)
  }
}
