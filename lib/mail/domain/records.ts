import { isIP } from 'node:net'
import { bounceDomain } from '../address/bounce-domain.ts'
import { type DkimAlgorithm, dkimRecord } from '../compose/dkim.ts'

/** A DNS record that a domain needs, as it is to be published. Names and hosts have no trailing dot. */
export interface DomainRecord {
  readonly type: 'MX' | 'TXT' | 'CNAME'
  readonly name: string
  /** The host of an MX; the whole text of a TXT, in one piece and without quotes. */
  readonly value: string
  readonly priority: number | null
  readonly purpose:
    | 'mx'
    | 'dkim'
    | 'return-path'
    | 'spf'
    | 'dmarc'
    | 'mta-sts'
    | 'mta-sts-host'
    | 'dkim-ed25519'
    | 'dkim-next'
    | 'dkim-previous'
}

/** A DKIM key beside the one of purpose `dkim`. */
export interface DomainKey {
  readonly selector: string
  readonly algorithm: DkimAlgorithm
  readonly publicKeyBase64: string
  readonly role: 'ed25519' | 'next' | 'previous'
}

/** What a line of a zone is made of. */
export type ZoneRecord = Pick<DomainRecord, 'name' | 'value' | 'priority'> & { readonly type: string }

export interface DomainNames {
  /** The mail domain, in A-labels. */
  readonly domain: string
  /** The name of the server that takes and sends the domain's mail. */
  readonly hostname: string
  /** DKIM: where under `_domainkey` the key stands, and the public key as `generateDkimKey` gives it. */
  readonly selector: string
  readonly publicKeyBase64: string
  readonly keys?: readonly DomainKey[] | undefined
  /** The id of our MTA-STS policy for the domain, where it has one. */
  readonly stsId?: string | undefined
}

/** Where the record of a key stands. */
export function keyName(domain: string, { selector }: Pick<DomainKey, 'selector'>): string {
  return `${selector}._domainkey.${domain}`
}

/**
 * The records that let `hostname` take and send the mail of a domain: MX, DKIM key, MX and SPF (RFC 7208) of the
 * reverse-path domain, and a DMARC policy that asks for nothing, for a domain that has none; then those of MTA-STS (RFC 8461
 * §3.1) and of further keys.
 */
export function domainRecords(names: DomainNames): DomainRecord[] {
  const { domain, hostname, selector, publicKeyBase64, keys = [], stsId } = names
  const bounce = bounceDomain(domain)
  return [
    mx(domain, hostname, 'mx'),
    txt(`${selector}._domainkey.${domain}`, dkimRecord(publicKeyBase64), 'dkim'),
    mx(bounce, hostname, 'return-path'),
    txt(bounce, `v=spf1 a:${hostname} -all`, 'spf'),
    dmarcRecord(domain),
    ...(stsId === undefined ? [] : stsRecords(domain, hostname, stsId)),
    ...keys.map(key =>
      txt(keyName(domain, key), dkimRecord(key.publicKeyBase64, key.algorithm), `dkim-${key.role}`),
    ),
  ]
}

/** A DMARC policy that asks for nothing. */
export function dmarcRecord(domain: string): DomainRecord {
  return txt(`_dmarc.${domain}`, 'v=DMARC1; p=none', 'dmarc')
}

function stsRecords(domain: string, hostname: string, id: string): DomainRecord[] {
  const name = `mta-sts.${domain}`
  return [
    txt(`_mta-sts.${domain}`, `v=STSv1; id=${id}`, 'mta-sts'),
    { type: 'CNAME', name, value: hostname, priority: null, purpose: 'mta-sts-host' },
  ]
}

/** The records that give a host these addresses. */
export function addressRecords(name: string, addresses: readonly string[]): ZoneRecord[] {
  return addresses.map(value => ({ type: value.includes(':') ? 'AAAA' : 'A', name, value, priority: null }))
}

/**
 * The records as lines of a zone file (RFC 1035 §5.1), with absolute names, to paste. One whose address is not known is a comment, for
 * servers load nothing of a zone with a line that they can't read.
 */
export function zoneFile(records: readonly ZoneRecord[]): string {
  return records
    .map(record => {
      const isUnknown = /^A(AAA)?$/.test(record.type) && isIP(record.value) === 0
      return `${isUnknown ? '; ' : ''}${record.name}. 3600 IN ${record.type} ${data(record)}\n`
    })
    .join('')
}

function data({ type, value, priority }: ZoneRecord): string {
  if (type === 'A' || type === 'AAAA') return value
  if (type === 'CNAME') return `${value}.`
  return type === 'MX' ? `${priority} ${value}.` : characterStrings(value)
}

/** A text as quoted strings of at most 255 bytes (RFC 1035 §3.3): a longer one is not a single string in DNS. */
function characterStrings(text: string): string {
  const bytes = Buffer.from(text).toString('latin1')
  return (bytes.match(/.{1,255}/gs) ?? ['']).map(part => `"${escaped(part)}"`).join(' ')
}

function escaped(part: string): string {
  return part
    .replace(/["\\]/g, '\\$&')
    .replace(/[^ -~]/g, byte => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`)
}

function mx(name: string, value: string, purpose: DomainRecord['purpose']): DomainRecord {
  return { type: 'MX', name, value, priority: 10, purpose }
}

function txt(name: string, value: string, purpose: DomainRecord['purpose']): DomainRecord {
  return { type: 'TXT', name, value, priority: null, purpose }
}
