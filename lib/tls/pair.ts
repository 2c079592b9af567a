import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { userInfo } from 'node:os'
import { createSecureContext, rootCertificates } from 'node:tls'
import { oneLine } from '../base/text.ts'

/** Bytes of a file with a certificate and its chain, or with a key. */
const pemBytes = 256 * 1024

/** What a TLS server shows: PEM texts that belong together, for whom, and how long they hold. */
export interface Pair {
  readonly key: string
  /** The server's own certificate, and the chain after it if there is one. */
  readonly cert: string
  /** The host names in the certificate, in lower case; `*.example.com` stands for one label more. */
  readonly names: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
}

/** Where a pair stands. */
export interface PairPaths {
  readonly certificate: string
  readonly key: string
}

/** Something about one of the two files: what it is, with the repair, in one line. */
export interface Finding {
  readonly file: keyof PairPaths
  readonly message: string
}

/** The certificate or its key can't be used; the message says which file, why, and the repair. */
export class CertificateFault extends Error {
  override readonly name = 'CertificateFault'
  readonly file: keyof PairPaths

  constructor({ file, message }: Finding, options?: ErrorOptions) {
    super(message, options)
    this.file = file
  }
}

/** When a certificate is so near to its end that its owner is told. */
const soonMs = 14 * 86_400_000

/** A pair that can be used, and what is said of it at one instant. */
interface CheckedPair {
  readonly pair: Pair
  /** It has expired, or is not valid yet. TLS works with it, and who delivers to port 25 mostly does not mind; others refuse it. */
  readonly outOfTime: Finding | undefined
  /** What is doubtful. */
  readonly warnings: readonly Finding[]
}

/**
 * Reads a certificate and its key (PEM), and what is wrong or doubtful about them at the instant `now` although they can be used.
 * @throws CertificateFault
 */
export async function readPair(paths: PairPaths, now: Date): Promise<CheckedPair> {
  const cert = await readPem('certificate', paths.certificate)
  const key = await readPem('key', paths.key)
  return checkPair(paths, { cert, key }, now)
}

/**
 * The same for texts that were read already; the paths are named in what is said.
 * @throws CertificateFault
 */
export function checkPair(
  paths: PairPaths,
  { cert, key }: Pick<Pair, 'cert' | 'key'>,
  now: Date,
): CheckedPair {
  const [leaf, ...chain] = parseCertificates(paths.certificate, cert)
  const privateKey = parseKey(paths.key, key)
  requireKeyOf(paths, leaf, chain, privateKey)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CertificateFault(
      { file: 'certificate', message: `${paths.certificate} is not taken by TLS: ${why}` },
      { cause: error },
    )
  }
  const pair = { key, cert, names: namesOf(leaf), notBefore: leaf.validFromDate, notAfter: leaf.validToDate }
  const outOfTime = findOutOfTime(paths, pair, now)
  const doubts = [outOfTime ? undefined : soonOver(pair, now), chainWarning([leaf, ...chain], now)]
  const warnings = doubts
    .filter(doubt => doubt !== undefined)
    .map(doubt => ({ file: 'certificate' as const, message: `${paths.certificate} ${doubt}` }))
  return { pair, outOfTime, warnings }
}

function soonOver({ notAfter }: Pair, now: Date): string | undefined {
  if (notAfter.getTime() - now.getTime() > soonMs) return undefined
  return `expires within 14 days, at ${notAfter.toISOString()}: renew it`
}

async function readPem(file: keyof PairPaths, path: string): Promise<string> {
  try {
    const bytes = Buffer.concat(await createReadStream(path, { end: pemBytes }).toArray())
    if (bytes.length <= pemBytes) return bytes.toString('utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const isForbidden = error instanceof Error && 'code' in error && error.code === 'EACCES'
    const message = `${path} can not be read${isForbidden ? ` by ${thisUser()}` : ''}: ${why}`
    throw new CertificateFault({ file, message }, { cause: error })
  }
  throw new CertificateFault({
    file,
    message: `${path} is larger than ${pemBytes} bytes: is it a PEM file?`,
  })
}

function thisUser(): string {
  try {
    return `the user ${userInfo().username}`
  } catch {
    // In a container the user may have no name.
    return `the user with the id ${process.getuid?.()}`
  }
}

function requireKeyOf(
  paths: PairPaths,
  leaf: X509Certificate,
  chain: readonly X509Certificate[],
  privateKey: KeyObject,
): void {
  if (leaf.checkPrivateKey(privateKey)) return
  throw new CertificateFault(
    chain.some(one => one.checkPrivateKey(privateKey))
      ? {
          file: 'certificate',
          message: `${paths.certificate} begins with another certificate: put the server's own first, then the chain`,
        }
      : {
          file: 'key',
          message: `${paths.key} is not the private key of ${paths.certificate}: give the two files that were issued together`,
        },
  )
}

/** That it has expired, or is not valid yet, at the instant `now`. */
export function findOutOfTime(
  { certificate }: PairPaths,
  { notBefore, notAfter }: Pair,
  now: Date,
): Finding | undefined {
  if (notAfter <= now) {
    return {
      file: 'certificate',
      message: `${certificate} expired at ${notAfter.toISOString()}: renew it`,
    }
  }
  if (notBefore > now) {
    return {
      file: 'certificate',
      message: `${certificate} is not valid before ${notBefore.toISOString()}: is the clock of this machine right?`,
    }
  }
  return undefined
}

/** The names of subjectAltName, or of the common name where there is none, as old private CAs make them (RFC 6125 §6.4.4). */
function namesOf(leaf: X509Certificate): string[] {
  const alternatives = (leaf.subjectAltName ?? '')
    .split(', ')
    .flatMap(one => /^DNS:(\S+)$/.exec(one)?.[1] ?? [])
  const common = /^CN=(\S+)$/m.exec(leaf.subject)?.[1]
  const names = alternatives.length > 0 || common === undefined ? alternatives : [common]
  return [...new Set(names.map(name => name.toLowerCase()))]
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function parseCertificates(path: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  try {
    const [leaf, ...chain] = (pem.match(pemCertificate) ?? []).map(text => new X509Certificate(text))
    if (leaf) return [leaf, ...chain]
  } catch (error) {
    throw new CertificateFault(
      { file: 'certificate', message: `${path} holds a damaged certificate` },
      { cause: error },
    )
  }
  const message = `${path} holds no certificate: it must have PEM, "-----BEGIN CERTIFICATE-----"`
  throw new CertificateFault({ file: 'certificate', message })
}

function parseKey(path: string, pem: string): KeyObject {
  if (/ENCRYPTED/.test(pem)) {
    const message = `${path} has a passphrase: store the key without one, readable by mailboxd alone`
    throw new CertificateFault({ file: 'key', message })
  }
  try {
    return createPrivateKey(pem)
  } catch (error) {
    const message = `${path} holds no private key: it must have PEM, "-----BEGIN PRIVATE KEY-----"`
    throw new CertificateFault({ file: 'key', message }, { cause: error })
  }
}

/**
 * What is doubtful about the certificates that a server shows, its own first, in words that go on after the file's name.
 * A peer that verifies needs each one's issuer right behind it (RFC 5246 §7.4.2), up to one that it knows itself.
 */
function chainWarning(certificates: readonly X509Certificate[], now: Date): string | undefined {
  for (const [index, one] of certificates.entries()) {
    if (index > 0 && one.validToDate <= now) {
      return `has a chain of which "${nameOf(one)}" expired at ${one.validToDate.toISOString()}: renew it with its chain`
    }
    const next = certificates[index + 1]
    if (next && !isIssuedBy(one, next)) {
      return certificates.some(other => other !== one && isIssuedBy(one, other))
        ? `has its chain in the wrong order: behind "${nameOf(one)}" must stand its issuer`
        : `has a chain with a gap: behind "${nameOf(one)}" stands "${nameOf(next)}", which did not issue it`
    }
  }
  const last = certificates.at(-1)
  // Behind one that a CA issued to another there is its root at the most, which nobody needs to be sent.
  if (!last || certificates.length > 1 || isSelfSigned(last) || isKnownRoot(last)) return undefined
  return `has a chain that ends too early: add the certificate of "${issuerOf(last)}", which issued "${nameOf(last)}", unless every peer knows it`
}

function isIssuedBy(one: X509Certificate, issuer: X509Certificate): boolean {
  return one.checkIssued(issuer) && one.verify(issuer.publicKey)
}

/** One that is no CA, too, whose key usage keeps it from being an issuer. */
function isSelfSigned(one: X509Certificate): boolean {
  return one.subject === one.issuer && one.verify(one.publicKey)
}

/** Whether a root that everybody has issued it. */
function isKnownRoot(one: X509Certificate): boolean {
  return rootCertificates.some(pem => {
    const root = new X509Certificate(pem)
    return root.subject === one.issuer && isIssuedBy(one, root)
  })
}

const nameOf = (one: X509Certificate) => oneLine(one.subject)
const issuerOf = (one: X509Certificate) => oneLine(one.issuer)
