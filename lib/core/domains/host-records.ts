import { dnsTimeoutMs } from '../../base/network.ts'
import { inTime } from '../../base/time.ts'
import { createAddressGuard, interfaceAddresses } from '../../courier/address-guard.ts'
import { findHostAddresses } from '../../courier/host-address.ts'
import { addressRecords, dmarcRecord, type ZoneRecord } from '../../mail/domain/records.ts'
import type { Domain } from '../../model/domain.ts'
import type { App } from '../app/app.ts'

/** Of the server's name, or of a domain. */
export type RecordToPublish = Domain['records'][number] | (ZoneRecord & { readonly purpose: 'host' })

/**
 * Returns all records to publish for a domain. The addresses of the server's name come first, if that name is below the domain or the
 * domain is the account's own. A DMARC record of others is left out: there is nothing to publish.
 */
export async function recordsToPublish(
  app: Pick<App, 'config' | 'dns' | 'clock'>,
  { domain, records }: Pick<Domain, 'domain' | 'records'>,
): Promise<RecordToPublish[]> {
  const { account_domain: own, hostname } = app.config
  const isOfHost = domain === own || hostname === domain || hostname.endsWith(`.${domain}`)
  const ofHost = isOfHost ? await hostRecords(app) : []
  const ours = dmarcRecord(domain).value
  const ofDomain = records.filter(({ purpose, value }) => purpose !== 'dmarc' || value === ours)
  return [...ofHost.map(one => ({ ...one, purpose: 'host' as const })), ...ofDomain]
}

/**
 * The address records of the server's name, to publish: the addresses of this machine that the name has already, or else those of
 * delivery.public_addresses, or else the public IPv4 ones of its interfaces, or else, behind NAT, words in the place of one.
 */
export async function hostRecords(
  { config: { hostname, delivery }, dns, clock }: Pick<App, 'config' | 'dns' | 'clock'>,
  own: readonly string[] = interfaceAddresses(),
): Promise<ZoneRecord[]> {
  const asked = findHostAddresses(dns, hostname).then(found => found ?? [])
  const named = (await inTime(asked, dnsTimeoutMs, () => [])).filter(one => own.includes(one))
  const open = publicOf(own, clock).filter(one => !one.includes(':'))
  const known = [named, delivery.public_addresses, open].find(some => some.length > 0)
  return addressRecords(hostname, known ?? ['<the public address of this machine>'])
}

/**
 * Whether an address is known to be none of this machine's: neither on an interface nor in delivery.public_addresses, one of which tells
 * a public one of its family. Behind NAT nothing here says whose it is.
 */
export function knowsForeign(
  {
    config: { delivery },
    clock,
  }: Pick<App, 'clock'> & {
    readonly config: { readonly delivery: { readonly public_addresses: readonly string[] } }
  },
  own: readonly string[] = interfaceAddresses(),
): (address: string) => boolean {
  const known = [...delivery.public_addresses, ...publicOf(own, clock)]
  return address =>
    known.some(one => one.includes(':') === address.includes(':')) && ![...known, ...own].includes(address)
}

/** Those of them that the Internet reaches. */
function publicOf(own: readonly string[], clock: App['clock']): string[] {
  const guard = createAddressGuard({ clock, allowNetworks: [], ownAddresses: () => [], ownPorts: () => [] })
  return own.filter(one => guard.refusal(one, 25) === undefined)
}
