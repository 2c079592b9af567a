import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../base/time.ts'

/** How long the machine's own addresses are believed before they are asked for again. */
const ownAddressesMs = 10_000

type Address = ReturnType<typeof ipaddr.parse>
type Network = ReturnType<typeof ipaddr.parseCIDR>

export interface AddressGuardOptions {
  readonly clock: Clock
  /** Networks in CIDR form that may be reached although they are not public. */
  readonly allowNetworks: readonly string[]
  /** The addresses of this machine's interfaces, as the system says them now. */
  readonly ownAddresses: () => readonly string[]
  /** The ports that mailboxd listens on now. */
  readonly ownPorts: () => readonly number[]
}

/** Which addresses a connection that a stranger asked for may go to. */
export interface AddressGuard {
  /**
   * Why no connection may go to the address and port: a sentence's end that follows "points at" and names no address, fit
   * for whoever set the URL, or has the MX record. Undefined when it may. What is no IP address may not.
   */
  refusal(address: string, port: number): string | undefined
  /** Whether networks are allowed that are not public, so that names of such a network make sense. */
  readonly allowsNetworks: boolean
}

/** The addresses of this machine's interfaces now. */
export function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(one => one.address))
}

/** Public by the registries, yet a cloud's own service on every machine of it (Azure's metadata and DNS). */
const cloudServices = ['168.63.129.16']

/** IPv6 networks whose addresses carry IPv4 ones: at which bytes, and with which bits inverted. */
const carriers: readonly { network: Network; places: readonly number[][]; flip?: number }[] = [
  // Compatible and mapped (RFC 4291 §2.5.5), translated (RFC 7915 §2.1), NAT64 (RFC 6052 §2.1).
  { network: ipaddr.parseCIDR('::/96'), places: [[12, 13, 14, 15]] },
  { network: ipaddr.parseCIDR('::ffff:0:0/96'), places: [[12, 13, 14, 15]] },
  { network: ipaddr.parseCIDR('::ffff:0:0:0/96'), places: [[12, 13, 14, 15]] },
  { network: ipaddr.parseCIDR('64:ff9b::/96'), places: [[12, 13, 14, 15]] },
  // NAT64 of one's own (RFC 8215), by any length of prefix that fits into it (RFC 6052 §2.2).
  {
    network: ipaddr.parseCIDR('64:ff9b:1::/48'),
    places: [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  },
  // 6to4 (RFC 3056 §2); Teredo with its server, and its client inverted (RFC 4380 §4).
  { network: ipaddr.parseCIDR('2002::/16'), places: [[2, 3, 4, 5]] },
  { network: ipaddr.parseCIDR('2001::/32'), places: [[4, 5, 6, 7]] },
  { network: ipaddr.parseCIDR('2001::/32'), places: [[12, 13, 14, 15]], flip: 0xff },
]

const globalUnicast = ipaddr.parseCIDR('2000::/3')
const reasons: Readonly<Record<string, string>> = {
  loopback: 'this machine itself',
  private: 'a private network',
  uniqueLocal: 'a private network',
  carrierGradeNat: 'a private network',
  linkLocal: 'a link-local network',
  deprecatedSiteLocal: 'a private network',
  multicast: 'a multicast group',
  broadcast: 'the broadcast address',
  unspecified: 'no address in particular',
}

/**
 * Only what the registries say is public unicast may be reached, and what the allowed networks hold. IPv6 forms that
 * carry an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) are refused whole. Whatever is allowed, the ports
 * that we listen on are not reached on our own addresses. Throws when a network is not in CIDR form.
 */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { clock, ownPorts } = options
  const allowed = options.allowNetworks.map(network => ipaddr.parseCIDR(network))
  let own = new Set<string>()
  let ownUntilMs = Number.NEGATIVE_INFINITY

  function isOwn(address: Address): boolean {
    const nowMs = clock.monotonicMs()
    if (nowMs >= ownUntilMs) {
      own = new Set(options.ownAddresses().map(normal))
      ownUntilMs = nowMs + ownAddressesMs
    }
    return own.has(address.toNormalizedString())
  }

  function isHere(address: Address): boolean {
    const range = address.range()
    // A connection to the unspecified address arrives at this machine.
    return range === 'loopback' || range === 'unspecified' || isOwn(address)
  }

  return {
    allowsNetworks: allowed.length > 0,
    refusal(text, port) {
      if (!isAddress(text)) return 'something that is no IP address'
      const address = ipaddr.parse(text)
      if (ownPorts().includes(port) && [address, ...embedded(address)].some(isHere))
        return 'a port of this mail server'
      if (allowed.some(network => isIn(address, network))) return undefined
      const reason = notPublic(address)
      if (reason !== undefined) return reason
      return isOwn(address) ? 'this machine itself' : undefined
    },
  }
}

/** Strict, where ipaddr.js alone would read "127.1" and "0x7f.1" too. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && !text.includes('%'))
}

function normal(text: string): string {
  const [plain = ''] = text.split('%')
  return ipaddr.isValid(plain) ? ipaddr.parse(plain).toNormalizedString() : plain
}

function isIn(address: Address, network: Network): boolean {
  return address.kind() === network[0].kind() && address.match(network)
}

function notPublic(address: Address): string | undefined {
  const range = address.range()
  if (range !== 'unicast') return reasons[range] ?? 'a reserved range of addresses'
  if (cloudServices.includes(address.toString())) return 'a service of the cloud'
  // What stands outside was never given to anyone, or carries an IPv4 address (RFC 4291 §2.5.5, RFC 6052).
  if (address.kind() === 'ipv6' && !isIn(address, globalUnicast)) return 'a reserved range of addresses'
  return undefined
}

/** The IPv4 addresses that an IPv6 address carries by its prefix. */
function embedded(address: Address): Address[] {
  if (address.kind() === 'ipv4') return []
  const bytes = address.toByteArray()
  return carriers
    .filter(({ network }) => isIn(address, network))
    .flatMap(({ places, flip = 0 }) =>
      places.map(four => new ipaddr.IPv4(four.map(place => (bytes[place] ?? 0) ^ flip))),
    )
}
