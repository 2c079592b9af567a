import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../base/clock.ts'
import { replaceFile } from '../base/durable-file.ts'

/** PEM texts that belong together. */
interface SelfSigned {
  readonly key: string
  readonly cert: string
  readonly notAfter: Date
}

const dayMs = 86_400_000
/** Ten years; and made anew when less than a month of them is left. */
const validMs = 3652 * dayMs
const renewalMs = 30 * dayMs

/** What `writeSelfSigned` left at `path`; undefined unless it is whole, for this host and good for a month to come. */
export async function readSelfSigned(
  path: string,
  hostname: string,
  clock: Clock,
): Promise<SelfSigned | undefined> {
  const pem = await readIfThere(path)
  const begin = pem?.indexOf('-----BEGIN CERTIFICATE-----') ?? -1
  if (pem === undefined || begin < 0) return undefined
  const key = pem.slice(0, begin)
  const cert = pem.slice(begin)
  const notAfter = endOfValidity(key, cert, hostname)
  return notAfter && notAfter.getTime() - clock.now().getTime() > renewalMs
    ? { key, cert, notAfter }
    : undefined
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function endOfValidity(key: string, cert: string, hostname: string): Date | undefined {
  try {
    const certificate = new X509Certificate(cert)
    const isOurs = certificate.checkHost(hostname) !== undefined
    return isOurs && certificate.checkPrivateKey(createPrivateKey(key)) ? certificate.validToDate : undefined
  } catch {
    // Damaged: whoever asks makes a new one.
    return undefined
  }
}

/** Makes a certificate for `hostname` (ECDSA P-256) and leaves key and certificate at `path`, as one file of mode 0600. */
export async function writeSelfSigned(path: string, hostname: string, clock: Clock): Promise<SelfSigned> {
  // Slow to load (a tenth of a second and more), and needed once in ten years.
  const { generate } = await import('selfsigned')
  // A day of grace for peers whose clock is behind.
  const notBeforeDate = new Date(clock.now().getTime() - dayMs)
  const made = await generate([{ name: 'commonName', value: hostname.length > 64 ? 'mailboxd' : hostname }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate: new Date(notBeforeDate.getTime() + validMs),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: hostname }] },
    ],
  })
  const key = `${made.private.trim()}\n`
  const cert = `${made.cert.trim()}\n`
  await replaceFile(path, key + cert)
  return { key, cert, notAfter: new X509Certificate(cert).validToDate }
}
