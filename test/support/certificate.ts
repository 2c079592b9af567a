import { readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { runProgram } from './program.ts'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** A self-signed certificate for `host` and its key, as files in `dir` (key.pem readable by its owner alone). */
export async function writeCertificate(dir: string, host: string): Promise<CertificateFiles> {
  return writeCertificateFor(dir, [host])
}

/** The same for several names or addresses, on files `<stem>cert.pem` and `<stem>key.pem`. */
export async function writeCertificateFor(
  dir: string,
  names: readonly string[],
  { stem = '', days = 30 }: { stem?: string; days?: number } = {},
): Promise<CertificateFiles> {
  const cert = join(dir, `${stem}cert.pem`)
  const key = join(dir, `${stem}key.pem`)
  const names_ = names.map(name => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',')
  const subject = ['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${names_}`]
  await openssl('req', '-x509', '-days', `${days}`, ...kind, ...subject, '-keyout', key, '-out', cert)
  return { cert, key }
}

/** A certificate for `host` that an intermediate CA has issued, that a root has issued, each as PEM text. */
export async function writeIssuedCertificate(
  dir: string,
  host: string,
): Promise<{ leaf: string; intermediate: string; root: string; key: string }> {
  const file = (name: string) => join(dir, name)
  const authority = ['-addext', 'basicConstraints=critical,CA:TRUE']
  await openssl(
    ...['req', '-x509', '-days', '30', ...kind, '-subj', '/CN=Test Root', ...authority],
    ...['-keyout', file('root.key'), '-out', file('root.pem')],
  )
  for (const [name, subject, issuer, extensions] of [
    ['intermediate', 'Test Intermediate', 'root', 'basicConstraints=critical,CA:TRUE'],
    ['leaf', host, 'intermediate', `subjectAltName=DNS:${host}`],
  ] as const) {
    const request = ['req', '-new', ...kind, '-subj', `/CN=${subject}`]
    await openssl(...request, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`))
    writeFileSync(file(`${name}.ext`), extensions)
    const signing = ['x509', '-req', '-days', '30', '-in', file(`${name}.csr`), '-CAcreateserial']
    const by = [
      '-CA',
      file(`${issuer}.pem`),
      '-CAkey',
      file(`${issuer}.key`),
      '-extfile',
      file(`${name}.ext`),
    ]
    await openssl(...signing, ...by, '-out', file(`${name}.pem`))
  }
  const text = (name: string) => readFileSync(file(`${name}.pem`), 'utf8')
  return {
    leaf: text('leaf'),
    intermediate: text('intermediate'),
    root: text('root'),
    key: file('leaf.key'),
  }
}

async function openssl(...args: string[]): Promise<void> {
  const made = await runProgram('openssl', args)
  if (made.code !== 0) throw new Error(`openssl made no certificate: ${made.stderr}`)
}
