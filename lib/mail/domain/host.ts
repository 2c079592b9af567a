import { reversedAddress } from '../../base/network.ts'
import type { Lookup } from '../signature/key.ts'
import { bounded, find, orWhenUnanswered } from './find.ts'
import { type Finding, finding, unanswered } from './finding.ts'
import { addressRecords, zoneFile } from './records.ts'

/** Names that nobody has on the internet (RFC 6761, RFC 6762, RFC 8375, ICANN's "internal"). */
const nobodys = /(?:^|\.)(?:local|localhost|localdomain|lan|internal|invalid|test|home\.arpa)$/

/** What is known here of the machine. */
interface Machine {
  /** The address records to publish for it, as lines of a zone file. */
  readonly ownRecords: () => Promise<string>
  /** Whether an address is known to be none of its own. */
  readonly isForeign: (address: string) => boolean
  /** How many other nodes work, which have the same name and addresses that are not known here. */
  readonly otherNodes: number
}

/**
 * Whether the server's name, which it says in EHLO, leads to an address, and each address back to the name (forward-confirmed reverse
 * DNS): many servers refuse mail from who can't say so. What DNS gives no answer for is a warning, and no error.
 */
export async function checkHost(
  hostname: string,
  lookup: Lookup,
  { ownRecords, isForeign, otherNodes }: Machine,
): Promise<Finding[]> {
  if (nobodys.test(hostname)) {
    const message =
      'the name that this server says in EHLO is nobody\'s on the internet, and others refuse mail for it: set "hostname" to a name of yours that leads here'
    return [finding('error', 'helo_name', hostname, message)]
  }
  const [ipv4, ipv6, alias] = await Promise.all(
    ['A', 'AAAA', 'CNAME'].map(type => orWhenUnanswered(find(lookup, hostname, type), undefined)),
  )
  if (ipv4 === undefined || ipv6 === undefined || alias === undefined) {
    return [unanswered(hostname, 'the addresses of this server')]
  }
  const addresses = [...ipv4, ...ipv6].filter(address => typeof address === 'string')
  if (addresses.length === 0) {
    const message = 'the name of this server has no address: nobody can deliver to it. Publish one'
    return [finding('error', 'host_without_address', hostname, message, await ownRecords())]
  }
  // Only a name that leads to this machine can lead to others of the same installation beside it.
  const mayBeNodes = otherNodes > 0 && !addresses.every(isForeign)
  const found = await Promise.all(
    addresses.map(async address => {
      if (!isForeign(address)) return checkReverse(hostname, address, lookup)
      if (mayBeNodes)
        return [
          leadsToNode(hostname, address, otherNodes),
          ...(await checkReverse(hostname, address, lookup)),
        ]
      // Its PTR is a stranger's.
      return [leadsElsewhere(hostname, address, await ownRecords())]
    }),
  )
  return [...(alias.length > 0 ? [isAlias(hostname, alias.map(String), addresses)] : []), ...found.flat()]
}

function leadsElsewhere(hostname: string, address: string, paste: string): Finding {
  const message = `the name of this server leads to ${address}, which is none of this machine's addresses: mail for you goes there. Let it lead here or, where that one passes mail on to here, add it to delivery.public_addresses`
  return finding('error', 'host_elsewhere', hostname, message, paste)
}

function leadsToNode(hostname: string, address: string, otherNodes: number): Finding {
  const nodes = otherNodes === 1 ? 'the other node' : `one of the ${otherNodes} other nodes`
  const message = `the name of this server leads to ${address}, too, which is none of this machine's addresses: it should be that of ${nodes}, whose addresses are not known here. Look there; if it is nobody's of them, take it out`
  return finding('hint', 'host_elsewhere', hostname, message)
}

function isAlias(hostname: string, targets: readonly string[], addresses: readonly string[]): Finding {
  const message = `the name is an alias of ${bounded(targets).join(', ')}, which an MX must not lead to (RFC 2181 §10.3): give it addresses of its own`
  const paste = zoneFile(addressRecords(hostname, bounded(addresses))).trimEnd()
  return finding('warning', 'host_is_alias', hostname, message, paste)
}

async function checkReverse(hostname: string, address: string, lookup: Lookup): Promise<Finding[]> {
  const { labels, family } = reversedAddress(address)!
  const name = `${labels}.${family === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`
  const found = await orWhenUnanswered(find(lookup, name, 'PTR'), undefined)
  if (found === undefined) return [unanswered(address, 'the PTR of the address')]
  const names = found.map(String)
  if (names.some(one => one.toLowerCase().replace(/\.$/, '') === hostname)) return []
  const is =
    names.length === 0 ? 'it has none' : `it is ${bounded(names).slice(0, 3).join(', ').slice(0, 300)}`
  const message = `the PTR of ${address} must be ${hostname}, and ${is}: large providers refuse mail from here. Whoever gave you the address sets it (it is called "reverse DNS")`
  return [finding('error', 'ptr_mismatch', address, message, hostname)]
}
