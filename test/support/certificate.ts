import { join } from 'node:path'
import { runProgram } from './program.ts'

/** A self-signed certificate for `host` and its key, as files in `dir` (key.pem readable by its owner alone). */
export async function writeCertificate(dir: string, host: string): Promise<{ cert: string; key: string }> {
  const cert = join(dir, 'cert.pem')
  const key = join(dir, 'key.pem')
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']
  const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const made = await runProgram('openssl', ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', cert])
  if (made.code !== 0) throw new Error(`openssl made no certificate: ${made.stderr}`)
  return { cert, key }
}
