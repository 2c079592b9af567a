/**
 * How much of what all of the account draw on together the keys of one pod may take: half of it, so that no tenant alone
 * leaves the others and the account with nothing. Keys of the account may take all.
 */
export function podShare(all: number): number {
  return Math.ceil(all / 2)
}

/** Counts what is open, by whom it is. */
export interface Tally<Name> {
  of(name: Name): number
  add(name: Name, change: 1 | -1): void
}

export function createTally<Name>(): Tally<Name> {
  const counts = new Map<Name, number>()
  return {
    of: name => counts.get(name) ?? 0,
    add(name, change) {
      const now = (counts.get(name) ?? 0) + change
      if (now === 0) counts.delete(name)
      else counts.set(name, now)
    },
  }
}
