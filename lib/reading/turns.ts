/** What waits, in turns: of each party the first that waits, one party after the other. */
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
  /** In the order of their turns. */
  const waiting = new Map<string, Item[]>()
  return {
    addFirst(party, item) {
      const own = waiting.get(party) ?? []
      own.unshift(item)
      const others = [...waiting].filter(([other]) => other !== party)
      waiting.clear()
      for (const [each, items] of [[party, own] as const, ...others]) waiting.set(each, items)
    },
    add(party, item) {
      const own = waiting.get(party) ?? []
      waiting.set(party, own)
      own.push(item)
    },
    take(fits) {
      for (const [party, own] of waiting) {
        const item = own[0]!
        if (!fits(item)) continue
        own.shift()
        // Its next turn comes after those of the others.
        waiting.delete(party)
        if (own.length > 0) waiting.set(party, own)
        return item
      }
      return undefined
    },
    remove(item) {
      for (const [party, own] of waiting) {
        const at = own.indexOf(item)
        if (at < 0) continue
        own.splice(at, 1)
        if (own.length === 0) waiting.delete(party)
        return true
      }
      return false
    },
  }
}
