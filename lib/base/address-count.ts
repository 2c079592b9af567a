/** Counts what is open from each address, or each group of addresses, up to a limit. */
export interface AddressCount {
  /** Counts one more; false, and nothing is counted, when that is too many. */
  add(address: string): boolean
  remove(address: string): void
}

/** @param groupOf whom an address is counted as (`networkOf`, `blockOf`) */
export function createAddressCount(limit: number, groupOf: (address: string) => string): AddressCount {
  const counts = new Map<string, number>()
  return {
    add(address) {
      const group = groupOf(address)
      const count = counts.get(group) ?? 0
      if (count >= limit) return false
      counts.set(group, count + 1)
      return true
    },
    remove(address) {
      const group = groupOf(address)
      const count = (counts.get(group) ?? 0) - 1
      if (count > 0) counts.set(group, count)
      else counts.delete(group)
    },
  }
}
