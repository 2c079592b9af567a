import { createHash } from 'node:crypto'
import { type Finding, finding } from './finding.ts'

/** How long before a DNSSEC signature ends it is told. */
const dnssecSoonMs = 2 * 86_400_000

/** What the zone above says of a key of this one (RFC 4034 §5). */
export interface DelegationSigner {
  readonly keyTag: number
  readonly algorithm: number
  readonly digestType: number
  readonly digest: Buffer
}

/** RFC 4034 §2 */
export interface ZoneKey {
  readonly flags: number
  readonly algorithm: number
  readonly key: Buffer
}

/** When a signature holds (RFC 4034 §3), in seconds since 1970. */
export interface ZoneSignature {
  readonly covers: string
  readonly inception: number
  readonly expiration: number
}

export interface ZoneSigning {
  readonly signers: readonly DelegationSigner[]
  readonly keys: readonly ZoneKey[]
  /** Those of what was asked for. */
  readonly signatures: readonly ZoneSignature[]
}

/** DNSSEC signing of a zone: whether there is any, whether the zone above knows of it, and for how long it holds. */
export function adviseDnssec(zone: string, { signers, keys, signatures }: ZoneSigning, now: Date): Finding[] {
  if (signers.length === 0) {
    if (keys.length === 0) {
      const message =
        'the zone is not signed (DNSSEC): others can not tell forged answers from yours, and there is no DANE. Whoever runs the DNS turns it on'
      return [finding('hint', 'dnssec_unsigned', zone, message)]
    }
    const key = keys.find(one => (one.flags & secureEntryPoint) !== 0) ?? keys[0]!
    const message =
      'the zone is signed, and nobody can know: the zone above has no DS of its key. Give it to whoever you bought the domain from'
    return [finding('hint', 'dnssec_no_ds', zone, message, signerOf(zone, key))]
  }
  const known = signers.filter(one => digests.has(one.digestType))
  const isJoined = known.some(signer => keys.some(key => isOf(zone, signer, key)))
  if (known.length > 0 && !isJoined) {
    const message =
      'the zone above names a DNSSEC key that the zone has not: for everybody who validates, this domain is gone. Have the DS replaced, or taken away'
    const [key] = keys
    return [finding('error', 'dnssec_broken', zone, message, key ? signerOf(zone, key) : null)]
  }
  const nowSeconds = now.getTime() / 1000
  const invalid = signatures.find(one => one.expiration < nowSeconds || one.inception > nowSeconds)
  const covered = new Set(signatures.map(one => one.covers))
  if (invalid !== undefined || !covered.has('DNSKEY')) {
    const message =
      invalid === undefined
        ? 'the zone above says that the zone is signed, and its keys are not: for everybody who validates, this domain is gone. Have it signed again'
        : `a DNSSEC signature (of ${invalid.covers}) does not hold now (from ${dayOf(invalid.inception)} to ${dayOf(invalid.expiration)}): for everybody who validates, this domain is gone. Have the zone signed again, or see to the clock`
    return [finding('error', 'dnssec_expired', zone, message)]
  }
  const end = Math.min(...signatures.map(one => one.expiration))
  if (end - nowSeconds > dnssecSoonMs / 1000) return []
  const message = `a DNSSEC signature ends on ${dayOf(end)}: see that the zone is signed again in time`
  return [finding('warning', 'dnssec_ends_soon', zone, message)]
}

/** RFC 4034 §2.1.1 */
const secureEntryPoint = 1

/** RFC 4509, RFC 6605 and, of old, RFC 3658. */
const digests = new Map([
  [1, 'sha1'],
  [2, 'sha256'],
  [4, 'sha384'],
])

function isOf(
  zone: string,
  { digestType, digest, algorithm, keyTag }: DelegationSigner,
  key: ZoneKey,
): boolean {
  return (
    key.algorithm === algorithm && keyTagOf(key) === keyTag && digestOf(zone, key, digestType).equals(digest)
  )
}

function dataOf({ flags, algorithm, key }: ZoneKey): Buffer {
  // The third byte is the protocol, 3 for ever.
  return Buffer.concat([Buffer.from([flags >> 8, flags & 0xff, 3, algorithm]), key])
}

/** RFC 4034 §5.1.4: of the name in lower case, as it stands in a packet, and the data of the key. */
function digestOf(zone: string, key: ZoneKey, digestType: number): Buffer {
  const labels = zone
    .toLowerCase()
    .split('.')
    .map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]))
  return createHash(digests.get(digestType) ?? 'sha256')
    .update(Buffer.concat([...labels, Buffer.from([0]), dataOf(key)]))
    .digest()
}

/** RFC 4034, appendix B. */
function keyTagOf(key: ZoneKey): number {
  const sum = dataOf(key).reduce((total, byte, index) => total + (index % 2 === 0 ? byte << 8 : byte), 0)
  return (sum + (sum >>> 16)) & 0xffff
}

function signerOf(zone: string, key: ZoneKey): string {
  return `${zone}. 3600 IN DS ${keyTagOf(key)} ${key.algorithm} 2 ${digestOf(zone, key, 2).toString('hex')}`
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}
