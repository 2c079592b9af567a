import { recordsFound } from '../../base/lengths.ts'
import { bounceDomain } from '../address/bounce-domain.ts'
import { evaluateSpf } from '../authentication/policy.ts'
import type { Lookup } from '../signature/key.ts'
import { bounded, findTexts, orWhenUnanswered } from './find.ts'
import { type Finding, finding, unanswered } from './finding.ts'
import { isSpfRecord } from './judgement.ts'
import { type DomainNames, zoneFile } from './records.ts'
import { findAddresses, type Sources } from './sources.ts'

/** For what a receiver looks a name up: mail, mail without a sender (RFC 7208 §2.3), or nothing of ours. */
type Identity = 'mail' | 'helo' | 'other'

/** What is wrong with SPF at each name that mail of ours is judged by, and at the domain itself, which others of its owner use. */
export async function adviseSpf(
  { domain, hostname }: DomainNames,
  lookup: Lookup,
  sources: Sources,
): Promise<Finding[]> {
  const addresses = await orWhenUnanswered(findAddresses(lookup, hostname, sources), undefined)
  const found = await Promise.all([
    judge({ name: bounceDomain(domain), is: 'mail', helo: hostname, addresses }, lookup),
    judge({ name: domain, is: 'other', helo: hostname, addresses }, lookup),
    judge({ name: hostname, is: 'helo', helo: hostname, addresses }, lookup),
  ])
  const unknown = addresses ? [] : [unanswered(hostname, 'the addresses that SPF is evaluated for')]
  return [...found.flat(), ...unknown]
}

interface Judged {
  readonly name: string
  readonly is: Identity
  readonly helo: string
  /** Undefined: not known. */
  readonly addresses: readonly string[] | undefined
}

async function judge(judged: Judged, lookup: Lookup): Promise<Finding[]> {
  const { name, is } = judged
  const texts = await orWhenUnanswered(findTexts(lookup, name), undefined)
  if (texts === undefined) return [unanswered(name, 'the SPF record')]
  const records = texts.filter(isSpfRecord)
  const [record] = records
  if (record === undefined) return is === 'helo' ? [heloMissing(name)] : []
  if (records.length > 1) {
    const message = `${records.length} SPF records stand here, and who checks one takes none (RFC 7208 §4.5): leave one`
    return [finding('error', 'spf_several', name, message, await oneOf(judged, records, lookup))]
  }
  if (allowsAll(record)) {
    const message =
      '"+all" lets the whole world send as this domain, and counts as spam: end it with "~all" or "-all"'
    const closed = record.replace(/(^| )\+?all(?= |$)/i, '$1~all')
    return [finding('error', 'spf_allows_all', name, message, pasteOf(name, closed))]
  }
  return evaluate(judged, record, lookup)
}

function allowsAll(record: string): boolean {
  return /(?:^| )\+?all(?: |$)/i.test(record)
}

/** Which of several to leave: ours where mail is judged; elsewhere the first that lets our mail pass. Null: its owner has to choose. */
async function oneOf(
  { name, is, helo, addresses = [] }: Judged,
  records: readonly string[],
  lookup: Lookup,
): Promise<string | null> {
  if (is !== 'other') return ourSpf(name, helo)
  if (addresses.length === 0) return null
  for (const record of records.slice(0, recordsFound)) {
    if (allowsAll(record)) continue
    const alone: Lookup = async (asked, type) =>
      asked === name && type === 'TXT' ? [[record]] : lookup(asked, type)
    const results = await Promise.all(
      addresses.map(address => evaluateSpf(alone, { domain: name, address, helo })),
    )
    if (results.every(({ result }) => result === 'pass')) return pasteOf(name, record)
  }
  return null
}

async function evaluate(
  { name, is, helo, addresses = [] }: Judged,
  record: string,
  lookup: Lookup,
): Promise<Finding[]> {
  const results = await Promise.all(
    addresses.map(async address => ({
      address,
      ...(await evaluateSpf(lookup, { domain: name, address, helo })),
    })),
  )
  if (results.some(one => one.isTooLong)) {
    const message =
      'SPF asks for more than ten look-ups in DNS, or names too much that is not there, and who checks it stops (RFC 7208 §4.6.4): put addresses (ip4:, ip6:) in the place of include:, a and mx'
    return [finding('error', 'spf_too_many_lookups', name, message)]
  }
  if (results.some(({ result }) => result === 'permerror')) {
    const message = 'the SPF record can not be understood, and who checks it takes none (RFC 7208 §2.6.7)'
    return [finding('error', 'spf_broken', name, message, is === 'other' ? null : ourSpf(name, helo))]
  }
  return results.flatMap(({ address, result }) => {
    if (result === 'pass') return []
    if (result === 'temperror') return [unanswered(name, `SPF of ${address}`)]
    const said = `SPF says "${result}" of ${address}, from which mail leaves`
    if (is === 'mail') {
      const message = `${said}: others refuse it, or take it for spam`
      return [finding('error', 'spf_fails', name, message, ourSpf(name, helo))]
    }
    if (is === 'helo') {
      const message = `${said}: bounces and other mail without a sender are judged by this name`
      return [finding('warning', 'spf_fails', name, message, ourSpf(name, helo))]
    }
    const message = `${said}; mail of ours is judged by ${bounceDomain(name)}, so this matters to few`
    // What stands first is looked at first, before whatever ends the record.
    const withUs = record.replace(/^v=spf1/i, version => `${version} a:${helo}`)
    return [finding('hint', 'spf_without_us', name, message, pasteOf(name, withUs))]
  })
}

function heloMissing(hostname: string): Finding {
  const message = 'bounces and other mail without a sender are judged by this name, and it has no SPF'
  return finding('hint', 'spf_helo_missing', hostname, message, ourSpf(hostname, hostname))
}

function ourSpf(name: string, hostname: string): string {
  return pasteOf(name, `v=spf1 a:${hostname} -all`)!
}

/** A line of a zone; null for a record that is longer than what is shown of one: half of it would be wrong. */
function pasteOf(name: string, value: string): string | null {
  return bounded([value])[0] === value
    ? zoneFile([{ type: 'TXT', name, value, priority: null }]).trimEnd()
    : null
}
