import { copyFileSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { checkDatabase } from '../../../lib/core/doctor/database.ts'
import { databasePath } from '../../../lib/core/open-rows.ts'
import { findFaults } from '../../../lib/store/integrity.ts'
import { startApi } from '../../support/api-app.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('a database is whole, damaged, or not read to its end', async t => {
  const server = await startApi(t)
  await server.api.post('/v1/inboxes', { mailboxName: 'ann' })
  const path = databasePath(server.app.config.data_dir)
  for (const isDeep of [false, true])
    t.strictSame(await checkDatabase(path, isDeep), [], 'beside one who writes')
  await server.close()
  const damaged = join(temporaryDir(t), 'mailboxd.sqlite')
  copyFileSync(path, damaged)
  const file = openSync(damaged, 'r+')
  const { size } = statSync(damaged)
  for (let at = 8192; at < size; at += 8192) writeSync(file, Buffer.alloc(2048, 0xab), 0, 2048, at)
  for (const isDeep of [false, true]) {
    t.match(await checkDatabase(damaged, isDeep), [{ level: 'error', code: 'database_damaged' }])
  }
  const other = new Database(path)
  other.pragma('locking_mode = exclusive')
  other.exec('begin exclusive; commit')
  for (const isDeep of [false, true]) {
    const found = await checkDatabase(path, isDeep)
    t.match(found, [{ level: 'warning', code: 'database_not_checked', message: /keeps the database locked/ }])
  }
  other.close()
  t.equal(await findFaults(path, 1), undefined, 'its time was over before it began')
})
