import ipaddr from 'ipaddr.js'

/**
 * Whom an address is counted as: an IPv4 address itself, also when it is mapped into IPv6; of IPv6 the /64, all of which
 * is one subscriber's (RFC 6177), who could otherwise come from another address each time.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  const prefix = parsed.parts.slice(0, 4).map(part => part.toString(16))
  return `${prefix.join(':')}::/64`
}
