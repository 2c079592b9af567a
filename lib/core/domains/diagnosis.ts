import { isDiskFull, isStoragePassing } from '../../base/faults.ts'
import { dnsTimeoutMs } from '../../base/network.ts'
import { inTime } from '../../base/time.ts'
import { createAddressGuard } from '../../courier/address-guard.ts'
import {
  type AuthoritativeDns,
  createAuthoritativeDns,
  nameServerMs,
} from '../../courier/authoritative-dns.ts'
import { findSigning } from '../../courier/encryption/zone-signing.ts'
import { httpsGet } from '../../courier/https-get.ts'
import { createDnsCache } from '../../mail/authentication/dns-cache.ts'
import { adviseDomain } from '../../mail/domain/advice.ts'
import { adviseDnssec } from '../../mail/domain/dnssec-advice.ts'
import { find, orWhenUnanswered } from '../../mail/domain/find.ts'
import { type Finding, finding, unanswered } from '../../mail/domain/finding.ts'
import { checkHost } from '../../mail/domain/host.ts'
import { stsPolicyBytes } from '../../mail/domain/mta-sts.ts'
import { zoneFile } from '../../mail/domain/records.ts'
import type { Lookup } from '../../mail/signature/key.ts'
import type { Domain, RecordPurpose } from '../../model/domain.ts'
import { listNodes } from '../../store/nodes.ts'
import type { DomainRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { namesOf, runDomainCheck, sourcesOf } from './checks.ts'
import { getRowByName } from './domains.ts'
import { hostRecords, knowsForeign } from './host-records.ts'
import { hasLocalName } from './local-name.ts'
import { isNeeded, isSafeToPublish, shown } from './present.ts'

/** How long one part of an operator's check may take: DNS, a listener, the database. */
export const checkMs = 12_000

export { type Finding, finding }

/**
 * `not_well`: the records that it is verified by are right, and something else is wrong, so that "verified" would comfort nobody rightly.
 * `unknown`: it was verified, and of what it is verified by DNS gave no answer to this check.
 */
type DiagnosedDomain = Omit<Domain, 'status'> & {
  readonly status: Domain['status'] | 'not_well' | 'unknown'
}

/** A domain after a check, with all that was found about it, its host included. */
export interface Diagnosis {
  readonly domain: DiagnosedDomain
  readonly findings: readonly Finding[]
}

/**
 * Checks a domain as `/v1/domains/{id}/verify` does, and what is beside its records, for the operator: the name servers of
 * each zone are asked. It ends in bounded time, and says of what it has no answer for that it was not checked.
 * @throws Problem `not_found`, `domain_under_review`
 */
export async function diagnoseDomain(opened: App, nameOrId: string): Promise<Diagnosis> {
  if (hasLocalName(opened.config)) {
    const row = await getRowByName(opened, nameOrId)
    return {
      domain: await shown(opened, opened.store.read, row),
      findings: [isLocal(opened.config.hostname)],
    }
  }
  const dns = createAuthoritativeDns(opened.dns)
  const app: App = Object.create(opened, { dns: { value: dns } })
  const known = await getRowByName(app, nameOrId)
  const lookup = createDnsCache({ dns, clock: app.clock })
  const names = namesOf(app, known, [])
  const ownRecords = async () => zoneFile(await hostRecords(opened)).trimEnd()
  const otherNodes = await countOtherNodes(opened)
  const asked = {
    lookup,
    sources: sourcesOf(app),
    acmeDirectory: app.config.acme.directory,
    fetchPolicy: (domain: string) => fetchPolicy(app, domain),
  }
  const [checkedRecords, host, advice, signing] = await Promise.all([
    checkRecords(app, known),
    within(
      checkHost(names.hostname, lookup, { ownRecords, isForeign: knowsForeign(opened), otherNodes }),
      names.hostname,
      'the name and the addresses of this server',
    ),
    within(adviseDomain(names, asked), names.domain, 'what stands beside the records'),
    within(checkSigning(app, dns, names.domain), names.domain, 'DNSSEC'),
  ])
  const isWritten = 'row' in checkedRecords
  const { row, unanswered: without, unansweredKeys } = isWritten ? checkedRecords : unchecked(known)
  const checked = await shown(app, app.store.read, row)
  const told = new Set(advice.filter(({ level }) => level === 'error').map(aboutOf))
  const records = isWritten
    ? await tellAliases(findingsOf(checked, without, unansweredKeys), lookup)
    : [checkedRecords]
  // What advice says of a record is closer than that it is wrong.
  const others = records.filter(one => !(one.code.endsWith('_invalid') && told.has(aboutOf(one))))
  const silent = dns.silentZones().map(isSilent)
  const found = distinct([...host, ...others, ...advice, ...signing, ...silent])
  // Each name by itself says nothing then that is not said of all.
  const isSilentOfAll = found.length > 0 && found.every(({ code }) => code === 'dns_unanswered')
  const findings =
    isSilentOfAll && !(await answersAtAll(opened)) ? [noDns(checked.domain, app.config.dns.servers)] : found
  const isUnknown = checked.status === 'verified' && without.some(isNeeded)
  return diagnosisOf(isUnknown ? { ...checked, status: 'unknown' } : checked, findings)
}

/** A domain and its findings: an error makes it `not_well`, unless the error is that no resolver answers, which leaves it `unknown`. */
export function diagnosisOf(domain: DiagnosedDomain, findings: readonly Finding[]): Diagnosis {
  const isGood = domain.status === 'verified' || domain.status === 'unknown'
  const isRefused =
    isGood && findings.some(({ level, code }) => level === 'error' && code !== 'dns_unanswered')
  return { domain: isRefused ? { ...domain, status: 'not_well' } : domain, findings }
}

function isLocal(hostname: string): Finding {
  const message =
    'this is local mode: its name means this machine to everybody (RFC 6761), so no mail comes here from elsewhere, DNS was not asked, and no records are to be published. On a server mailboxctl setup asks for a name and a domain of yours, and says what to publish'
  return finding('hint', 'local_name', hostname, message)
}

type CheckedRecords = Awaited<ReturnType<typeof runDomainCheck>>

/** What is known of the records of a domain whose check could not be written down. */
const unchecked = (row: DomainRow): CheckedRecords => ({ row, unanswered: [], unansweredKeys: [] })

/** What a check of the records finds; or that it could not be written down, in bounded time: the rest of a diagnosis writes nothing. */
async function checkRecords(app: App, { id, domain }: DomainRow): Promise<CheckedRecords | Finding> {
  const write: App['store']['write'] = work => inTime(app.store.write(work), checkMs, tooLate)
  try {
    const store = Object.create(app.store, { write: { value: write } })
    return await runDomainCheck(Object.create(app, { store: { value: store } }), id, true)
  } catch (error) {
    if (isDiskFull(error))
      return notWritten(domain, 'the disk is full', 'Make room (df -h), then check again')
    if (!(error instanceof NotKept || isStoragePassing(error))) throw error
    return notWritten(domain, error.message, 'Mend that, then check again')
  }
}

class NotKept extends Error {
  override readonly name = 'NotKept'
}

const tooLate = () => {
  const message = `what is written was not kept within ${checkMs / 1000} seconds (a disk that hangs, or a standby that a server waits for)`
  return Promise.reject(new NotKept(message)) as never
}

function notWritten(domain: string, reason: string, advice: string): Finding {
  const message = `${reason}, so what a check of the records finds could not be written down, and nothing is said of them; the rest was looked at. ${advice}`
  return finding('error', 'check_not_written', domain, message)
}

/** The daemons that work beside the one of this data directory, which only a server of databases can have. */
async function countOtherNodes({ store, nodes }: App): Promise<number> {
  if (store.dialect === 'sqlite') return 0
  const rows = await listNodes(store.read)
  return rows.filter(({ id, state }) => state === 'up' && id !== nodes.id).length
}

/** A part of the check, or that it took too long. */
function within(work: Promise<Finding[]>, subject: string, what: string): Promise<Finding[]> {
  return inTime(work, checkMs, () => [unanswered(subject, what)])
}

async function checkSigning(app: App, dns: AuthoritativeDns, domain: string): Promise<Finding[]> {
  const own = await dns.findZone(domain)
  const above = own && (await dns.findZone(own.name.slice(own.name.indexOf('.') + 1)))
  if (!own?.name.includes('.') || !above) return [unanswered(domain, 'DNSSEC')]
  const places = { own: own.servers, above: above.servers }
  const signing = await orWhenUnanswered(findSigning(own.name, places, dnsTimeoutMs), undefined)
  if (signing === undefined) return [unanswered(own.name, 'DNSSEC')]
  return adviseDnssec(own.name, signing, app.clock.now())
}

/** As others fetch it, but that it may be at an address of this machine. */
async function fetchPolicy({ dns, clock, config }: App, domain: string) {
  const guard = createAddressGuard({
    clock,
    allowNetworks: config.delivery.allow_networks,
    ownAddresses: () => [],
    ownPorts: () => [],
  })
  const fetched = await httpsGet(`mta-sts.${domain}`, '/.well-known/mta-sts.txt', {
    dns,
    guard,
    port: 443,
    connectMs: nameServerMs,
    timeoutMs: dnsTimeoutMs,
    maxBytes: stsPolicyBytes,
  })
  if ('text' in fetched && fetched.status !== 200) {
    return { error: `the web server answered ${fetched.status}` }
  }
  return fetched
}

/** What is missing at a name with a CNAME can't be published there, whatever stands where it leads (RFC 1034 §3.6.2). */
function tellAliases(records: readonly Finding[], lookup: Lookup): Promise<Finding[]> {
  return Promise.all(
    records.map(async one => {
      if (!/_(missing|invalid)$/.test(one.code) || one.code.startsWith('mta_sts_host')) return one
      const [target] = await orWhenUnanswered(find(lookup, one.subject, 'CNAME'), [])
      if (target === undefined) return one
      const message = `A CNAME stands at this name (to ${String(target)}), and beside it nothing else can: remove it, then publish this record.`
      return finding(one.level, one.code, one.subject, message, one.paste)
    }),
  )
}

/** Whether the resolver says anything of what each one knows: that nothing was learnt in time may be the fault of the zones. */
async function answersAtAll({ dns, clock }: App): Promise<boolean> {
  const asked = find(createDnsCache({ dns, clock }), 'com', 'NS').then(() => true)
  return inTime(orWhenUnanswered(asked, false), dnsTimeoutMs, () => false)
}

function noDns(domain: string, servers: readonly string[]): Finding {
  const asked = servers.length > 0 ? `${servers.join(', ')} (dns.servers)` : 'the servers of /etc/resolv.conf'
  const message = `DNS gave no answer to any question: no mail can be sent, and nothing is known of this domain. Check that ${asked} can be reached from here and answer`
  return finding('error', 'dns_unanswered', domain, message)
}

function isSilent(zone: string): Finding {
  const message =
    'the name servers of the zone gave no answer, or not to all: what a resolver remembers of it was believed'
  return finding('warning', 'name_servers_silent', zone, message)
}

/** Which standard at which name: at one name stand several. */
function aboutOf({ code, subject }: Finding): string {
  return `${code.split('_')[0]} ${subject}`
}

/** Several parts may say the same of one name. */
function distinct(findings: readonly Finding[]): Finding[] {
  const known = new Set<string>()
  return findings.filter(({ code, subject, message }) => {
    const key = JSON.stringify([code, subject, message])
    return !known.has(key) && known.add(key)
  })
}

function findingsOf(
  domain: Domain,
  without: readonly RecordPurpose[],
  withoutKeys: readonly string[],
): Finding[] {
  const records = domain.records.flatMap((record): Finding[] => {
    const { purpose, type, name, status, found, problem } = record
    // Of a key only its role is its purpose, and there may be two of one role.
    if (withoutKeys.includes(name) || without.includes(purpose))
      return [unanswered(name, `the ${type} of ${name}`)]
    if (status === 'valid') return []
    const seen = found.length === 0 ? '' : ` Found: ${found.join(' | ')}`
    const level = isNeeded(purpose) ? 'error' : 'warning'
    const paste = isSafeToPublish(record) ? zoneFile([record]).trimEnd() : null
    const code = `${purpose.replaceAll('-', '_')}_${status}`
    return [finding(level, code, name, `${problem}${seen}`, paste)]
  })
  // What the MX set means is told by the advice, when it is known.
  const kept = without.includes('mx') ? domain.warnings : []
  const warnings = kept.map(({ code, message }) => finding('warning', code, domain.domain, message))
  const message = 'another pod has this domain, whose records were found first'
  const taken =
    domain.problem === 'domain_taken' ? [finding('error', 'domain_taken', domain.domain, message)] : []
  return [...records, ...taken, ...warnings]
}
