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
