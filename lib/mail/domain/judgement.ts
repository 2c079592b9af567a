import type { DkimAlgorithm } from '../compose/dkim.ts'
import type { DomainRecord } from './records.ts'

/** What a record is as of a check; undefined: DNS gave no answer, so nothing is known of it. */
export type RecordFinding = 'missing' | 'invalid' | 'valid' | undefined

export interface Mx {
  readonly exchange: string
  readonly priority: number
}

/** What is found by its purpose alone; further keys are found one by one. */
export type Purpose = Exclude<DomainRecord['purpose'], `dkim-${string}`>
export type RecordFindings = Readonly<Partial<Record<Purpose, RecordFinding>>>

/** Hosts are compared as DNS does: whatever the case, with or without the final dot. */
function hostOf(exchange: string): string {
  return exchange.toLowerCase().replace(/\.$/, '')
}

/** The most preferred priority at which `hostname` stands in an MX set. */
function priorityOf(hostname: string, mx: readonly Mx[]): number | undefined {
  const ours = mx.filter(one => hostOf(one.exchange) === hostOf(hostname)).map(one => one.priority)
  return ours.length > 0 ? Math.min(...ours) : undefined
}

/** Valid when `hostname` is among the hosts, at whatever priority. */
export function judgeMx(hostname: string, mx: readonly Mx[]): RecordFinding {
  if (mx.length === 0) return 'missing'
  return priorityOf(hostname, mx) === undefined ? 'invalid' : 'valid'
}

/** Other hosts at the same or a more preferred priority than ours (RFC 5321 §5.1): they get part of the mail, or all. */
export function competingHosts(hostname: string, mx: readonly Mx[]): string[] {
  return otherHosts(hostname, mx, (theirs, ours) => theirs <= ours)
}

/** The other hosts of an MX set whose priority is as asked compared with our most preferred one; none if ours is not in it. A null MX names no host. */
export function otherHosts(
  hostname: string,
  mx: readonly Mx[],
  isMeant: (theirs: number, ours: number) => boolean,
): string[] {
  const ours = priorityOf(hostname, mx)
  if (ours === undefined) return []
  const others = mx.filter(one => isMeant(one.priority, ours)).map(one => hostOf(one.exchange))
  return [...new Set(others)].filter(host => host !== '' && host !== hostOf(hostname)).sort()
}

/** The hosts of an MX set but `hostname`; a null MX (RFC 7505) names no host. */
export function foreignHosts(hostname: string | undefined, mx: readonly Mx[]): string[] {
  const hosts = [...new Set(mx.map(one => hostOf(one.exchange)))]
  return hosts.filter(host => host !== '' && host !== hostname?.toLowerCase()).sort()
}

/** Bounces must come to us alone: the reverse-path domain is a name for nothing else. */
export function judgeReturnPath(hostname: string, mx: readonly Mx[]): RecordFinding {
  const finding = judgeMx(hostname, mx)
  return finding === 'valid' && competingHosts(hostname, mx).length > 0 ? 'invalid' : finding
}

/** Valid when every key that a verifier could pick is ours, and may sign mail by the algorithm and SHA-256 (RFC 6376 §3.6.1). */
export function judgeDkim(
  publicKeyBase64: string,
  texts: readonly string[],
  algorithm: DkimAlgorithm = 'rsa',
): RecordFinding {
  const keys = texts.map(readTags).filter(tags => tags.has('p') || tags.get('v') === 'DKIM1')
  if (keys.length === 0) return texts.length === 0 ? 'missing' : 'invalid'
  return keys.every(tags => isKey(tags, publicKeyBase64, algorithm)) ? 'valid' : 'invalid'
}

function isKey(
  tags: ReadonlyMap<string, string>,
  publicKeyBase64: string,
  algorithm: DkimAlgorithm,
): boolean {
  const allows = (tag: string, ...words: string[]) => {
    const value = tags.get(tag)
    return value === undefined || value.split(':').some(word => words.includes(word.trim().toLowerCase()))
  }
  return (
    tags.get('p')?.replace(/\s+/g, '') === publicKeyBase64 &&
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k')?.toLowerCase() ?? 'rsa') === algorithm &&
    allows('h', 'sha256') &&
    allows('s', '*', 'email')
  )
}

/** A tag-list (RFC 6376 §3.2); of a tag that stands twice the first. */
export function readTags(text: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    const name = part.slice(0, Math.max(at, 0)).trim()
    if (name !== '' && !tags.has(name)) tags.set(name, part.slice(at + 1).trim())
  }
  return tags
}

/** The strictest of the DMARC records among these texts, whether it is right or not; undefined: there is none. */
export function strictestDmarc(texts: readonly string[]): string | undefined {
  const policies = texts.filter(text => /^v=DMARC1\b/i.test(text))
  const policyOf = (text: string) => readTags(text).get('p')?.toLowerCase()
  const strictest = ['reject', 'quarantine'].map(each => policies.find(text => policyOf(text) === each))
  return strictest.find(text => text !== undefined) ?? policies[0]
}

/** What went wrong when a record was published, where what is found shows it: one of the slips that zone files and web forms invite. */
export function explainSlip(
  { type, name, value }: Pick<DomainRecord, 'type' | 'name' | 'value'>,
  found: readonly string[],
): string | undefined {
  if (type !== 'TXT') {
    const hosts = found.map(text => hostOf(text.slice(text.lastIndexOf(' ') + 1)))
    if (hosts.length === 0 || !hosts.every(host => isAppended(host, value, name))) return undefined
    return `The record points to ${hosts[0]}: its final dot is missing, so the DNS provider appended the domain. Write ${value}. with the dot in a zone file, or without the domain in a form.`
  }
  if (found.some(text => text.includes('\\;'))) {
    return 'The value has backslashes before its semicolons (\\;): publish it without them.'
  }
  const ours = keyOf(value)
  if (found.map(keyOf).some(key => key.length > leastCut && key !== ours && ours.startsWith(key))) {
    return 'The value is cut off: some web forms take only 255 characters. Publish it as several strings, or ask the DNS provider.'
  }
  return undefined
}

/** Whatever is shorter may stand at the start of every key, or be no key. */
const leastCut = 50

function keyOf(text: string): string {
  return readTags(text).get('p')?.replace(/\s+/g, '') ?? ''
}

/** Whether a host is ours with the end of the record's own name behind it. */
function isAppended(host: string, ours: string, name: string): boolean {
  const start = `${hostOf(ours)}.`
  return host.startsWith(start) && `.${hostOf(name)}`.endsWith(`.${host.slice(start.length)}`)
}

/** RFC 7208 §4.5 */
export function isSpfRecord(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}
