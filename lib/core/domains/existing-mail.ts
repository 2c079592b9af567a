import { type Dns, dnsTimeoutMs } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { interfaceAddresses } from '../../courier/address-guard.ts'
import { createDns } from '../../courier/dns.ts'
import { findHostAddresses } from '../../courier/host-address.ts'
import { createDnsCache } from '../../mail/authentication/dns-cache.ts'
import { findMx } from '../../mail/domain/check.ts'
import { bounded, orWhenUnanswered } from '../../mail/domain/find.ts'
import { competingHosts, foreignHosts } from '../../mail/domain/judgement.ts'
import { knowsForeign } from './host-records.ts'

interface Asked {
  readonly dns: Dns
  readonly clock: Clock
  readonly publicAddresses?: readonly string[]
}

/** The resolvers of the system, for questions that come before there is a configuration. */
export function systemDns(): Dns {
  return createDns({ servers: [], timeoutMs: dnsTimeoutMs })
}

/**
 * The MX hosts that receive the mail of a domain now before or next to this server; undefined if DNS gave no answer. A host with
 * this server's name counts as another server if its addresses are known to belong to another machine.
 */
export async function findMailElsewhere(
  { dns, clock, publicAddresses = [] }: Asked,
  domain: string,
  hostname: string,
  own: readonly string[] = interfaceAddresses(),
): Promise<string[] | undefined> {
  const mx = await orWhenUnanswered(findMx(createDnsCache({ dns, clock }), domain), undefined)
  if (mx === undefined) return undefined
  const all = foreignHosts(undefined, mx)
  const foreign = foreignHosts(hostname, mx)
  if (all.length > foreign.length) {
    const addresses = (await findHostAddresses(dns, hostname)) ?? []
    const isForeign = knowsForeign(
      { config: { delivery: { public_addresses: publicAddresses } }, clock },
      own,
    )
    return bounded(addresses.length > 0 && addresses.every(isForeign) ? all : competingHosts(hostname, mx))
  }
  return bounded(foreign)
}

/** What happens to a domain that receives mail elsewhere, and the name to use instead. */
export function describeMailElsewhere(domain: string, hosts: readonly string[]): string {
  return `${domain} already receives mail: its MX is ${hosts.join(', ')}. With the MX of this server, mail to the people there is split between the servers or lost. Use a subdomain for the agents, such as ${agentsOf(domain)}`
}

export function agentsOf(domain: string): string {
  return `agents.${domain}`
}
