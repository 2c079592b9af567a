import type { Dns } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { bounceDomain } from '../address/bounce-domain.ts'
import { createDnsCache } from '../authentication/dns-cache.ts'
import { evaluateSpf, hasDmarcPolicy } from '../authentication/policy.ts'
import type { Lookup } from '../signature/key.ts'
import { bounded, find, findTexts } from './find.ts'
import {
  competingHosts,
  isSpfRecord,
  judgeDkim,
  judgeMx,
  judgeReturnPath,
  type Mx,
  type Purpose,
  type RecordFinding,
  type RecordFindings,
} from './judgement.ts'
import { readStsId } from './mta-sts.ts'
import { type DomainNames, keyName } from './records.ts'
import { findAddresses, type Sources } from './sources.ts'

/** One check of a domain's DNS records; what isn't known by then is left as it was. Less than `stopMs`. */
export const domainCheckMs = 8_000

/** What stands where the record of a further key is to stand. */
export interface KeyFinding {
  readonly status: RecordFinding
  readonly found: readonly string[]
}

export interface DomainFindings {
  readonly records: RecordFindings
  /** What stands where each record is to stand, as text; absent: not known. */
  readonly found: Partial<Record<Purpose, string[]>>
  /** Other hosts that get mail of the domain before us or as often; undefined: not known. */
  readonly competingHosts: readonly string[] | undefined
  /** Of further keys, by their selectors. */
  readonly keys: ReadonlyMap<string, KeyFinding>
}

/**
 * Asks DNS for the records of a domain and judges them by what they mean to others, not by their text. Takes at most
 * `timeoutMs` and never fails: what DNS does not answer is undefined, which is not the same as missing.
 */
export async function checkDomain(
  { domain, hostname, selector, publicKeyBase64, keys = [], stsId }: DomainNames,
  {
    dns,
    clock,
    sources,
    timeoutMs = domainCheckMs,
  }: { dns: Dns; clock: Clock; sources: Sources; timeoutMs?: number | undefined },
): Promise<DomainFindings> {
  // A memory for this check alone: who asks for a check has just changed something.
  const lookup = createDnsCache({ dns, clock })
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), timeoutMs)
  const within = <T>(work: Promise<T>) => Promise.race([work, late]).catch(() => undefined)
  try {
    const bounce = bounceDomain(domain)
    const mx = within(findMx(lookup, domain))
    const stsName = `mta-sts.${domain}`
    const [hosts, dkim, returnPath, spf, spfTexts, dmarc, sts, stsHost, keyTexts] = await Promise.all([
      mx,
      within(findTexts(lookup, `${selector}._domainkey.${domain}`)),
      within(findMx(lookup, bounce)),
      within(findSpf(lookup, bounce, hostname, sources)),
      within(findTexts(lookup, bounce)),
      within(findDmarc(lookup, domain)),
      stsId === undefined ? undefined : within(findTexts(lookup, `_${stsName}`)),
      stsId === undefined ? undefined : within(find(lookup, stsName, 'CNAME').then(all => all.map(String))),
      Promise.all(keys.map(key => within(findTexts(lookup, keyName(domain, key))))),
    ])
    const found = {
      ...(hosts && { mx: hosts.map(textOf) }),
      ...(dkim && { dkim }),
      ...(returnPath && { 'return-path': returnPath.map(textOf) }),
      ...(spfTexts && { spf: spfTexts }),
      ...(dmarc && { dmarc: dmarc.texts }),
      ...(sts && { 'mta-sts': sts }),
      ...(stsHost && { 'mta-sts-host': stsHost }),
    }
    return {
      found: Object.fromEntries(Object.entries(found).map(([purpose, texts]) => [purpose, bounded(texts)])),
      records: {
        mx: hosts && judgeMx(hostname, hosts),
        dkim: dkim && judgeDkim(publicKeyBase64, dkim),
        'return-path': returnPath && judgeReturnPath(hostname, returnPath),
        spf,
        dmarc: dmarc?.status,
        ...(stsId !== undefined && {
          'mta-sts': sts && judgeSts(stsId, sts),
          'mta-sts-host': stsHost && judgeAlias(hostname, stsHost),
        }),
      },
      keys: new Map(
        keys.map(({ selector: name, publicKeyBase64: key, algorithm }, index) => {
          const texts = keyTexts[index]
          return [name, { status: texts && judgeDkim(key, texts, algorithm), found: bounded(texts ?? []) }]
        }),
      ),
      competingHosts: hosts && competingHosts(hostname, hosts),
    }
  } finally {
    clearTimeout(timer)
  }
}

function judgeSts(id: string, texts: readonly string[]): RecordFinding {
  if (texts.length === 0) return 'missing'
  return readStsId(texts) === id ? 'valid' : 'invalid'
}

function judgeAlias(hostname: string, targets: readonly string[]): RecordFinding {
  if (targets.length === 0) return 'missing'
  return targets.every(target => target.toLowerCase().replace(/\.$/, '') === hostname) ? 'valid' : 'invalid'
}

function textOf({ priority, exchange }: Mx): string {
  // A null MX (RFC 7505) is written with the root as its host.
  return `${priority} ${exchange || '.'}`
}

async function findSpf(
  lookup: Lookup,
  domain: string,
  hostname: string,
  sources: Sources,
): Promise<RecordFinding> {
  if (!(await findTexts(lookup, domain)).some(isSpfRecord)) return 'missing'
  const addresses = await findAddresses(lookup, hostname, sources)
  const results = await Promise.all(
    addresses.map(address => evaluateSpf(lookup, { domain, address, helo: hostname })),
  )
  if (results.some(({ result }) => result !== 'pass' && result !== 'temperror')) return 'invalid'
  if (results.some(({ result }) => result === 'temperror')) return undefined
  // Nothing can pass for a server without an address.
  return results.length > 0 ? 'valid' : 'invalid'
}

/**
 * Whether a DMARC policy holds for a domain, its own or an inherited one, and what stands at its own name; undefined: DNS does not say.
 * @throws when DNS does not say
 */
async function findDmarc(
  lookup: Lookup,
  domain: string,
): Promise<{ readonly status: 'missing' | 'invalid' | 'valid'; readonly texts: string[] } | undefined> {
  const [hasPolicy, texts] = await Promise.all([
    hasDmarcPolicy(lookup, domain),
    findTexts(lookup, `_dmarc.${domain}`),
  ])
  if (hasPolicy === undefined) return undefined
  return { status: hasPolicy ? 'valid' : texts.length === 0 ? 'missing' : 'invalid', texts }
}

/** The MX set of a name; empty: it has none. @throws when DNS does not say */
export async function findMx(lookup: Lookup, name: string): Promise<Mx[]> {
  return (await find(lookup, name, 'MX')).filter(isMx)
}

function isMx(record: unknown): record is Mx {
  return typeof record === 'object' && record !== null && 'exchange' in record && 'priority' in record
}
