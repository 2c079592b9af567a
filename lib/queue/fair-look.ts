import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import {
  deleteDestination,
  findDestination,
  listDestinationsToLookAt,
  putDestination,
} from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { leaseEntry, renewLease, setAsideEntry } from '../store/queue-entries.ts'
import {
  hasFirstAttempt,
  listDueAgain,
  listParked,
  listParkedExpired,
  type Turned,
} from '../store/queue-turns.ts'
import type { DestinationRow, QueueEntryRow } from '../store/tables.ts'
import type { Leased } from './leased.ts'
import { type Bounds, count, hasPlace, type Sort, type Taken } from './places.ts'
import type { Rotation } from './rotation.ts'
import { answering } from './standing.ts'

export interface LookParts {
  readonly node: string
  readonly concurrencyPerDestination: (destination: string) => number
  readonly bounds: Bounds
  readonly isUnderWay: (id: string) => boolean
  readonly isProven: (name: string) => boolean
  /** The group that a destination turned out to be of. */
  readonly groupOf: (destination: string) => string
  /** Whose turn it is, among those in each state. */
  readonly rotations: Readonly<Record<Turned['state'], Rotation>>
}

/** What is under way when a look begins. */
export interface Underway {
  readonly taken: Readonly<Taken>
  readonly perDestination: ReadonlyMap<string, number>
  /** Destinations that were full and are not any more. */
  readonly freed: ReadonlySet<string>
}

/** What one look has done, in a write that may yet be undone. */
export interface Looked {
  readonly begun: readonly { readonly entry: Leased; readonly sort: Sort }[]
  /** How many were put out of the way of the next look. */
  readonly setAside: number
  /** Destinations that have parked entries and no room. */
  readonly filled: ReadonlySet<string>
  /** Those of `freed` that were looked at. */
  readonly looked: readonly string[]
  /** What new mail waits for: any place, one of those for the unproven, or nothing. */
  readonly waiting: 'anything' | 'unproven' | 'nothing'
}

const kind = 'delivery'
const probe: Sort = { isRetry: false, isProbe: true, isUnproven: false }

/** One look for mail that may begin: bounded, in one write. */
export function createLook(parts: LookParts) {
  return async (db: WriteDb, now: Date, underWay: Underway): Promise<Looked> => {
    const look = new Look(parts, db, now, underWay)
    await look.takeExpired()
    await look.takeParked([...underWay.freed])
    await look.takeFirst('ready')
    await look.takeFirst('unproven')
    await look.takeAgain('unproven')
    await look.takeAgain('ready')
    return look.result()
  }
}

class Look {
  readonly #parts: LookParts
  readonly #db: WriteDb
  readonly #now: Date
  readonly #nowText: string
  readonly #taken: Taken
  readonly #per: Map<string, number>
  readonly #begun: { entry: Leased; sort: Sort }[] = []
  readonly #filled = new Set<string>()
  readonly #looked: string[] = []
  #left = 0
  #setAside = 0
  /** Whether first attempts wait for a place of the unproven: then who comes new gets in line with them. */
  #hasLine = false

  constructor(parts: LookParts, db: WriteDb, now: Date, { taken, perDestination }: Underway) {
    this.#parts = parts
    this.#db = db
    this.#now = now
    this.#nowText = now.toISOString()
    this.#taken = { ...taken }
    this.#per = new Map(perDestination)
  }

  /** What was parked until its time was over: it is tried no more, only ended. */
  async takeExpired(): Promise<void> {
    const sort = { isRetry: true, isProbe: false, isUnproven: false }
    const limit = this.#parts.bounds.half - this.#taken.retries
    if (limit <= 0) return
    for (const entry of await listParkedExpired(this.#db, { kind, now: this.#nowText, limit })) {
      if (!this.#has(sort)) return
      await this.#begin(entry, entry.destination, sort)
    }
  }

  /** What was parked at destinations that have room again, or whose next probe is due. */
  async takeParked(freed: readonly string[]): Promise<void> {
    const now = this.#nowText
    for (const name of freed.slice(0, limits.destinationsLooked)) {
      this.#looked.push(name)
      const row = await findDestination(this.#db, name)
      if (row && row.lookAt !== null && row.isFailing === 0) await this.#unpark(row)
    }
    const due = { now, isFailing: false }
    for (const row of await listDestinationsToLookAt(this.#db, due, limits.destinationsLooked))
      await this.#unpark(row)
    const places = this.#parts.bounds.quarter - this.#taken.probes
    if (places <= 0) return
    for (const row of await listDestinationsToLookAt(this.#db, { now, isFailing: true }, places)) {
      if (!this.#has(probe)) return
      const entry = await this.#nextParked(row.name)
      if (entry) await this.#probe(entry, row)
      else await putDestination(this.#db, { ...row, lookAt: null })
    }
  }

  /** First attempts, in turns. */
  async takeFirst(state: 'ready' | 'unproven'): Promise<void> {
    const isFull = () => !this.#has({ isRetry: false, isProbe: false, isUnproven: state === 'unproven' })
    this.#left = limits.queueLook
    this.#hasLine = state === 'ready' && (await hasFirstAttempt(this.#db, kind, 'unproven'))
    while (this.#left > 0 && !isFull()) {
      const entry = await this.#parts.rotations[state].next(this.#db, { kind, state, destination: '' })
      if (!entry) return
      await this.#consider(entry, false)
    }
  }

  /** What was tried before and is due. */
  async takeAgain(state: 'ready' | 'unproven'): Promise<void> {
    const sort = { isRetry: true, isProbe: false, isUnproven: state === 'unproven' }
    if (!this.#has(sort)) return
    this.#left = limits.queueLook
    this.#hasLine = false
    const wanted = { kind, now: this.#nowText, limit: this.#left }
    for (const entry of await listDueAgain(this.#db, wanted, state)) {
      if (!this.#has(sort)) return
      await this.#consider(entry, true)
    }
  }

  async result(): Promise<Looked> {
    const isFull = this.#taken.all >= this.#parts.bounds.total
    const waiting =
      isFull && (await hasFirstAttempt(this.#db, kind, 'ready'))
        ? 'anything'
        : (await hasFirstAttempt(this.#db, kind, 'unproven'))
          ? 'unproven'
          : 'nothing'
    return {
      begun: this.#begun,
      setAside: this.#setAside,
      filled: this.#filled,
      looked: this.#looked,
      waiting,
    }
  }

  #has(sort: Sort): boolean {
    return hasPlace(this.#taken, this.#parts.bounds, sort)
  }

  #room(name: string): number {
    return this.#parts.concurrencyPerDestination(name) - (this.#per.get(name) ?? 0)
  }

  /** One that is due: it begins, or it is put out of the way of the next look. */
  async #consider(entry: QueueEntryRow, isRetry: boolean): Promise<void> {
    this.#left--
    if (this.#parts.isUnderWay(entry.id)) {
      // The clock was moved on. What this process carries is its own as long as it carries it.
      await renewLease(this.#db, entry, isoAfter(this.#now, limits.leaseMs))
      return
    }
    const name = this.#parts.groupOf(entry.destination)
    const row = await findDestination(this.#db, name)
    if (row?.isFailing === 1) {
      const isDue = row.probeAt !== null && row.probeAt <= this.#nowText && !this.#per.has(name)
      if (isDue && this.#has(probe)) return this.#probe(entry, row)
      return this.#park(entry, row)
    }
    if (this.#room(name) <= 0) return this.#park(entry, row ?? answering(name, this.#nowText))
    const sort = { isRetry, isProbe: false, isUnproven: !this.#parts.isProven(name) }
    if (this.#has(sort) && !(sort.isUnproven && this.#hasLine)) return this.#begin(entry, name, sort)
    await setAsideEntry(this.#db, entry.id, 'unproven', name)
    this.#setAside++
    this.#hasLine ||= !isRetry
  }

  async #begin(entry: QueueEntryRow, destination: string, sort: Sort): Promise<void> {
    const leasedUntil = isoAfter(this.#now, limits.leaseMs)
    const lease = {
      destination,
      leasedBy: this.#parts.node,
      leasedUntil,
      // Counted and postponed before the network is touched: whatever kills this process now, the entry is not due
      // before its time, and never without the attempt having been counted.
      dueAt: leasedUntil,
      attempts: entry.attempts + 1,
      // Whoever held it until now has not come to an end.
      cutOffs: entry.cutOffs + (entry.leasedBy === null ? 0 : 1),
    }
    await leaseEntry(this.#db, { id: entry.id, ...lease })
    count(this.#taken, sort, 1)
    this.#per.set(destination, (this.#per.get(destination) ?? 0) + 1)
    this.#begun.push({ entry: { ...entry, ...lease, state: 'ready' }, sort })
  }

  /** The one attempt that a failing destination gets. Its next is due when this one is surely over, unless that is noted before. */
  async #probe(entry: QueueEntryRow, row: DestinationRow): Promise<void> {
    const probeAt = isoAfter(this.#now, limits.probeMaxMs)
    const lookAt = row.lookAt === null ? null : probeAt
    await putDestination(this.#db, { ...row, probeAt, lookAt })
    await this.#begin(entry, row.name, probe)
  }

  async #park(entry: QueueEntryRow, row: DestinationRow): Promise<void> {
    await setAsideEntry(this.#db, entry.id, 'parked', row.name)
    this.#setAside++
    this.#filled.add(row.name)
    if (row.lookAt !== null) return
    const lookAt = row.probeAt ?? isoAfter(this.#now, limits.queuePollMs)
    await putDestination(this.#db, { ...row, lookAt })
  }

  async #nextParked(destination: string): Promise<QueueEntryRow | undefined> {
    const of = { kind, state: 'parked', destination } as const
    return (await this.#parts.rotations.parked.next(this.#db, of)) ?? (await listParked(this.#db, of, 1))[0]
  }

  async #unpark(row: DestinationRow): Promise<void> {
    for (let room = this.#room(row.name); room > 0; room--) {
      const entry = await this.#nextParked(row.name)
      if (!entry) {
        if (row.failures === 0) await deleteDestination(this.#db, row.name)
        else await putDestination(this.#db, { ...row, lookAt: null })
        return
      }
      const isRetry = entry.attempts > 0
      const sort = { isRetry, isProbe: false, isUnproven: !this.#parts.isProven(row.name) }
      if (this.#has(sort)) await this.#begin(entry, row.name, sort)
      else if (sort.isUnproven) {
        await setAsideEntry(this.#db, entry.id, 'unproven', row.name)
        this.#setAside++
      } else break
    }
    // There is no room for more now. An attempt that ends says so before this time, unless it is another process's.
    this.#filled.add(row.name)
    await putDestination(this.#db, { ...row, lookAt: isoAfter(this.#now, limits.queuePollMs) })
  }
}
