import { findDestination, putDestination } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { type SetAside, setAsideEntries } from '../store/queue-entries.ts'
import type { Waiting } from '../store/queue-turns.ts'
import type { DestinationRow, QueueEntryRow } from '../store/tables.ts'
import { type Beginning, type Holder, lease } from './lease.ts'
import type { Leased } from './leased.ts'
import type { Places, Pressing, Sort } from './places.ts'

/** An entry that may begin now. */
export interface Begun {
  readonly entry: Leased
  readonly sort: Sort
  /** Whether no row speaks of its destination. */
  readonly isUnnoted: boolean
}

/** What one look has done, in a write that may yet be undone. */
export interface Looked {
  readonly begun: readonly Begun[]
  /** How many were put out of the way of the next look. */
  readonly setAside: number
  /** Destinations that have parked entries and no room. */
  readonly filled: ReadonlySet<string>
  /** Those of `freed` that were looked at. */
  readonly looked: readonly string[]
  readonly pressing: Pressing
}

/** The standings of destinations as one write knows them, each read once. */
export class Standings {
  readonly #db: WriteDb
  readonly #rows = new Map<string, DestinationRow | undefined>()

  constructor(db: WriteDb) {
    this.#db = db
  }

  async of(name: string): Promise<DestinationRow | undefined> {
    if (!this.#rows.has(name)) this.#rows.set(name, await findDestination(this.#db, name))
    return this.#rows.get(name)
  }

  async put(row: DestinationRow): Promise<void> {
    this.#rows.set(row.name, row)
    await putDestination(this.#db, row)
  }

  forget(name: string): void {
    this.#rows.delete(name)
  }
}

/**
 * What a look decides about entries. It is written for many at once, before it is asked again what waits: by as many statements
 * as there are destinations, and not as entries.
 */
export class Decisions {
  readonly begun: Begun[] = []
  /** How many were set aside. */
  setAside = 0
  readonly #db: WriteDb
  readonly #holder: Holder
  readonly #standings: Standings
  readonly #beginning: (Beginning & { readonly sort: Sort })[] = []
  readonly #aside: (SetAside & { readonly id: string })[] = []

  constructor(db: WriteDb, holder: Holder, standings: Standings) {
    this.#db = db
    this.#holder = holder
    this.#standings = standings
  }

  begin(entry: QueueEntryRow, destination: string, sort: Sort): void {
    this.#beginning.push({ entry, destination, sort })
  }

  putAside({ id }: QueueEntryRow, state: SetAside['state'], destination: string): void {
    this.#aside.push({ id, state, destination })
  }

  async write(): Promise<void> {
    const aside = this.#aside.splice(0)
    this.setAside += aside.length
    for (const [destination, there] of Map.groupBy(aside, one => one.destination))
      for (const [state, some] of Map.groupBy(there, one => one.state)) {
        const ids = some.map(({ id }) => id)
        await setAsideEntries(this.#db, ids, { state, destination })
      }
    const beginning = this.#beginning.splice(0)
    const leased = await lease(this.#db, beginning, this.#holder)
    for (const [index, entry] of leased.entries()) {
      const isUnnoted = (await this.#standings.of(entry.destination)) === undefined
      this.begun.push({ entry, sort: beginning[index]!.sort, isUnnoted })
    }
  }
}

const unprovenFirst: Sort = { isRetry: false, isProbe: false, isUnproven: true }
const anyRetry: Sort = { isRetry: true, isProbe: false, isUnproven: false }
const anyProbe: Sort = { isRetry: false, isProbe: true, isUnproven: false }

/**
 * Whether something of what waits could begin, or be set aside: a look that can do nothing costs a write.
 * @param freed destinations that were full and are not any more
 */
export function isWorthALook(waiting: Waiting, places: Places, freed: ReadonlySet<string>): boolean {
  if (freed.size > 0 || waiting.ready || waiting.toLookAt) return true
  if (waiting.unproven && places.has(unprovenFirst)) return true
  if (waiting.toProbe && places.has(anyProbe)) return true
  if (!places.has(anyRetry)) return false
  if (waiting.readyAgain || waiting.expired) return true
  return waiting.unprovenAgain && places.has({ ...unprovenFirst, isRetry: true })
}
