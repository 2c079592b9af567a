import { inTime } from '../../base/in-time.ts'
import { limits } from '../../base/limits.ts'
import { createAddressGuard, interfaceAddresses } from '../../courier/address-guard.ts'
import { findHostAddresses } from '../../courier/host-address.ts'
import { createDnsCache } from '../../mail/authentication/dns-cache.ts'
import { findDmarc } from '../../mail/domain/check.ts'
import { bounded, orWhenUnanswered } from '../../mail/domain/find.ts'
import { strictestDmarc } from '../../mail/domain/judgement.ts'
import { addressRecords, dmarcRecord, type ZoneRecord } from '../../mail/domain/records.ts'
import type { Domain } from '../../model/domain.ts'
import type { App } from '../app/app.ts'
import { hasLocalName } from './local-name.ts'
import { problemOf } from './present.ts'

/** Of the server's name, or of a domain. */
export type RecordToPublish = Domain['records'][number] | (ZoneRecord & { readonly purpose: 'host' })

/**
 * Returns all records to publish for a domain. The addresses of the server's name come first, if that name is below the domain or the
 * domain is the account's own. The DMARC record is left out if it would replace or weaken a policy that is published.
 */
export async function recordsToPublish(
  app: Pick<App, 'config' | 'dns' | 'clock'>,
  { domain, records }: Pick<Domain, 'domain' | 'records'>,
): Promise<RecordToPublish[]> {
  const { account_domain: own, hostname } = app.config
  const isOfHost = domain === own || hostname === domain || hostname.endsWith(`.${domain}`)
  const ofHost = isOfHost ? await hostRecords(app) : []
  const ours = dmarcRecord(domain).value
  const isOurs = records.some(one => one.purpose === 'dmarc' && one.status === 'valid' && one.value === ours)
  const ofDomain = isOurs ? records : await withDmarc(app, domain, records)
  return [...ofHost.map(one => ({ ...one, purpose: 'host' as const })), ...ofDomain]
}

/** The records with our DMARC record if no other is published for the domain or above it, not even a broken one, as DNS says now. */
async function withDmarc(
  app: Pick<App, 'config' | 'dns' | 'clock'>,
  domain: string,
  records: Domain['records'],
): Promise<Domain['records']> {
  const others = records.filter(({ purpose }) => purpose !== 'dmarc')
  const found = await askForDmarc(app, domain)
  if (!found || found.status === 'valid' || strictestDmarc(found.texts) !== undefined) return others
  const problem = problemOf('dmarc', found.status)
  const ours = { ...dmarcRecord(domain), status: found.status, found: found.texts, problem }
  return records.some(({ purpose }) => purpose === 'dmarc')
    ? records.map(one => (one.purpose === 'dmarc' ? ours : one))
    : [...others, ours]
}

/** The DMARC record of a domain, with the policy above it (RFC 9989 §4.10.1), asked in bounded time; undefined if DNS gave no answer. */
export async function askForDmarc(
  { config, dns, clock }: Pick<App, 'config' | 'dns' | 'clock'>,
  domain: string,
): Promise<Awaited<ReturnType<typeof findDmarc>>> {
  if (hasLocalName(config)) return { status: 'missing', texts: [] }
  const asked = orWhenUnanswered(findDmarc(createDnsCache({ dns, clock }), domain), undefined)
  const found = await inTime(asked, limits.dnsTimeoutMs, () => undefined)
  return found && { ...found, texts: bounded(found.texts) }
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
  const named = (await inTime(asked, limits.dnsTimeoutMs, () => [])).filter(one => own.includes(one))
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
