import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { overlooked, startPgbouncer } from '../support/pgbouncer.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const skip = without('postgres', 'pgbouncer')

t.test('behind a pooler that shares sessions out no daemon starts, and it is said why', { skip }, async t => {
  const direct = await newPostgresDatabase(migratedDatabase)
  const dir = temporaryDir(t)
  const config = join(dir, 'mailboxd.toml')
  const run = (program: 'mailboxd' | 'mailboxctl', ...args: string[]) =>
    runProgram(process.execPath, [builtProgram(program), '--config', config, ...args])
  for (const settings of [
    ['pool_mode = transaction'],
    ['pool_mode = transaction', overlooked],
    ['pool_mode = statement', overlooked],
  ]) {
    const database = await startPgbouncer(t, direct, ...settings)
    writeFileSync(
      config,
      `hostname = "mail.test"\naccount_domain = "mailboxd.test"\ndata_dir = "${join(dir, 'data')}"\ndatabase = "${database}"\n
[smtp]\nlisten = ["127.0.0.1:0"]\n[http]\nlisten = ["127.0.0.1:0"]\n[delivery]\nmode = "capture"\n`,
    )
    const started = await run('mailboxd')
    t.match(started, {
      code: 1,
      stderr: /^mailboxd can not start: .* a pooler \(PgBouncer\) stands before it.*name the server itself/,
    })
    t.notMatch(started.stderr, / {4}at /, 'it is no fault of the program')
  }
})

t.test('a pooler that leaves each session its own does', { skip }, async t => {
  const direct = await newPostgresDatabase(migratedDatabase)
  const database = await startPgbouncer(t, direct, 'pool_mode = session', overlooked)
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
