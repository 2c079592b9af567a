import { join } from 'node:path'
import type { PairPaths } from '../pair.ts'

/** Where the certificate comes to stand: key and chain in one file of mode 0600. */
export function issuedPaths(dataDir: string): PairPaths {
  const path = join(dataDir, 'acme', 'certificate.pem')
  return { certificate: path, key: path }
}
