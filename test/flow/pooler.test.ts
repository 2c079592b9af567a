import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { startPgbouncer } from '../support/pgbouncer.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'

const skip = without('postgres', 'pgbouncer')

t.test('a pooler that leaves each session its own does', { skip }, async t => {
  const direct = await newPostgresDatabase(migratedDatabase)
  const database = await startPgbouncer(t, direct, 'pool_mode = session')
  const daemon = await startDaemon(t, { database })
  const ann = await createInbox(daemon, 'ann')
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', ann.address)
  t.equal((await dialog.data('From: bob@example.net\r\nSubject: one\r\n\r\nhello\r\n')).code, 250)
  dialog.end()
  t.match(await ann.received(1), [{ subject: 'one' }])
  t.strictSame(daemon.troubles(), [])
  t.equal(await daemon.end('SIGTERM'), 0)
})
