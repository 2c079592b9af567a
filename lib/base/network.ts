import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The name under which an address is counted. An IPv4 address counts as itself, also when it is mapped into IPv6. An IPv6
 * address counts as its /64: one subscriber has all of that (RFC 6177) and could come from another address each time.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  const prefix = parsed.parts.slice(0, 4).map(part => part.toString(16))
  return `${prefix.join(':')}::/64`
}

/**
 * An address in the one form of RFC 5952, or of four decimal numbers; undefined for what is none. Other spellings that some
 * programs take (`127.1`, `0x7f.0.0.1`) and addresses with a zone are none.
 */
export function canonicalAddress(text: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).toString()
  if (!ipaddr.IPv6.isValid(text) || text.includes('%')) return undefined
  return ipaddr.IPv6.parse(text).toRFC5952String()
}

/**
 * The block of addresses that one stranger can easily have together: of IPv4 the /24, of IPv6 the /48, which is what one
 * site gets (RFC 6177 §2). Its share keeps ten addresses of one network from taking what is there for all.
 * @param addressOrNetwork an address, or what `networkOf` makes of one; all else is a block of its own
 */
export function blockOf(addressOrNetwork: string): string {
  const address = addressOrNetwork.replace(/::\/64$/, '::')
  // Asked for each send and each reading; ipaddr.js finds out that it is none by an error that it throws and catches.
  if (isIP(address) === 0) return addressOrNetwork
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6) {
    const prefix = parsed.parts.slice(0, 3).map(part => part.toString(16))
    return `${prefix.join(':')}::/48`
  }
  return `${parsed.octets.slice(0, 3).join('.')}.0/24`
}

/** Tells whether an address (an IPv4 address mapped into IPv6 is one) lies in one of the networks, in CIDR form. */
export function createNetworkSet(networks: readonly string[]): (address: string) => boolean {
  const parsedNetworks = networks.map(network => ipaddr.parseCIDR(network))
  return address => {
    if (!ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return parsedNetworks.some(network => network[0].kind() === parsed.kind() && parsed.match(network))
  }
}

/**
 * An address as it is asked for in DNS (RFC 5782 §2.1, §2.4): the bytes of IPv4, or the nibbles of IPv6, last first;
 * undefined for what is no address.
 * @param mapped whether an IPv4 address that is mapped into IPv6 is taken for what it is, or as it stands
 */
export function reversedAddress(
  address: string,
  mapped: 'as IPv4' | 'as it is' = 'as IPv4',
): { readonly family: 'ipv4' | 'ipv6'; readonly labels: string } | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = mapped === 'as IPv4' ? ipaddr.process(address) : ipaddr.parse(address)
  const bytes = parsed.toByteArray()
  if (parsed instanceof ipaddr.IPv6) {
    const nibbles = bytes.map(byte => byte.toString(16).padStart(2, '0')).join('')
    return { family: 'ipv6', labels: [...nibbles].reverse().join('.') }
  }
  return { family: 'ipv4', labels: bytes.reverse().join('.') }
}

/** Counts what is open from each address, or each group of addresses, up to a limit. */
interface AddressCount {
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

/** How long one question to DNS may take. */
export const dnsTimeoutMs = 5_000

/** What mailboxd asks of DNS. It comes in through App; lib/courier/dns.ts answers with node:dns, tests with their own server. */
export interface Dns {
  resolveMx(name: string): Promise<{ exchange: string; priority: number }[]>
  resolve4(name: string): Promise<string[]>
  resolve6(name: string): Promise<string[]>
  resolveTxt(name: string): Promise<string[][]>
  /**
   * Any record type, in the form of node:dns `resolve(name, type)`; what mailauth asks with.
   * @param isFresh whether what mailboxd remembers is not asked; what remembers nothing needs not look at it
   */
  resolve(name: string, type: string, isFresh?: boolean): Promise<unknown[]>
  /** The names of an address (PTR). */
  reverse(address: string): Promise<string[]>
}

/** The code of the error for an answer that is longer than `dnsAnswerBytes`: it was given, and is of no use for good. */
export const tooLongCode = 'EMSGSIZE'

/** About what the records of an answer take: their texts, and a pointer to each part. */
export function answerBytes(records: readonly unknown[]): number {
  let bytes = 0
  for (const record of records) {
    bytes += 8
    if (typeof record === 'string') bytes += record.length
    else if (typeof record === 'object' && record !== null) bytes += answerBytes(Object.values(record))
  }
  return bytes
}
