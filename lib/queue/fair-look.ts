import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { deleteDestination, listDestinationsToLookAt } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { listParked, listParkedExpired, type Waiting } from '../store/queue-turns.ts'
import type { DestinationRow, QueueEntryRow } from '../store/tables.ts'
import { Decisions, type Looked, Standings } from './decisions.ts'
import { type Holder, holdOn, isAnothers, type Membership } from './lease.ts'
import type { Awaited, Places, Sort } from './places.ts'
import { type Rotations, startingWith } from './rotation.ts'
import { answering, probed } from './standing.ts'
import { podAt } from './stays.ts'

export interface LookParts {
  readonly members: Membership
  readonly concurrencyPerDestination: (destination: string) => number
  /** How many of these attempts one pod may have. */
  readonly share: (destination: string, podId: string) => number
  readonly isUnderWay: (id: string) => boolean
  readonly isProven: (name: string) => boolean
  /** The group that a destination turned out to be of. */
  readonly groupOf: (destination: string) => string
  /** Whose turn it is, among those in each state: first attempts, and what is repeated. */
  readonly rotations: Rotations
}

/** What is under way when a look begins, and what waits. */
export interface Underway {
  readonly places: Places
  readonly perDestination: ReadonlyMap<string, number>
  /** By `podAt`. */
  readonly ofPod: ReadonlyMap<string, number>
  /** Destinations that were full and are not any more. */
  readonly freed: ReadonlySet<string>
  /** As it was found before the write: what came meanwhile is looked at next. */
  readonly waiting: Waiting
}

const kind = 'delivery'
const probe: Sort = { isRetry: false, isProbe: true, isUnproven: false }
const mayHangAgain: Sort = { isRetry: true, isProbe: false, isUnproven: true }
const toEnd: Sort = { isRetry: true, isProbe: false, isUnproven: false }

/** One look for mail that may begin: bounded, in one write. */
export function createLook(parts: LookParts) {
  return async (db: WriteDb, now: Date, underWay: Underway): Promise<Looked> => {
    const { waiting, freed } = underWay
    const look = new Look(parts, db, now, underWay)
    if (waiting.expired) await look.takeExpired()
    if (freed.size > 0 || waiting.toLookAt) await look.takeParked([...freed])
    if (waiting.toProbe) await look.takeProbes()
    if (waiting.ready) await look.takeFirst('ready')
    await look.takeFirst('unproven')
    if (waiting.unprovenAgain) await look.takeAgain('unproven')
    if (waiting.readyAgain) await look.takeAgain('ready')
    return look.result()
  }
}

class Look {
  readonly #parts: LookParts
  readonly #db: WriteDb
  readonly #holder: Holder
  readonly #nowText: string
  readonly #places: Places
  /** Pods that have as many places as they may, and what their new mail waits for. */
  readonly #bounded = new Map<string, Awaited>()
  readonly #per: Map<string, number>
  readonly #ofPod: Map<string, number>
  readonly #standings: Standings
  readonly #decisions: Decisions
  readonly #filled = new Set<string>()
  readonly #looked: string[] = []
  /** Whether first attempts of each state are left. */
  readonly #isLeft: { ready: boolean; unproven: boolean }
  /** Whether what was tried before is due for one of the unproven. */
  readonly #isDueAgain: boolean
  /** Whether first attempts wait for a place of the unproven: then who comes new gets in line with them. */
  #hasLine = false

  constructor(parts: LookParts, db: WriteDb, now: Date, underWay: Underway) {
    const { places, perDestination, ofPod, waiting } = underWay
    this.#parts = parts
    this.#db = db
    this.#holder = { node: parts.members.holder, now }
    this.#nowText = now.toISOString()
    this.#standings = new Standings(db)
    this.#decisions = new Decisions(db, this.#holder, this.#standings)
    this.#places = places.copy()
    this.#per = new Map(perDestination)
    this.#ofPod = new Map(ofPod)
    this.#isDueAgain = waiting.unprovenAgain
    this.#isLeft = { ready: waiting.ready, unproven: waiting.unproven }
  }

  /** What was parked until its time was over: it is tried no more, only ended. */
  async takeExpired(): Promise<void> {
    const limit = this.#places.bounds.half - this.#places.taken.retries
    if (limit <= 0) return
    for (const entry of await listParkedExpired(this.#db, { kind, now: this.#nowText, limit })) {
      if (!this.#places.has(toEnd)) break
      this.#begin(entry, entry.destination, toEnd)
    }
    await this.#decisions.write()
  }

  /** What was parked at destinations that have room again. */
  async takeParked(freed: readonly string[]): Promise<void> {
    for (const name of freed.slice(0, limits.destinationsLooked)) {
      this.#looked.push(name)
      const row = await this.#standings.of(name)
      if (row && row.lookAt !== null && row.isFailing === 0) await this.#unpark(row)
    }
    const due = { now: this.#nowText, isFailing: false }
    for (const row of await listDestinationsToLookAt(this.#db, due, limits.destinationsLooked))
      await this.#unpark(row)
  }

  /** One of what is parked at each destination whose next probe is due. */
  async takeProbes(): Promise<void> {
    if (!this.#places.has(probe)) return
    const due = { now: this.#nowText, isFailing: true }
    // More than there are places: those of a pod that has enough are passed over.
    for (const row of await listDestinationsToLookAt(this.#db, due, limits.destinationsLooked)) {
      if (!this.#places.has(probe)) break
      const entry = (await this.#listParked(row.name, 1, probe))()
      if (!entry) await this.#standings.put({ ...row, lookAt: null })
      else if (this.#places.hasFor(entry.podId, probe)) await this.#probe(entry, row)
      else await this.#lookSoon(row)
    }
    await this.#decisions.write()
  }

  /** First attempts, in turns. */
  async takeFirst(state: 'ready' | 'unproven'): Promise<void> {
    const sort = { isRetry: false, isProbe: false, isUnproven: state === 'unproven' }
    let left = limits.queueLook
    this.#hasLine = state === 'ready' && this.#isLeft.unproven
    const mayHave = (podId: string) => {
      const may = this.#places.hasFor(podId, sort)
      if (!may) this.#bounded.set(podId, state === 'ready' ? 'anything' : (this.#bounded.get(podId) ?? state))
      return may
    }
    while (this.#isLeft[state] && left > 0 && this.#places.has(sort)) {
      const most = Math.min(left, this.#places.free)
      const of = { kind, state, destination: '' }
      const gathered = await this.#parts.rotations.first[state].gather(this.#db, of, most, mayHave)
      for (let isSome = true; isSome && left > 0 && this.#places.has(sort); left--) {
        const entry = gathered.next()
        isSome = entry !== undefined
        if (entry) await this.#consider(entry, false)
        else this.#isLeft[state] = !gathered.isAll
      }
      await this.#decisions.write()
    }
  }

  /** What was tried before and is due, in turns of pods. */
  async takeAgain(state: 'ready' | 'unproven'): Promise<void> {
    const sort = { isRetry: true, isProbe: false, isUnproven: state === 'unproven' }
    const of = { kind, state, destination: '', now: this.#nowText }
    let left = limits.queueLook
    this.#hasLine = false
    const mayHave = (podId: string) => {
      const may = this.#places.hasFor(podId, sort)
      if (!may && !this.#bounded.has(podId)) this.#bounded.set(podId, 'nothing')
      return may
    }
    for (let isMore = true; isMore && left > 0 && this.#places.has(sort); ) {
      const most = Math.min(left, this.#places.free)
      const gathered = await this.#parts.rotations.again[state].gatherAgain(this.#db, of, most, mayHave)
      isMore = !gathered.isAll
      for (; left > 0 && this.#places.has(sort); left--) {
        const entry = gathered.next()
        if (!entry) break
        await this.#consider(entry, true)
      }
      await this.#decisions.write()
    }
  }

  result(): Looked {
    const { ready, unproven } = this.#isLeft
    const again = this.#isDueAgain && !this.#places.has(mayHangAgain) ? 'repeated' : 'nothing'
    return {
      begun: this.#decisions.begun,
      setAside: this.#decisions.setAside,
      filled: this.#filled,
      looked: this.#looked,
      pressing: {
        all: this.#places.free <= 0 && ready ? 'anything' : unproven ? 'unproven' : again,
        pods: this.#bounded,
      },
    }
  }

  #room(name: string): number {
    return this.#parts.concurrencyPerDestination(name) - (this.#per.get(name) ?? 0)
  }

  /** Whether its pod has as much there as it may. */
  #isAtShare({ podId }: QueueEntryRow, name: string): boolean {
    return (this.#ofPod.get(podAt(name, podId)) ?? 0) >= this.#parts.share(name, podId)
  }

  /** One that is due: it begins, or it is put out of the way of the next look. */
  async #consider(entry: QueueEntryRow, isRetry: boolean): Promise<void> {
    const { isUnderWay, members } = this.#parts
    if (isUnderWay(entry.id) || isAnothers(entry, members)) return holdOn(this.#db, entry, this.#holder)
    const name = this.#parts.groupOf(entry.destination)
    const row = await this.#standings.of(name)
    if (row?.isFailing === 1) {
      const isDue = row.probeAt !== null && row.probeAt <= this.#nowText && !this.#per.has(name)
      if (isDue && this.#places.hasFor(entry.podId, probe)) return this.#probe(entry, row)
      return this.#park(entry, row)
    }
    if (this.#room(name) <= 0 || this.#isAtShare(entry, name))
      return this.#park(entry, row ?? answering(name, this.#nowText))
    const sort = { isRetry, isProbe: false, isUnproven: !this.#parts.isProven(name) }
    if (this.#places.hasFor(entry.podId, sort) && !(sort.isUnproven && this.#hasLine))
      return this.#begin(entry, name, sort)
    this.#hasLine ||= !isRetry
    this.#waitUnproven(entry, name)
  }

  #begin(entry: QueueEntryRow, destination: string, sort: Sort): void {
    this.#places.count(entry.podId, sort, 1)
    const ofPod = podAt(destination, entry.podId)
    this.#per.set(destination, (this.#per.get(destination) ?? 0) + 1)
    this.#ofPod.set(ofPod, (this.#ofPod.get(ofPod) ?? 0) + 1)
    this.#decisions.begin(entry, destination, sort)
  }

  /** The one attempt that a failing destination gets. */
  async #probe(entry: QueueEntryRow, row: DestinationRow): Promise<void> {
    await this.#standings.put(probed(row, this.#holder.now))
    this.#begin(entry, row.name, probe)
  }

  async #park(entry: QueueEntryRow, row: DestinationRow): Promise<void> {
    this.#decisions.putAside(entry, 'parked', row.name)
    this.#filled.add(row.name)
    if (row.lookAt !== null) return
    const lookAt = row.probeAt ?? isoAfter(this.#holder.now, limits.queuePollMs)
    await this.#standings.put({ ...row, lookAt })
  }

  #waitUnproven(entry: QueueEntryRow, destination: string): void {
    this.#decisions.putAside(entry, 'unproven', destination)
    if (entry.attempts === 0) this.#isLeft.unproven = true
  }

  /**
   * What is parked at a destination, one after the other: first attempts in turns, else what is repeated; somewhat more than
   * `most`, for of some that are next the pod may have enough there. Who has enough in all is passed over while others are there.
   */
  async #listParked(destination: string, most: number, sort: Sort): Promise<() => QueueEntryRow | undefined> {
    const of = { kind, state: 'parked', destination } as const
    const { first: firsts, again: repeats } = this.#parts.rotations
    const gathered = await firsts.parked.gather(this.#db, of, 2 * most, podId =>
      this.#places.hasFor(podId, sort),
    )
    const first = gathered.next()
    if (first) return startingWith(first, gathered)
    const repeated = { ...sort, isRetry: !sort.isProbe }
    const again = await repeats.parked.gatherAgain(this.#db, { ...of, now: this.#nowText }, 2 * most, podId =>
      this.#places.hasFor(podId, repeated),
    )
    const firstAgain = again.next()
    if (firstAgain) return startingWith(firstAgain, again)
    // All that is there is of those who have enough: one tells it, unless each is to wait elsewhere.
    const rows = (await listParked(this.#db, of, sort.isUnproven ? 4 * most : 1)).values()
    return () => rows.next().value
  }

  async #unpark(row: DestinationRow): Promise<void> {
    if (!(await this.#fill(row.name))) {
      this.#standings.forget(row.name)
      if (row.failures === 0) await deleteDestination(this.#db, row.name)
      else await this.#standings.put({ ...row, lookAt: null })
      return
    }
    // There is no room for more now. An attempt that ends says so before this time, unless it is another process's.
    this.#filled.add(row.name)
    if (row.lookAt !== null && row.lookAt > this.#nowText) return
    await this.#lookSoon(row)
  }

  async #lookSoon(row: DestinationRow): Promise<void> {
    await this.#standings.put({ ...row, lookAt: isoAfter(this.#holder.now, limits.queuePollMs) })
  }

  /** Begins what is parked under a name, as far as the destination that it leads to has room; gives whether there may be more. */
  async #fill(parkedAt: string): Promise<boolean> {
    const group = this.#parts.groupOf(parkedAt)
    const isFailing = (await this.#standings.of(group))?.isFailing === 1
    // Where it leads nothing is begun but a probe, which is not one of these: each finds that out in its turn.
    const name = isFailing ? parkedAt : group
    for (;;) {
      const room = Math.min(this.#room(name), this.#places.free)
      if (room <= 0) return true
      const isUnproven = !this.#parts.isProven(name)
      const next = await this.#listParked(parkedAt, room, { isRetry: false, isProbe: false, isUnproven })
      let isSome = false
      let isOver = false
      while (this.#room(name) > 0 && this.#places.free > 0) {
        const entry = next()
        if (!entry) break
        isSome = true
        const sort = { isRetry: entry.attempts > 0, isProbe: false, isUnproven }
        if (this.#isAtShare(entry, name)) isOver = true
        else if (this.#places.hasFor(entry.podId, sort)) this.#begin(entry, name, sort)
        else if (sort.isUnproven) this.#waitUnproven(entry, name)
        else isOver = true
      }
      if (!isSome) return false
      await this.#decisions.write()
      if (isOver) return true
    }
  }
}
