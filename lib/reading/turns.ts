import { blockOf } from '../base/network.ts'

/**
 * What waits, in turns: of each block of addresses the first of the party whose turn it is there, one block after the
 * other. A stranger with a hundred addresses of one block has one turn, as who has one address.
 */
export interface Turns<Item> {
  add(party: string, item: Item): void
  /** The same before all others of its party, in the next turn. */
  addFirst(party: string, item: Item): void
  /** Takes out the first, in the order of turns, that `fits`; of each party only its first is asked for. */
  take(fits: (item: Item) => boolean): Item | undefined
  /** Says whether it waited. */
  remove(item: Item): boolean
}

export function createTurns<Item>(): Turns<Item> {
  /** By block and party, both in the order of their turns. */
  const waiting = new Map<string, Map<string, Item[]>>()

  function itemsOf(party: string): { block: string; parties: Map<string, Item[]>; own: Item[] } {
    const block = blockOf(party)
    const parties = waiting.get(block) ?? new Map<string, Item[]>()
    const own = parties.get(party) ?? []
    waiting.set(block, parties)
    parties.set(party, own)
    return { block, parties, own }
  }

  function takeOf(parties: Map<string, Item[]>, fits: (item: Item) => boolean): Item | undefined {
    for (const [party, own] of parties) {
      if (!fits(own[0]!)) continue
      const item = own.shift()
      // Its next turn comes after those of the others.
      parties.delete(party)
      if (own.length > 0) parties.set(party, own)
      return item
    }
    return undefined
  }

  return {
    addFirst(party, item) {
      const { block, parties, own } = itemsOf(party)
      own.unshift(item)
      putFirst(parties, party)
      putFirst(waiting, block)
    },
    add(party, item) {
      itemsOf(party).own.push(item)
    },
    take(fits) {
      for (const [block, parties] of waiting) {
        const item = takeOf(parties, fits)
        if (item === undefined) continue
        waiting.delete(block)
        if (parties.size > 0) waiting.set(block, parties)
        return item
      }
      return undefined
    },
    remove(item) {
      for (const [block, parties] of waiting) {
        for (const [party, own] of parties) {
          const at = own.indexOf(item)
          if (at < 0) continue
          own.splice(at, 1)
          if (own.length === 0) parties.delete(party)
          if (parties.size === 0) waiting.delete(block)
          return true
        }
      }
      return false
    },
  }
}

function putFirst<Value>(map: Map<string, Value>, key: string): void {
  const others = [...map].filter(([other]) => other !== key)
  const value = map.get(key)!
  map.clear()
  map.set(key, value)
  for (const [each, one] of others) map.set(each, one)
}
