import { createPublicKey } from 'node:crypto'
import { recordsFound } from '../../base/lengths.ts'
import { dkimKeyBitsMin, dkimRecordLength, type Lookup } from '../signature/key.ts'
import { findMx } from './check.ts'
import { bounded, find, findTexts, orWhenUnanswered } from './find.ts'
import { type Finding, finding, unanswered } from './finding.ts'
import { otherHosts, readTags, strictestDmarc } from './judgement.ts'
import { type DomainNames, domainRecords, zoneFile } from './records.ts'
import type { Sources } from './sources.ts'
import { adviseSpf } from './spf-advice.ts'
import { adviseTransport, type FetchPolicy } from './transport-advice.ts'

/** Hosts that a warning names. */
export const competingHostsNamed = 20

interface Asked {
  readonly lookup: Lookup
  readonly sources: Sources
  /** The ACME directory that certificates are gotten from. */
  readonly acmeDirectory: string | undefined
  readonly fetchPolicy: FetchPolicy
}

/**
 * What of a domain's DNS is wrong or missing beside the records that it needs: why a key does not pass, SPF and DMARC that others
 * pass over, and what is good to have. What DNS gives no answer for is told as that.
 */
export async function adviseDomain(
  names: DomainNames,
  { lookup, sources, acmeDirectory, fetchPolicy }: Asked,
): Promise<Finding[]> {
  const { domain, hostname } = names
  const parts: readonly (readonly [subject: string, what: string, advice: Promise<Finding[]>])[] = [
    [domain, 'the MX', adviseMx(names, lookup)],
    [domain, 'SPF', adviseSpf(names, lookup, sources)],
    [domain, 'the DKIM key', adviseDkim(names, lookup)],
    [domain, 'DMARC', adviseDmarc(domain, lookup)],
    [domain, 'MTA-STS and TLS reports', adviseTransport(names, lookup, fetchPolicy)],
    [hostname, 'CAA', adviseCaa(hostname, acmeDirectory, lookup)],
  ]
  const found = await Promise.all(
    parts.map(([subject, what, advice]) => orWhenUnanswered(advice, [unanswered(subject, what)])),
  )
  return found.flat()
}

/** Whether other servers beside ours get the domain's mail, and how much of it (RFC 5321 §5.1). */
async function adviseMx({ domain, hostname }: DomainNames, lookup: Lookup): Promise<Finding[]> {
  const mx = await findMx(lookup, domain)
  const tell = (
    level: Finding['level'],
    isMeant: (theirs: number, ours: number) => boolean,
    messageOf: (hosts: string) => string,
  ) => {
    const hosts = otherHosts(hostname, mx, isMeant)
    const shown = bounded(hosts.slice(0, competingHostsNamed)).join(', ')
    return hosts.length === 0 ? [] : [finding(level, 'competing_mx', domain, messageOf(shown))]
  }
  const remedy = `if people read mail there, use a subdomain such as agents.${domain} here instead; if not, remove these MX records, or give them a higher priority number than that of ${hostname}`
  const isNullBeside = mx.length > 1 && mx.some(({ exchange }) => exchange === '' || exchange === '.')
  const nullBeside =
    'a null MX (`0 .`) next to other MX records is not valid, and some senders then send nothing (RFC 7505): delete it'
  return [
    ...(isNullBeside ? [finding('error', 'competing_mx', domain, nullBeside)] : []),
    ...tell(
      'error',
      (theirs, ours) => theirs < ours,
      hosts =>
        `all mail to this domain goes to ${hosts}, and to ${hostname} only what these can not be reached for: ${remedy}`,
    ),
    ...tell(
      'warning',
      (theirs, ours) => theirs === ours,
      hosts => `part of the mail to this domain goes to ${hosts} instead of ${hostname}: ${remedy}`,
    ),
    ...tell(
      'hint',
      (theirs, ours) => theirs > ours,
      hosts =>
        `mail to this domain goes to ${hosts} while ${hostname} can not be reached, and some senders go there first: remove these MX records unless they pass it on to here`,
    ),
  ]
}

/** Whether one policy stands at the domain, and whether those that it names for its reports have said that they take them. */
async function adviseDmarc(domain: string, lookup: Lookup): Promise<Finding[]> {
  const subject = `_dmarc.${domain}`
  const policies = (await findTexts(lookup, subject)).filter(text => /^v=DMARC1\b/i.test(text))
  if (policies.length > 1) {
    const message = `${policies.length} DMARC policies are published here, so receivers ignore all of them (RFC 7489 §6.6.3). Keep the strictest and delete the others`
    const strictest = strictestDmarc(policies) ?? ''
    const [value = ''] = bounded([strictest])
    const isWhole = value === strictest
    const record = { type: 'TXT', name: subject, value, priority: null }
    const paste = isWhole ? zoneFile([record]).trimEnd() : null
    return [finding('error', 'dmarc_several', subject, message, paste)]
  }
  const tags = readTags(policies[0] ?? '')
  const targets = `${tags.get('rua') ?? ''},${tags.get('ruf') ?? ''}`
    .slice(0, dkimRecordLength)
    .split(',')
    .map(uri => /^\s*mailto:[^@\s]+@([a-z0-9.-]+)/i.exec(uri)?.[1]?.toLowerCase().replace(/\.$/, ''))
    .filter(host => host !== undefined)
    .filter(host => host !== domain && !host.endsWith(`.${domain}`) && !domain.endsWith(`.${host}`))
  const asked = [...new Set(targets)].slice(0, recordsFound)
  return (await Promise.all(asked.map(host => judge(domain, host, lookup)))).flat()
}

async function judge(domain: string, host: string, lookup: Lookup): Promise<Finding[]> {
  const name = `${domain}._report._dmarc.${host}`
  const texts = await orWhenUnanswered(findTexts(lookup, name), undefined)
  if (texts === undefined) return [unanswered(name, `whether ${host} takes reports about ${domain}`)]
  if (texts.some(text => /^v=DMARC1\b/i.test(text))) return []
  const message = `${host} has not said that it takes reports about ${domain} (RFC 7489 §7.1), so it gets none: this must stand in its zone`
  const paste = zoneFile([{ type: 'TXT', name, value: 'v=DMARC1', priority: null }]).trimEnd()
  return [finding('warning', 'dmarc_reports_not_authorised', `_dmarc.${domain}`, message, paste)]
}

/** What CAs call themselves in CAA records (RFC 8659 §4.2), by the host of their ACME directory. */
const authorities: Readonly<Record<string, string>> = {
  'acme-v02.api.letsencrypt.org': 'letsencrypt.org',
  'acme-staging-v02.api.letsencrypt.org': 'letsencrypt.org',
  'acme.zerossl.com': 'sectigo.com',
  'dv.acme-v02.api.pki.goog': 'pki.goog',
  'acme.ssl.com': 'ssl.com',
  'api.buypass.com': 'buypass.com',
}

/**
 * Which CAs may give certificates for the server's name, by the closest name above it that says so (RFC 8659 §3).
 * @param directory the ACME directory that is in use, where one is
 */
async function adviseCaa(
  hostname: string,
  directory: string | undefined,
  lookup: Lookup,
): Promise<Finding[]> {
  const labels = hostname.split('.')
  const names = labels.map((_, index) => labels.slice(index).join('.'))
  const ours = directory === undefined ? undefined : authorities[new URL(directory).host]
  for (const name of names) {
    const records = await find(lookup, name, 'CAA')
    if (records.length === 0) continue
    const issuers = records.flatMap(issuerOf)
    if (ours === undefined || issuers.length === 0 || issuers.includes(ours)) return []
    const message = `the CA that certificates are gotten from is ${ours}, and CAA allows others alone: it will refuse (RFC 8659)`
    return [finding('error', 'caa_forbids', name, message, `${name}. 3600 IN CAA 0 issue "${ours}"`)]
  }
  const message =
    "any CA may give a certificate for this name (RFC 8659): name yours, for Let's Encrypt so as it stands here"
  const paste = `${hostname}. 3600 IN CAA 0 issue "${ours ?? 'letsencrypt.org'}"`
  return [finding('hint', 'caa_missing', hostname, message, paste)]
}

/** Without the parameters behind a semicolon; an empty one stands for nobody. */
function issuerOf(record: unknown): string[] {
  if (typeof record !== 'object' || record === null || !('issue' in record)) return []
  return [String(record.issue).split(';')[0]!.trim().toLowerCase()]
}

/** Why the first key of a domain does not pass, where that is more than that it is another one. */
async function adviseDkim(names: DomainNames, lookup: Lookup): Promise<Finding[]> {
  const record = domainRecords(names).find(one => one.purpose === 'dkim')!
  const texts = await findTexts(lookup, record.name)
  const said = (code: string, message: string) => [
    finding('error', code, record.name, message, zoneFile([record]).trimEnd()),
  ]
  if (texts.length > 1)
    return said('dkim_several', 'several records stand here, and which is taken is chance: leave ours')
  const [text] = texts
  if (text === undefined) return []
  const key = readTags(text).get('p')?.replace(/\s+/g, '')
  if (key === '') return said('dkim_revoked', 'the key is revoked (p= is empty): publish ours')
  if (key === undefined || key === names.publicKeyBase64) return []
  if (names.publicKeyBase64.startsWith(key)) {
    const message =
      'the key is cut off: some web forms take 255 characters of a text. Publish it as several strings, or ask who runs the DNS'
    return said('dkim_truncated', message)
  }
  const bits = bitsOf(key)
  if (bits === undefined) return said('dkim_broken', 'what stands in p= is no key: publish ours')
  if (bits < dkimKeyBitsMin)
    return said('dkim_weak', `a key of ${bits} bits is not believed (RFC 8301): publish ours`)
  return []
}

/** Of an RSA key; a stranger's record is as long as he likes, a key that is believed is not. */
function bitsOf(key: string): number | undefined {
  if (key.length > dkimRecordLength) return undefined
  try {
    const { asymmetricKeyDetails } = createPublicKey({
      key: Buffer.from(key, 'base64'),
      format: 'der',
      type: 'spki',
    })
    return asymmetricKeyDetails?.modulusLength
  } catch {
    return undefined
  }
}
