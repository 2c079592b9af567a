import type { Lookup } from '../signature/key.ts'
import { find } from './find.ts'

/** Where our mail comes from: the addresses that are set for a family, or else those that DNS has for the server's name. */
export interface Sources {
  readonly ipv4: readonly string[]
  readonly ipv6: readonly string[]
  /** Whether mail leaves over IPv6 at all. */
  readonly useIpv6: boolean
}

/** The addresses that mail leaves from, as others see them. @throws when DNS does not say */
export async function findAddresses(
  lookup: Lookup,
  hostname: string,
  { ipv4, ipv6, useIpv6 }: Sources,
): Promise<string[]> {
  const found = await Promise.all([
    ipv4.length > 0 ? ipv4 : find(lookup, hostname, 'A'),
    useIpv6 ? (ipv6.length > 0 ? ipv6 : find(lookup, hostname, 'AAAA')) : [],
  ])
  return [...new Set(found.flat().filter(address => typeof address === 'string'))]
}
