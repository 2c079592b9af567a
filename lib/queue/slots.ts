import { Recent } from '../base/concurrency.ts'

/**
 * Counts who holds the slots of many resources, such as lanes and destinations, and shares each among parties, such as pods.
 * A party that is not alone at a resource takes another slot only while it leaves as many free as it has. So one
 * party gets half at most, and a party that comes later finds some free.
 */
export class Slots {
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
