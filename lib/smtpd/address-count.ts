/** Counts what is open from each address, up to a limit. */
export interface AddressCount {
  /** Counts one more; false, and nothing is counted, when that is too many. */
  add(address: string): boolean
  remove(address: string): void
}

export function createAddressCount(limit: number): AddressCount {
  const counts = new Map<string, number>()
  return {
    add(address) {
      const count = counts.get(address) ?? 0
      if (count >= limit) return false
      counts.set(address, count + 1)
      return true
    },
    remove(address) {
      const count = (counts.get(address) ?? 0) - 1
      if (count > 0) counts.set(address, count)
      else counts.delete(address)
    },
  }
}
