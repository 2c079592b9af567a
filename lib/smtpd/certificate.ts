import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import { readSelfSigned, writeSelfSigned } from './self-signed.ts'

/** What a TLS server shows: PEM texts that belong together, and until when they hold. */
export interface Certificate {
  readonly key: string
  /** The server's own certificate, and the chain after it if there is one. */
  readonly cert: string
  readonly notAfter: Date
  readonly selfSigned: boolean
}

/** The certificate or its key can't be used; the message says which file, why, and the repair. */
export class CertificateFault extends Error {
  override readonly name = 'CertificateFault'
}

interface CertificateSource {
  readonly certificatePath?: string | undefined
  readonly keyPath?: string | undefined
  /** An existing directory, that a self-signed certificate is kept in. */
  readonly dataDir: string
  readonly hostname: string
  readonly clock: Clock
}

/**
 * The certificate for STARTTLS: that of the two files (PEM) where they are given, otherwise a self-signed one, made
 * once and kept in `dataDir`; it is made anew when it has expired, is damaged, or is for another `hostname`. Asked
 * again, it reads the files again. Throws CertificateFault when the files can't be used.
 */
export async function loadCertificate(source: CertificateSource): Promise<Certificate> {
  const { certificatePath, keyPath, dataDir, hostname, clock } = source
  if (certificatePath !== undefined && keyPath !== undefined) {
    const [cert, key] = await Promise.all([readPem(certificatePath), readPem(keyPath)])
    const notAfter = check({ certificatePath, cert, keyPath, key }, clock.now())
    return { key, cert, notAfter, selfSigned: false }
  }
  const alone = certificatePath ?? keyPath
  if (alone !== undefined) {
    throw new CertificateFault(`${alone} stands alone: TLS takes a certificate and its private key`)
  }
  const path = join(dataDir, 'self-signed.pem')
  const kept = (await readSelfSigned(path, hostname, clock)) ?? (await writeSelfSigned(path, hostname, clock))
  return { ...kept, selfSigned: true }
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CertificateFault(`${path} can not be read: ${why}`, { cause: error })
  }
}

interface Pair {
  readonly certificatePath: string
  readonly cert: string
  readonly keyPath: string
  readonly key: string
}

/** Gives the end of validity, or throws CertificateFault with what is wrong with the pair at the instant `now`. */
function check({ certificatePath, cert, keyPath, key }: Pair, now: Date): Date {
  const [leaf, ...chain] = parseCertificates(certificatePath, cert)
  const privateKey = parseKey(keyPath, key)
  if (!leaf.checkPrivateKey(privateKey)) {
    const isTurned = chain.some(one => one.checkPrivateKey(privateKey))
    throw new CertificateFault(
      isTurned
        ? `${certificatePath} begins with another certificate: put the server's own first, then the chain`
        : `${keyPath} is not the private key of ${certificatePath}: give the two files that were issued together`,
    )
  }
  if (leaf.validToDate <= now) {
    throw new CertificateFault(`${certificatePath} expired at ${leaf.validToDate.toISOString()}: renew it`)
  }
  if (leaf.validFromDate > now) {
    const from = leaf.validFromDate.toISOString()
    throw new CertificateFault(
      `${certificatePath} is not valid before ${from}: is the clock of this machine right?`,
    )
  }
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CertificateFault(`${certificatePath} is not taken by TLS: ${why}`, { cause: error })
  }
  return leaf.validToDate
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function parseCertificates(path: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  try {
    const [leaf, ...chain] = (pem.match(pemCertificate) ?? []).map(text => new X509Certificate(text))
    if (leaf) return [leaf, ...chain]
  } catch (error) {
    throw new CertificateFault(`${path} holds a damaged certificate`, { cause: error })
  }
  throw new CertificateFault(`${path} holds no certificate: it must have PEM, "-----BEGIN CERTIFICATE-----"`)
}

function parseKey(path: string, pem: string): KeyObject {
  if (/ENCRYPTED/.test(pem)) {
    throw new CertificateFault(
      `${path} has a passphrase: store the key without one, readable by mailboxd alone`,
    )
  }
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw new CertificateFault(
      `${path} holds no private key: it must have PEM, "-----BEGIN PRIVATE KEY-----"`,
      {
        cause: error,
      },
    )
  }
}
