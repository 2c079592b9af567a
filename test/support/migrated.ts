import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { systemClock } from '../../lib/base/time.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { openStore } from '../../lib/store/open.ts'
import { selfSignedPath, writeSelfSigned } from '../../lib/tls/self-signed.ts'
import { madeOnce } from './made-once.ts'

/** Puts a new SQLite file with all migrations at `path`, unless one is there: what they do is asked in test/store/schema.test.ts. */
export async function makeMigratedFile(path: string): Promise<void> {
  if (existsSync(path)) return
  const made = await madeOnce('migrated.sqlite', async path => (await openStore(path, systemClock)).close())
  copyFileSync(made, path)
}

/**
 * Makes a data directory in which nothing is but that file and a self-signed certificate of `mail.ours.example`, unless they are there. What a first start does
 * with none is asked by the stories of an installation (flow/package, flow/documents-server, flow/terminal).
 */
export async function makeDataDir(dir: string): Promise<void> {
  const made = await madeOnce('self-signed.pem', async path => {
    await writeSelfSigned(path, 'mail.ours.example', systemClock)
  })
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!existsSync(selfSignedPath(dir))) copyFileSync(made, selfSignedPath(dir))
  await makeMigratedFile(databasePath(dir))
}
