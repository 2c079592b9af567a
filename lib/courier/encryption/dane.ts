import { hash, X509Certificate } from 'node:crypto'
import type { Answer } from 'dns-packet'
import type { SecureDns } from './secure-dns.ts'

/** Certificates of a chain that are compared with TLSA records. */
export const tlsChain = 10

/** A TLSA record that binds (RFC 6698 §2.1; RFC 7672 §3.1: usages DANE-TA and DANE-EE alone). */
export interface Tlsa {
  readonly usage: 2 | 3
  /** 0: the certificate; 1: its public key. */
  readonly selector: 0 | 1
  /** 0: as it is; 1: its SHA-256; 2: its SHA-512. */
  readonly matchingType: 0 | 1 | 2
  /** In hexadecimal. */
  readonly data: string
}

/** What DNS says of a host: no records, so that DANE asks for nothing; records; or nothing, and then nobody knows. */
export type DaneFinding =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'records'
      /** Those that can be used; none: encrypted, to whoever it is (RFC 7672 §2.2). */
      readonly tlsa: readonly Tlsa[]
      /** The name that they stand below. */
      readonly base: string
    }
  | { readonly kind: 'unknown'; readonly text: string }

/**
 * The TLSA records of a host whose addresses were authenticated: of the name that its CNAMEs lead to, else of its own
 * (RFC 7672 §2.2.3).
 * @param names in the order to ask
 */
export async function findTlsa(dns: SecureDns, names: readonly string[], port: number): Promise<DaneFinding> {
  for (const base of new Set(names)) {
    try {
      const { records, isAuthentic } = await dns.ask(`_${port}._tcp.${base}`, 'TLSA')
      if (isAuthentic && records.length > 0) return { kind: 'records', tlsa: records.flatMap(usable), base }
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
      if (code === undefined) throw error
      return { kind: 'unknown', text: `DNS failed for the TLSA records of ${base} (${code})` }
    }
  }
  return { kind: 'none' }
}

function usable(answer: Answer): Tlsa[] {
  if (answer.type !== 'TLSA') return []
  const { usage, selector, matchingType, certificate } = answer.data
  if (usage !== 2 && usage !== 3) return []
  if (selector !== 0 && selector !== 1) return []
  const length = { 1: 32, 2: 64 }[matchingType]
  if (matchingType !== 0 && length !== certificate.length) return []
  return [
    {
      usage,
      selector,
      matchingType: matchingType as Tlsa['matchingType'],
      data: certificate.toString('hex'),
    },
  ]
}

/**
 * Why a server's certificate is not what its TLSA records say; undefined when it is.
 * @param chain as the server presents it, its own first
 * @param names that a certificate below a trust anchor may be for (RFC 7672 §3.2.2)
 */
export function daneFault(
  tlsa: readonly Tlsa[],
  chain: readonly X509Certificate[],
  names: readonly string[],
  now: Date,
): string | undefined {
  const [leaf] = chain
  if (leaf === undefined) return 'the server shows no certificate'
  // RFC 7672 §3.1.1: neither the name nor the time in it counts.
  if (tlsa.some(record => record.usage === 3 && matches(record, leaf))) return undefined
  const anchors = tlsa.filter(({ usage }) => usage === 2)
  if (!anchors.some(anchor => isBelow(anchor, chain, now))) return 'no TLSA record matches its certificate'
  if (names.some(name => leaf.checkHost(name, { partialWildcards: false }) !== undefined)) return undefined
  return `its certificate is not for ${names[0]}`
}

function matches({ selector, matchingType, data }: Tlsa, certificate: X509Certificate): boolean {
  const bytes =
    selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  if (matchingType === 0) return bytes.toString('hex') === data
  return hash(matchingType === 1 ? 'sha256' : 'sha512', bytes) === data
}

/** Whether each certificate was issued by the next one, up to one that the record names, and all are in force. */
function isBelow(anchor: Tlsa, chain: readonly X509Certificate[], now: Date): boolean {
  const presented = chain.slice(0, tlsChain)
  const whole = anchor.selector === 0 && anchor.matchingType === 0 ? certificateOf(anchor.data) : undefined
  for (const [index, certificate] of presented.entries()) {
    if (!isInForce(certificate, now)) return false
    if (index > 0 && matches(anchor, certificate)) return true
    // An anchor that stands in DNS itself need not be shown (RFC 7672 §3.1.2).
    if (whole && isInForce(whole, now) && isIssuedBy(certificate, whole)) return true
    const issuer = presented[index + 1]
    if (issuer === undefined || !isIssuedBy(certificate, issuer)) return false
  }
  return false
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isInForce({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now && now <= validToDate
}

function certificateOf(hex: string): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(hex, 'hex'))
  } catch {
    return undefined
  }
}
