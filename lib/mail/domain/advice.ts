import { createPublicKey } from 'node:crypto'
import type { Dns } from '../../base/dns.ts'
import { limits } from '../../base/limits.ts'
import type { Finding } from './finding.ts'
import { answer } from './host.ts'
import { isSpfRecord, readTags } from './judgement.ts'
import { type DomainNames, domainRecords, zoneFile } from './records.ts'

/**
 * What of a domain's DNS is wrong or missing beside the records that it needs: why a key does not pass, SPF and DMARC that others
 * pass over, and what is good to have. What DNS gives no answer for is left out here.
 */
export async function adviseDomain(names: DomainNames, dns: Dns): Promise<Finding[]> {
  const { domain, selector } = names
  const texts = async (name: string) =>
    ((await answer(dns.resolveTxt(name))) ?? []).slice(0, limits.recordsFound).map(parts => parts.join(''))
  const [own, dkim, dmarc, sts, reports, caa] = await Promise.all([
    texts(domain),
    texts(`${selector}._domainkey.${domain}`),
    texts(`_dmarc.${domain}`),
    texts(`_mta-sts.${domain}`),
    texts(`_smtp._tls.${domain}`),
    answer(dns.resolve(names.hostname, 'CAA')),
  ])
  return [
    ...spfOf(domain, own),
    ...dkimOf(names, dkim),
    ...(await dmarcOf(domain, dmarc, texts)),
    ...goodToHave(domain, sts, reports),
    ...caaOf(names.hostname, caa),
  ]
}

/** The SPF of the domain itself: mail leaves under bounce.<domain>, but forwarders and other senders of the owner use it. */
function spfOf(domain: string, texts: readonly string[]): Finding[] {
  const records = texts.filter(isSpfRecord)
  if (records.length > 1) {
    const message = `${records.length} SPF records stand here, and who checks one takes none (RFC 7208 §4.5): leave one`
    return [{ level: 'error', code: 'spf_several', subject: domain, message, paste: records[0]! }]
  }
  const [record] = records
  if (record === undefined || !/(?:^| )\+?all(?: |$)/i.test(record)) return []
  const message =
    '"+all" lets the whole world send as this domain, and counts as spam: end it with "~all" or "-all"'
  const paste = record.replace(/(^| )\+?all(?= |$)/i, '$1~all')
  return [{ level: 'error', code: 'spf_allows_all', subject: domain, message, paste }]
}

function dkimOf(names: DomainNames, texts: readonly string[]): Finding[] {
  const record = domainRecords(names).find(one => one.purpose === 'dkim')!
  const said = (code: string, message: string): Finding[] => [
    { level: 'error', code, subject: record.name, message, paste: zoneFile([record]).trimEnd() },
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
  if (bits < limits.dkimKeyBitsMin)
    return said('dkim_weak', `a key of ${bits} bits is not believed (RFC 8301): publish ours`)
  return []
}

function bitsOf(key: string): number | undefined {
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

async function dmarcOf(
  domain: string,
  texts: readonly string[],
  ask: (name: string) => Promise<string[]>,
): Promise<Finding[]> {
  const subject = `_dmarc.${domain}`
  const policies = texts.filter(text => /^v=DMARC1\b/i.test(text))
  if (policies.length > 1) {
    const message = `${policies.length} DMARC policies stand here, and who checks one takes none (RFC 7489 §6.6.3): leave one`
    return [{ level: 'error', code: 'dmarc_several', subject, message, paste: policies[0]! }]
  }
  const targets = (readTags(policies[0] ?? '').get('rua') ?? '')
    .split(',')
    .map(uri => /^\s*mailto:[^@\s]+@([a-z0-9.-]+)/i.exec(uri)?.[1]?.toLowerCase())
    .filter(host => host !== undefined)
    .filter(host => host !== domain && !host.endsWith(`.${domain}`) && !domain.endsWith(`.${host}`))
  const refused = await Promise.all(
    [...new Set(targets)].slice(0, limits.recordsFound).map(async host => {
      const name = `${domain}._report._dmarc.${host}`
      return (await ask(name)).some(text => /^v=DMARC1\b/i.test(text)) ? [] : [{ host, name }]
    }),
  )
  return refused.flat().map(({ host, name }) => ({
    level: 'warning',
    code: 'dmarc_reports_not_authorised',
    subject,
    message: `${host} has not said that it takes reports about ${domain} (RFC 7489 §7.1), so it gets none: this must stand in its zone`,
    paste: `${name}. 3600 IN TXT "v=DMARC1"`,
  }))
}

function goodToHave(domain: string, sts: readonly string[], reports: readonly string[]): Finding[] {
  const found: Finding[] = []
  if (!sts.some(text => /^v=STSv1\b/i.test(text))) {
    const message =
      'there is no MTA-STS policy: others may deliver here without TLS, or to who intercepts (RFC 8461)'
    found.push({ level: 'hint', code: 'mta_sts_missing', subject: domain, message, paste: null })
  }
  if (!reports.some(text => /^v=TLSRPTv1\b/i.test(text))) {
    const message = 'nobody is told when TLS to this server fails (RFC 8460)'
    const paste = `_smtp._tls.${domain}. 3600 IN TXT "v=TLSRPTv1; rua=mailto:postmaster@${domain}"`
    found.push({ level: 'hint', code: 'tls_rpt_missing', subject: domain, message, paste })
  }
  return found
}

function caaOf(hostname: string, records: readonly unknown[] | undefined): Finding[] {
  if (records === undefined || records.length > 0) return []
  const message = "any CA may give a certificate for this name (RFC 8659): name yours, for Let's Encrypt so"
  const paste = `${hostname}. 3600 IN CAA 0 issue "letsencrypt.org"`
  return [{ level: 'hint', code: 'caa_missing', subject: hostname, message, paste }]
}
