import { networkOf } from './network.ts'

/** Counts what is open from each address, or each /64 of IPv6, up to a limit. */
export interface AddressCount {
  /** Counts one more; false, and nothing is counted, when that is too many. */
  add(address: string): boolean
  remove(address: string): void
}

export function createAddressCount(limit: number): AddressCount {
  const counts = new Map<string, number>()
  return {
    add(address) {
      const network = networkOf(address)
      const count = counts.get(network) ?? 0
      if (count >= limit) return false
      counts.set(network, count + 1)
      return true
    },
    remove(address) {
      const network = networkOf(address)
      const count = (counts.get(network) ?? 0) - 1
      if (count > 0) counts.set(network, count)
      else counts.delete(network)
    },
  }
}
