import type { Held } from '../dialect/held.ts'

/**
 * Which writes of a transaction must not come between each other's statements, by their places in it: those of a chain hold something in common,
 * or each does with another of it, and keep their order. What is of different chains might as well be in different transactions.
 */
export function chainsOf(helds: readonly Held[]): number[][] {
  const chains = new Set<number[]>()
  const chainOf = new Map<string, number[]>()
  for (const [index, held] of helds.entries()) {
    const names = held.isOrderless ? [] : namesOf(held)
    const met = new Set(names.flatMap(name => (chainOf.has(name) ? [chainOf.get(name)!] : [])))
    const chain = [...[...met].flat().sort((a, b) => a - b), index]
    for (const one of met) chains.delete(one)
    for (const [name, one] of chainOf) if (met.has(one)) chainOf.set(name, chain)
    for (const name of names) chainOf.set(name, chain)
    chains.add(chain)
  }
  return [...chains]
}

/** What is held, by names of which no two are of different things. */
export function namesOf({ names = [], inboxes = [], messages = [] }: Held): string[] {
  return [
    ...names.map(one => `name ${one}`),
    ...inboxes.map(one => `inbox ${one}`),
    ...messages.map(one => `message ${one}`),
  ]
}
