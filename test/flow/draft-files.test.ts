import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { databasePath } from '../../lib/core/open-rows.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { until } from '../support/until.ts'

/** The files below data_dir/raw. */
const filesOf = (dataDir: string) =>
  readdirSync(join(dataDir, 'raw'), { recursive: true, withFileTypes: true })
    .filter(one => one.isFile())
    .map(one => join(one.parentPath, one.name))

t.test('a file of a draft whose removal a crash kept from happening goes with the next start', async t => {
  const daemon = await startDaemon(t)
  const { id, api, token } = await createInbox(daemon, 'ann')
  const content = Buffer.alloc(600_000, 'x').toString('base64')
  const drafts = []
  for (const name of ['gone', 'kept']) {
    const attachments = [{ filename: `${name}.bin`, content, contentType: 'application/octet-stream' }]
    const made = await api.post(`/v1/inboxes/${id}/drafts`, { subject: name, attachments })
    t.equal(made.status, 201)
    drafts.push(made.body)
  }
  // In a database without messages no file counts as one without a row.
  const message = { to: 'ann@there.example', subject: 'Hello', body: 'Hello' }
  t.equal((await api.post(`/v1/inboxes/${id}/send`, message, { 'Idempotency-Key': 'one' })).status, 200)
  const files = filesOf(daemon.dataDir)
  t.equal(files.length, 2)
  await daemon.end('SIGKILL')
  // As a crash leaves it that comes after the commit and before the removal.
  const database = new Database(databasePath(daemon.dataDir))
  database.pragma('foreign_keys = on')
  database.prepare('delete from "draftAttachment" where "draftId" = ?').run(drafts[0].id)
  database.prepare('delete from "draft" where "id" = ?').run(drafts[0].id)
  database.prepare('update "inbox" set "storedKiB" = "storedKiB" - 586 where "id" = ?').run(id)
  database.close()

  const again = await daemon.restart()
  await until('the file is gone', () => files.filter(path => existsSync(path)).length === 1)
  const kept = await apiOf(again.baseUrl, token).get(`/v1/drafts/${drafts[1].id}`)
  t.match(kept, { status: 200, body: { subject: 'kept', attachments: [{ filename: 'kept.bin' }] } })
})
