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
