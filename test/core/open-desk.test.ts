import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { createIds } from '../../lib/base/ids.ts'
import { quietLog } from '../../lib/base/quiet-log.ts'
import { localConfig } from '../../lib/config/load.ts'
import { openDesk } from '../../lib/core/open-desk.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('who looks into a database that is there waits for nobody who writes, and writes nothing', async t => {
  const dataDir = join(temporaryDir(t), 'data')
  const parts = {
    config: localConfig({ dataDir }),
    clock: systemClock,
    ids: createIds(systemClock),
    log: quietLog,
    mayMigrate: true,
    baseUrl: () => 'http://127.0.0.1',
  }
  const made = await openDesk(parts)
  const { keyId } = made.secrets
  await made.store.write(async db => {
    await db.updateTable('secretKey').set({ sealedAt: systemClock.now().toISOString() }).execute()
  })
  await made.store.close()

  const other = new Database(databasePath(dataDir))
  t.teardown(() => other.close())
  other.prepare('begin immediate').run()
  const version = () => other.pragma('data_version', { simple: true })
  const before = version()
  const desk = await openDesk({ ...parts, mayMigrate: false })
  t.equal(desk.secrets.keyId, keyId)
  await desk.store.close()
  other.prepare('rollback').run()
  t.equal(version(), before)
})
