import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createLog } from '../../../lib/base/log.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { expireBeforeUpgrade, keepBeforeUpgrade } from '../../../lib/core/backup/upgrade.ts'
import { databasePath } from '../../../lib/core/open-rows.ts'
import { makeDataDir } from '../../support/migrated.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('the database from before an upgrade is kept for a week, and no longer', async t => {
  const dataDir = temporaryDir(t)
  await makeDataDir(dataDir)
  const log = createLog('silent')
  await keepBeforeUpgrade(dataDir, 1, log)
  const kept = join(dataDir, 'before-upgrade-1.sqlite')
  const before = new Database(kept, { readonly: true })
  t.strictSame(before.prepare('select "number" from "migration"').pluck().all(), [1])
  before.close()

  const app = { config: { data_dir: dataDir }, clock: systemClock }
  t.equal(await expireBeforeUpgrade(app), 0)
  utimesSync(kept, new Date(0), new Date(0))
  t.equal(await expireBeforeUpgrade(app), 1)
  t.notOk(existsSync(kept))
  t.ok(readdirSync(dataDir).some(name => join(dataDir, name) === databasePath(dataDir)))
})
