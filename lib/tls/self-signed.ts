import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../base/files.ts'
import type { Clock } from '../base/time.ts'
import { CertificateFault, checkPair, type Pair } from './pair.ts'

/** Where the self-signed certificate of a data directory is kept, with its key. */
export const selfSignedPath = (dataDir: string) => join(dataDir, 'self-signed.pem')

const dayMs = 86_400_000
/** Ten years; and made anew when less than a month of them is left. */
const validMs = 3652 * dayMs
const renewalMs = 30 * dayMs

/** What `writeSelfSigned` left at `path`; undefined unless it is whole, for this host and good for a month to come. */
export async function readSelfSigned(
  path: string,
  hostname: string,
  clock: Clock,
): Promise<Pair | undefined> {
  const pem = await readIfThere(path)
  const begin = pem?.indexOf('-----BEGIN CERTIFICATE-----') ?? -1
  if (pem === undefined || begin < 0) return undefined
  const now = clock.now()
  try {
    const { pair, outOfTime } = pairAt(path, pem.slice(0, begin), pem.slice(begin), now)
    const isGood =
      !outOfTime && pair.names.includes(hostname) && pair.notAfter.getTime() - now.getTime() > renewalMs
    return isGood ? pair : undefined
  } catch (error) {
    // Damaged: whoever asks makes a new one.
    if (error instanceof CertificateFault) return undefined
    throw error
  }
}

const pairAt = (path: string, key: string, cert: string, now: Date) =>
  checkPair({ certificate: path, key: path }, { key, cert }, now)

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Makes a certificate for `hostname` (ECDSA P-256) and leaves key and certificate at `path`, as one file of mode 0600. */
export async function writeSelfSigned(path: string, hostname: string, clock: Clock): Promise<Pair> {
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
  return pairAt(path, key, cert, clock.now()).pair
}
