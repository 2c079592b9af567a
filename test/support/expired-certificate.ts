import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { systemClock } from '../../lib/base/time.ts'
import type { CertificateFiles } from './certificate.ts'

/** A self-signed certificate for `host` that was good until yesterday, and its key, as files in `dir`. */
export async function writeExpiredCertificate(dir: string, host: string): Promise<CertificateFiles> {
  const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])
  const daysAgo = (days: number) => new Date(systemClock.now().getTime() - days * 86_400_000)
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${host}`,
    notBefore: daysAgo(90),
    notAfter: daysAgo(1),
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  })
  const files = { cert: join(dir, 'expired-cert.pem'), key: join(dir, 'expired-key.pem') }
  writeFileSync(files.cert, made.toString('pem'))
  const bytes = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  writeFileSync(files.key, x509.PemConverter.encode(bytes, 'PRIVATE KEY'))
  return files
}
