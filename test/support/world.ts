import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { writeIssuedCertificate } from './certificate.ts'
import { without } from './peers.ts'
import { temporaryDir } from './temporary-dir.ts'

/** Why no machine can be booted here with the rest of the Internet around it, or false: tap's `skip`. */
export const withoutWorld = without(
  'systemd',
  'unshare',
  'ip',
  'knot',
  'pebble',
  'nginx',
  'smtp-sink',
  'swaks',
  'python3',
)

/** What `. /given/world.sh` needs in a machine of `runInBootedSystem`: files by their names in /given. */
export async function worldFiles(t: Test): Promise<Record<string, string>> {
  const dir = temporaryDir(t)
  const { leaf, intermediate, root, key } = await writeIssuedCertificate(dir, 'acme-v02.api.letsencrypt.org')
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const beside = (name: string) => join(import.meta.dirname, name)
  return {
    'ca.pem': file('ca.pem', root),
    'letsencrypt.pem': file('letsencrypt.pem', leaf + intermediate),
    'letsencrypt.key': key,
    'world.sh': beside('world.sh'),
    'terminal.py': beside('terminal.py'),
  }
}
