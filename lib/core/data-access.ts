import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Forbidden, findForbidden } from '../base/file-permissions.ts'

/** What the daemon writes in its data directory, and what it reads there, `secrets.key` apart, which is told of as itself. */
const written = [
  'mailboxd.sqlite',
  'mailboxd.sqlite-wal',
  'mailboxd.sqlite-shm',
  'daemon.lock',
  'backup.lock',
  'acme',
  'raw',
  'spool',
  'stray',
  'cache',
]
const readOnly = ['node', 'self-signed.pem']

/**
 * The first file of a data directory that this user may not use although the directory is this user's: somebody else left it, or restored
 * it. Undefined: there is none, or the directory is another's, too.
 */
export function findForbiddenFile(dataDir: string): Forbidden | undefined {
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  if (owner === undefined || owner.uid !== process.getuid?.()) return undefined
  const uses = [
    ...written.map(name => [name, 'write'] as const),
    ...readOnly.map(name => [name, 'read'] as const),
  ]
  for (const [name, use] of uses) {
    const path = join(dataDir, name)
    const forbidden = existsSync(path) ? findForbidden(path, use, dataDir) : undefined
    if (forbidden) return forbidden
  }
  return undefined
}
