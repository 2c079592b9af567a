import { destinationsKnown, Recent } from '../base/concurrency.ts'
import { type Clock, isoAfter } from '../base/time.ts'
import { findAccount } from '../store/account.ts'
import { findDestination, listDestinations } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import type { Store } from '../store/open.ts'
import { type Line, listDueEntries, listDueOfPod, listDuePods, type Part } from '../store/queue-claims.ts'
import { leaseEntries, renameDestination, renewLease } from '../store/queue-entries.ts'
import type { DestinationRow, QueueEntryRow } from '../store/tables.ts'
import {
  type DestinationMemory,
  defer,
  deferWaiting,
  queueMoved,
  type Showing,
} from './destination-health.ts'
import type { FastOrder } from './fast-order.ts'
import {
  asLeased,
  attemptsMade,
  isAnothers,
  type Kind,
  type Leased,
  LeaseLost,
  leaseMs,
  type Membership,
} from './lease.ts'
import { type Allowance, SlotLimits } from './slot-limits.ts'

/** What a claim reads where many entries are due: entries of all, pods, and entries of a pod, past those for destinations that are full. */
const queueFew = 64
const podsAtOnce = 16
const queueWindow = 2_000
/** How long after a probe of a destination that fails began the next one may begin. */
export const probeAgainMs = 120_000

export interface SchedulerOptions {
  readonly kind: Kind
  /** How many attempts are under way at once. */
  readonly concurrency: number
  /** How many of these are for the slow lane; a quarter unless given. */
  readonly slow?: number
  readonly allowanceOf: (destination: string) => Allowance
}

interface SchedulerParts {
  readonly store: Store
  readonly clock: Clock
  readonly members: Membership
  readonly memory: DestinationMemory
  readonly order: FastOrder
}

/** One attempt under way, as who makes it knows it. */
export interface Attempt {
  /** Whether it is the first one. */
  readonly isFirst: boolean
  /** Whether other mail waits for the slot that it has. */
  isWaitedFor(): boolean
  /** From now on the mail may have been taken. @throws LeaseLost if another process may have the entry by now */
  commit(): void
  /**
   * Mail for `domain` turned out to go to this destination: a group of mail servers, or the domain itself.
   * @returns whether it may have this attempt now; else the entry must be given back
   */
  mayGoTo(destination: string, domain: string): Promise<boolean>
  /** The destination that the attempt counts for. */
  readonly destination: string
  /** Whether nothing bad is known of it: that it answers again need not be noted (`Queue.note`). */
  readonly isClean: boolean
  /** Notes what the attempt has shown of its destination; `nothing`: it did not answer in time, or could not be tried. */
  showed(showing: Showing | 'nothing'): void
}

/** Claims what may begin. */
export interface Scheduler {
  /** Leases what may begin now; nothing if nothing is due, or no slot is free. Each entry must be ended. */
  claim(): Promise<Leased[]>
  /** An entry that was claimed is not under way any more. */
  end(entry: Leased): void
  attemptOf(entry: Leased): Attempt
}

type Lane = Line['lane']

/** An attempt under way, or chosen to be. */
interface Held {
  readonly row: QueueEntryRow
  readonly lane: Lane
  readonly isNew: boolean
  readonly isProbe: boolean
  /** The destination that it counts for. */
  name: string
  isHealthy: boolean
}

/** What one claim changes. */
interface Changes {
  readonly begin: Held[]
  /** Destinations whose one attempt begins. */
  readonly probes: Map<string, DestinationRow>
  /** Destinations that fail, and have entries that look due. */
  readonly failing: Map<string, DestinationRow>
  /** Domains whose entries go to a group. */
  readonly renamed: Map<string, string>
  /** Entries that are carried, and look due because the clock was moved. */
  readonly carried: QueueEntryRow[]
}

const everything = 'all'

/**
 * Chooses what begins, in two lanes: fast for first attempts, slow for everything else. In each lane, pods take turns, and new
 * destinations, which may hang, get two thirds of the slots. See docs/decisions/scheduler.md.
 */
export function createScheduler(parts: SchedulerParts, options: SchedulerOptions): Scheduler {
  const { store, clock, members, memory, order } = parts
  const { kind, concurrency } = options
  const slow = options.slow ?? Math.max(1, Math.floor(concurrency / 4))
  const mostIn = { fast: Math.max(1, concurrency - slow), slow }
  const underWay = new Map<string, Held>()
  const lanes = new Slots(8)
  const destinations = new Slots(destinationsKnown)
  const paces = new SlotLimits(clock, options.allowanceOf)
  /** The lanes, or of a pod its shares of them, that due mail found full at the last claim. */
  let waitedFor = new Set<string>()
  let hasSeveralPods = false
  /** The pod that was served last, of each part of the lanes. */
  const served = new Map<string, string>()

  const mostAt = (name: string) => paces.most(name, destinations.count(name))
  const hasRoomAt = (name: string, podId: string) => destinations.has(name, mostAt(name), podId)
  const lanesOf = ({ lane, isNew }: Pick<Held, 'lane' | 'isNew'>) => [
    { name: everything, most: concurrency },
    { name: lane as string, most: mostIn[lane] },
    ...(isNew ? [{ name: `new ${lane}`, most: Math.max(1, Math.floor((mostIn[lane] * 2) / 3)) }] : []),
  ]
  /** Whether a pod may have one more slot; if not, its mail waits for one. */
  function hasSlot(one: Pick<Held, 'lane' | 'isNew'>, podId: string): boolean {
    const full = lanesOf(one).find(({ name, most }) => !lanes.has(name, most, podId))
    if (full) waitedFor.add(lanes.count(full.name) < full.most ? `${podId} ${full.name}` : full.name)
    return full === undefined
  }

  /** A webhook is of one pod. Mail servers are shared where there are several pods: one must not have all slots when another comes. */
  function meetAt(name: string, podId: string): void {
    if (hasSeveralPods && kind === 'delivery') destinations.share(name)
    else destinations.meet(name, podId)
  }

  function enter(held: Held): void {
    const { row, name } = held
    for (const lane of lanesOf(held)) lanes.take(lane.name, row.podId)
    destinations.take(name, row.podId)
    paces.began(name)
    underWay.set(row.id, held)
  }

  function leave(held: Held): void {
    const { row, name } = held
    for (const lane of lanesOf(held)) lanes.leave(lane.name, row.podId)
    destinations.leave(name, row.podId)
    underWay.delete(row.id)
  }

  /** Decides about entries that are due, of which the first of each pod is next. */
  async function choose(part: Part, byPod: Map<string, QueueEntryRow[]>, changes: Changes): Promise<void> {
    const { lane, now } = part
    const rows = [...byPod.values()].flat()
    const names = rows.flatMap(({ destination }) => [destination, memory.groupOf(destination)])
    const found = kind === 'delivery' ? await listDestinations(store.read, [...new Set(names)]) : []
    const failing = new Map(found.map(row => [row.name, row]))

    function consider(row: QueueEntryRow): void {
      if (row.leasedBy !== null && (underWay.has(row.id) || isAnothers(row, members))) {
        changes.carried.push(row)
        return
      }
      const name = memory.groupOf(row.destination)
      const isOver = row.expiresAt <= now
      const health = failing.get(name)
      const isProbe = lane === 'slow' && health !== undefined && health.retryAt <= now
      const isNew = part.isKnown === 0 && !memory.isKnown(name)
      const held: Held = { row, lane, isNew, isProbe, name, isHealthy: health === undefined }
      meetAt(name, row.podId)
      // What is to be given up needs no server.
      if (!isOver && name !== row.destination) changes.renamed.set(row.destination, name)
      if (!isOver && health && !isProbe) changes.failing.set(name, health)
      else if ((isOver || hasRoomAt(name, row.podId)) && hasSlot(held, row.podId)) {
        if (isProbe && !isOver) {
          const probed = { ...health, retryAt: isoAfter(clock.now(), probeAgainMs) }
          failing.set(name, probed)
          changes.probes.set(name, probed)
        }
        enter(held)
        changes.begin.push(held)
        if (lane === 'fast') order.began(row)
        served.set(partName(part), row.podId)
      }
    }

    for (let pods = turnsFrom(byPod.keys(), served.get(partName(part))); pods.length > 0; )
      pods = pods.filter(podId => {
        const row = hasSlot({ lane, isNew: false }, podId) ? byPod.get(podId)!.shift() : undefined
        if (row) consider(row)
        return row !== undefined
      })
  }

  async function look(line: Line, changes: Changes): Promise<void> {
    const { lane } = line
    const full = lanesOf({ lane, isNew: false }).find(({ name, most }) => lanes.count(name) >= most)
    const few = await listDueEntries(store.read, line, full ? 1 : queueFew)
    if (full && few.length > 0) waitedFor.add(full.name)
    if (full) return
    for (const isKnown of [1, 0] as const) {
      const part = { ...line, isKnown }
      const rows = few.filter(row => row.isKnown === isKnown)
      if (lane === 'fast') rows.sort((one, other) => one.turn - other.turn)
      const byPod = few.length < queueFew ? Map.groupBy(rows, ({ podId }) => podId) : await listByPod(part)
      await choose(part, byPod, changes)
    }
  }

  /** Of the pods that are next some entries each, where many are due: however many that are, this takes no longer. */
  async function listByPod(part: Part): Promise<Map<string, QueueEntryRow[]>> {
    const { lane, isKnown } = part
    const after = served.get(partName(part)) ?? ''
    const next = await listDuePods(store.read, part, after, podsAtOnce)
    const more = after === '' ? [] : await listDuePods(store.read, part, '', podsAtOnce - next.length)
    const pods = [...new Set([...next, ...more])].filter(podId =>
      hasSlot({ lane, isNew: isKnown === 0 }, podId),
    )
    const limit = Math.ceil((mostIn[lane] - lanes.count(lane)) / Math.max(1, pods.length)) + 1
    const listOf = (podId: string) => {
      const full = [...destinations.names, ...paces.exhausted()].filter(name => !hasRoomAt(name, podId))
      return listDueOfPod(store.read, part, podId, full, { limit, window: queueWindow })
    }
    return new Map(await Promise.all(pods.map(async podId => [podId, await listOf(podId)] as const)))
  }

  /** Writes what was decided; returns the entries that are this process's now, and how many others were moved. */
  async function write(db: WriteDb, changes: Changes, at: Date): Promise<[Leased[], number]> {
    const now = at.toISOString()
    let moved = 0
    for (const [from, destination] of changes.renamed)
      moved += await renameDestination(db, { from, destination, limit: queueMoved })
    const leasedUntil = isoAfter(at, leaseMs)
    for (const row of changes.carried) await renewLease(db, row, leasedUntil)
    const ids = changes.begin.map(({ row }) => row.id)
    const leased = await leaseEntries(db, ids, { now, leasedBy: members.holder, leasedUntil })
    for (const row of changes.probes.values()) await defer(db, row)
    for (const row of changes.failing.values())
      if (!changes.probes.has(row.name)) moved += await deferWaiting(db, row)
    const begun = changes.begin.filter(({ row }) => leased.has(row.id))
    return [begun.map(({ row, name }) => asLeased({ ...row, destination: name }, members.holder, at)), moved]
  }

  return {
    async claim() {
      for (;;) {
        const at = clock.now()
        const now = at.toISOString()
        waitedFor = new Set()
        hasSeveralPods = ((await findAccount(store.read))?.podCount ?? 0) > 1
        if (hasSeveralPods)
          for (const name of [everything, 'fast', 'slow', 'new fast', 'new slow']) lanes.share(name)
        const changes: Changes = {
          ...{ begin: [], probes: new Map(), failing: new Map(), renamed: new Map(), carried: [] },
        }
        let written: [Leased[], number] = [[], 0]
        try {
          for (const lane of ['fast', 'slow'] as const) await look({ kind, lane, now }, changes)
          const isChanged =
            changes.begin.length + changes.carried.length + changes.failing.size + changes.renamed.size > 0
          // No fsync: a lease that is lost with the power is one that nobody holds any more.
          if (isChanged) written = await store.writeUnsynced(db => write(db, changes, at))
        } finally {
          const ours = new Set(written[0].map(({ id }) => id))
          for (const held of changes.begin) if (!ours.has(held.row.id)) leave(held)
        }
        const [leased, moved] = written
        if (leased.length > 0 || moved === 0) return leased
      }
    },

    end({ id }) {
      const held = underWay.get(id)
      if (held) leave(held)
    },

    attemptOf(entry) {
      const held = underWay.get(entry.id)!
      const { row } = held
      return {
        isFirst: attemptsMade(entry) === 1,
        isWaitedFor: () =>
          lanesOf(held).some(({ name }) => waitedFor.has(name) || waitedFor.has(`${row.podId} ${name}`)),
        get destination() {
          return held.name
        },
        get isClean() {
          // An attempt that failed meanwhile has had this process forget that it answers.
          return held.isHealthy && memory.isKnown(held.name)
        },
        commit() {
          if (!members.holds(entry.leasedBy)) throw new LeaseLost()
        },
        async mayGoTo(name, domain) {
          memory.lead(domain, name)
          if (name === held.name) return true
          const health = await findDestination(store.read, name)
          meetAt(name, row.podId)
          if (health || !underWay.has(row.id) || !hasRoomAt(name, row.podId)) return false
          destinations.leave(held.name, row.podId)
          paces.began(held.name, -1)
          destinations.take(name, row.podId)
          paces.began(name)
          held.name = name
          held.isHealthy = true
          return true
        },
        showed(showing) {
          if (showing !== 'nothing') paces.showed(held.name, showing)
          if (showing === 'answers' || showing === 'slows') memory.know(held.name)
          else memory.forget(held.name)
        },
      }
    },
  }
}

const partName = ({ lane, isKnown }: Part) => `${lane} ${isKnown}`

/** Names in their order, beginning behind the one that is given. */
function turnsFrom(names: Iterable<string>, after = ''): string[] {
  const sorted = [...names].sort()
  return [...sorted.filter(name => name > after), ...sorted.filter(name => name <= after)]
}

/**
 * Counts who holds the slots of many resources, such as lanes and destinations, and shares each among parties, such as pods.
 * A party that is not alone at a resource takes another slot only while it leaves as many free as it has. So one
 * party gets half at most, and a party that comes later finds some free.
 */
class Slots {
  readonly #taken = new Map<string, number>()
  readonly #ofParty = new Map<string, number>()
  /** The party that asked last at each resource; true once there were several. */
  readonly #parties: Recent<string | true>

  /** @param known of how many resources it is remembered whether several parties use them */
  constructor(known: number) {
    this.#parties = new Recent(known)
  }

  /** The resources of which a slot is taken. */
  get names(): Iterable<string> {
    return this.#taken.keys()
  }

  count(name: string): number {
    return this.#taken.get(name) ?? 0
  }

  /** Notes that a party wants slots of a resource. */
  meet(name: string, party: string): void {
    const known = this.#parties.get(name)
    if (known !== true) this.#parties.set(name, known === undefined || known === party ? party : true)
  }

  /** Notes that several parties want slots of a resource. */
  share(name: string): void {
    if (this.#parties.get(name) !== true) this.#parties.set(name, true)
  }

  /** Returns whether the party may take a slot of the resource, which has so many. */
  has(name: string, most: number, party: string): boolean {
    const free = most - this.count(name)
    if (free <= 0) return false
    return this.#parties.get(name) !== true || (this.#ofParty.get(`${party} ${name}`) ?? 0) < free
  }

  take(name: string, party: string): void {
    add(this.#taken, name, 1)
    add(this.#ofParty, `${party} ${name}`, 1)
  }

  leave(name: string, party: string): void {
    add(this.#taken, name, -1)
    add(this.#ofParty, `${party} ${name}`, -1)
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const now = (counts.get(key) ?? 0) + by
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}
