import { limits } from '../base/limits.ts'
import type { Db } from '../store/dialect/dialect.ts'
import {
  findInboxInTurn,
  findPodInTurn,
  findPodInTurnAgain,
  listFewAgain,
  listInTurn,
  listOfInboxInTurn,
  listOfPodAgain,
  type Turned,
  type TurnedAgain,
} from '../store/queue-turns.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { NamesKnown } from './standing.ts'

/** Some attempts that wait. */
export interface Gathered {
  /** Gives the next in turn of those whose pod may, and moves the rotation on. */
  next(): QueueEntryRow | undefined
  /** Whether these are all that wait of who may. */
  readonly isAll: boolean
}

/** Of each pod the inboxes, and of each inbox what waits, the longest first. */
type ByPod = Map<string, Map<string, QueueEntryRow[]>>

/**
 * Whose turn it is among first attempts: one pod after the other, and in each one inbox after the other, so that who sends much
 * waits for itself alone. Where it stands is in memory and may be lost: the round begins anew.
 */
export class Rotation {
  #pod = ''
  /** Whether what somebody has who may have no more was met at the last gathering. */
  #hasPassed = false
  readonly #inboxes = new NamesKnown<string>(limits.podsInRotation)

  /**
   * Gathers at most some `count` that are next in turn, or all where few wait. What `next` gives must be taken or set aside
   * before it is gathered again.
   * @param mayHave whether a pod may have one more now; else it is passed over, and what it has waits where it is
   */
  async gather(
    db: Db,
    of: Turned,
    count: number,
    mayHave: (podId: string) => boolean = () => true,
  ): Promise<Gathered> {
    const few = this.#few(count)
    const may = this.#noting(mayHave)
    const rows = await listInTurn(db, of, few)
    const isAll = rows.length < few
    const byPod = isAll ? grouped(rows) : await this.#seek(db, of, count, may)
    return { isAll: isAll || byPod.size === 0, next: () => this.#next(byPod, may) }
  }

  /** The same among what was tried before, where those of a pod take no turns of inboxes: what is due longest is first. */
  async gatherAgain(
    db: Db,
    of: TurnedAgain,
    count: number,
    mayHave: (podId: string) => boolean,
  ): Promise<Gathered> {
    const few = this.#few(count)
    const may = this.#noting(mayHave)
    const rows = await listFewAgain(db, of, few)
    const isAll = rows.length < few
    const byPod = isAll ? grouped(rows, () => '') : await this.#seekAgain(db, of, count, may)
    return { isAll: isAll || byPod.size === 0, next: () => this.#next(byPod, may) }
  }

  /**
   * Where few wait one statement tells it; where many do, their number must not matter. What was passed over the last time would
   * be read again and again: then only some are asked for before the pods are.
   */
  #few(count: number): number {
    const few = 2 * count + 8
    return this.#hasPassed ? Math.min(few, limits.queueFew) : few
  }

  #noting(mayHave: (podId: string) => boolean): (podId: string) => boolean {
    this.#hasPassed = false
    return podId => {
      const may = mayHave(podId)
      if (!may) this.#hasPassed = true
      return may
    }
  }

  #next(byPod: ByPod, mayHave: (podId: string) => boolean): QueueEntryRow | undefined {
    const podId = after(byPod.keys(), this.#pod)
    if (podId === undefined) return undefined
    if (!mayHave(podId)) {
      byPod.delete(podId)
      return this.#next(byPod, mayHave)
    }
    const inboxes = byPod.get(podId)!
    const inboxId = after(inboxes.keys(), this.#inboxes.get(podId) ?? '')!
    const entries = inboxes.get(inboxId)!
    const entry = entries.shift()
    if (entries.length === 0) inboxes.delete(inboxId)
    if (inboxes.size === 0) byPod.delete(podId)
    this.#pod = podId
    this.#inboxes.note(podId, inboxId)
    return entry
  }

  /** The pods that are next, of each the inboxes that are, and of these as much as their share is. */
  async #seek(db: Db, of: Turned, count: number, mayHave: (podId: string) => boolean): Promise<ByPod> {
    const byPod: ByPod = new Map()
    const { names: pods } = await around(this.#pod, count, after => findPodInTurn(db, of, after), mayHave)
    const ofPod = Math.ceil(count / pods.length)
    for (const podId of pods) {
      const last = this.#inboxes.get(podId) ?? ''
      const { names: inboxes } = await around(last, ofPod, after => findInboxInTurn(db, of, podId, after))
      const ofInbox = Math.ceil(ofPod / inboxes.length)
      const entries = new Map<string, QueueEntryRow[]>()
      for (const inboxId of inboxes)
        entries.set(inboxId, await listOfInboxInTurn(db, of, { podId, inboxId }, ofInbox))
      byPod.set(podId, entries)
    }
    return byPod
  }

  /** Of pods whose repeats are not due yet so many are looked at, and the others the next time. */
  async #seekAgain(
    db: Db,
    of: TurnedAgain,
    count: number,
    mayHave: (podId: string) => boolean,
  ): Promise<ByPod> {
    const hasDue = async (podId: string) =>
      mayHave(podId) && (await listOfPodAgain(db, of, podId, 1)).length > 0
    const find = (after: string) => findPodInTurnAgain(db, of, after)
    const { names, from } = await around(this.#pod, count, find, hasDue, limits.podsLooked)
    if (names.length === 0) this.#pod = from
    const ofPod = Math.ceil(count / names.length)
    const byPod: ByPod = new Map()
    for (const podId of names) byPod.set(podId, new Map([['', await listOfPodAgain(db, of, podId, ofPod)]]))
    return byPod
  }
}

/** One for each state that attempts wait in: for first attempts, and for what is repeated. */
export type Rotations = Readonly<Record<'first' | 'again', Readonly<Record<Turned['state'], Rotation>>>>

/** @returns rotations that all begin anew */
export function newRotations(): Rotations {
  const ofStates = () => ({ ready: new Rotation(), unproven: new Rotation(), parked: new Rotation() })
  return { first: ofStates(), again: ofStates() }
}

/** What is gathered, behind one that was taken from it already. */
export function startingWith(first: QueueEntryRow, { next }: Gathered): () => QueueEntryRow | undefined {
  let given: QueueEntryRow | undefined = first
  return () => {
    const entry = given ?? next()
    given = undefined
    return entry
  }
}

/** At most `count` of the names that are meant after `last`, in the order in which they come round; and how far was looked. */
async function around(
  last: string,
  count: number,
  find: (after: string) => Promise<string | undefined>,
  isMeant: (name: string) => boolean | Promise<boolean> = () => true,
  steps = Number.POSITIVE_INFINITY,
): Promise<{ readonly names: string[]; readonly from: string }> {
  const names: string[] = []
  let [from, isRound] = [last, false]
  for (let left = steps; names.length < count && left > 0; left--) {
    const name = await find(from)
    const isPast = name === undefined || (isRound && name > last)
    if (isPast && isRound) break
    if (name === undefined) [from, isRound] = ['', true]
    else {
      if (await isMeant(name)) names.push(name)
      from = name
    }
  }
  return { names, from }
}

/** The first name after `last` in the order of names, or the first of all. */
function after(names: Iterable<string>, last: string): string | undefined {
  let first: string | undefined
  let next: string | undefined
  for (const name of names) {
    if (first === undefined || name < first) first = name
    if (name > last && (next === undefined || name < next)) next = name
  }
  return next ?? first
}

function grouped(
  rows: readonly QueueEntryRow[],
  turnOf: (row: QueueEntryRow) => string = row => row.inboxId,
): ByPod {
  const byPod: ByPod = new Map()
  for (const row of rows) {
    const inboxes = byPod.get(row.podId) ?? new Map<string, QueueEntryRow[]>()
    byPod.set(row.podId, inboxes)
    const entries = inboxes.get(turnOf(row))
    if (entries) entries.push(row)
    else inboxes.set(turnOf(row), [row])
  }
  return byPod
}
