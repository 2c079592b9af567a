import { createSecretBox, type Sealed } from '../../base/secrets.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { listSecrets, replaceSecretKey, secretColumns, updateSecret } from '../../store/secrets.ts'
import { sweepRows } from '../../store/sweeps.ts'
import { requireOthersStopped } from '../nodes/list.ts'
import { lockWhileStopped } from '../nodes/node-name.ts'
import type { App } from './app.ts'
import { installNextKey, makeNextKey } from './secret-key.ts'
import { requireKeyInForce } from './secrets.ts'

/**
 * Seals all secrets under a new key, while no daemon runs: it would go on with the old one.
 *
 * The new key is on the disk first, beside the old one; then one write seals all anew and says under which key; then the
 * new key takes the place of the old one. Cut off before the write, the old one is in force; behind it, the next start finds
 * by the row that the one to come is, and puts it in place (`openSecrets`). No moment has a database without its key.
 * @throws Problem `unavailable` when a daemon runs, or another process did the same meanwhile
 */
export async function rotateSecrets(app: App): Promise<{ readonly keyId: string; readonly count: number }> {
  const { data_dir: dataDir } = app.config
  const unlock = lockWhileStopped(dataDir, 'mailboxd runs, and would go on with the old key: stop it first.')
  try {
    const others = 'runs, and would go on with the old key: stop it first, and give it the new one.'
    await requireOthersStopped(app, app.nodes.id, others)
    const key = await makeNextKey(dataDir)
    const box = createSecretBox(key)
    const count = await app.store.write(async db => {
      await requireKeyInForce(db, app.secrets)
      const now = app.clock.now().toISOString()
      await replaceSecretKey(db, { id: box.keyId, createdAt: now })
      return sealAnew(app, db, box.seal)
    })
    await installNextKey(dataDir, key)
    // What was sealed under the old key is not to stand in free pages of the file.
    await app.store.forgetOverwrittenSecrets()
    return { keyId: box.keyId, count }
  } finally {
    unlock()
  }
}

async function sealAnew(
  app: App,
  db: WriteDb,
  seal: ReturnType<typeof createSecretBox>['seal'],
): Promise<number> {
  let count = 0
  for (const column of secretColumns) {
    let after = ''
    for (let isMore = true; isMore; ) {
      const page = await listSecrets(db, column, after, sweepRows)
      for (const { id, text } of page) {
        const place = { ...column, id }
        const secret = app.secrets.open(place, text as unknown as Sealed)
        await updateSecret(db, column, id, seal(place, secret))
      }
      count += page.length
      after = page.at(-1)?.id ?? after
      isMore = page.length > 0
    }
  }
  return count
}
