import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createIds } from '../../lib/base/ids.ts'
import { createLog } from '../../lib/base/log.ts'
import { systemClock } from '../../lib/base/time.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { createInbox } from '../../lib/core/account/inboxes.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { type Daemon, startDaemon } from '../../lib/daemon.ts'
import { makeDataDir } from '../support/migrated.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { statementsOf } from '../support/statements.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const skip = process.platform !== 'linux' && 'what a process has read is told by Linux'
/** What the start may read and do more where much is stored: the tops of a few indexes, a look at each destination of what is parked. */
const moreBytes = 2_000_000
const moreStatements = 100
const destinations = 10
const rows = 60_000

/** The daemon, in this process. */
function start(dataDir: string, said: Record<string, unknown>[] = []): Promise<Daemon> {
  const config = parseConfig(
    `hostname = "mail.ours.example"
account_domain = "ours.example"
data_dir = "${dataDir}"
[smtp]
listen = ["127.0.0.1:0"]
[http]
listen = ["127.0.0.1:0"]
[dns]
servers = ["127.0.0.1:9"]
`,
    'test',
  )
  return startDaemon({
    config,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('info', { write: line => void said.push(JSON.parse(line)) }),
    random: Math.random,
    chosenBy: setting => setting,
    sockets: { smtp: [], submission: [], submissions: [], http: [] },
  })
}

/** A data directory that was stopped, with one message in it. */
async function stopped(t: Test): Promise<string> {
  const dataDir = join(temporaryDir(t), 'data')
  await makeDataDir(dataDir)
  const daemon = await start(dataDir)
  await createInbox(daemon.app, operator, { mailboxName: 'ann' })
  const dialog = await greetedDialog(daemon.smtp[0]!.port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match(await dialog.data('Subject: x\r\n\r\nbody'), { code: 250 })
  dialog.vanish()
  await until('its words in the index', async () => {
    const left = await daemon.app.store.read.selectFrom('unindexedBody').select('messageId').execute()
    return left.length === 0
  })
  await daemon.stop()
  return dataDir
}

/** Puts as many messages, events, waiting calls and mails there, without the work of making them. */
function fill(dataDir: string): void {
  const db = new Database(databasePath(dataDir))
  const columns = (table: string) =>
    (db.pragma(`table_info("${table}")`) as { name: string }[]).map(({ name }) => `"${name}"`)
  const copy = (table: string) => {
    const made = columns(table).map(name => (name === '"id"' ? `"id" || '-' || n` : name))
    db.exec(
      `insert into "${table}" with recursive some (n) as (select 1 union all select n + 1 from some where n < ${rows})
       select ${made.join(', ')} from (select * from "${table}" limit 1), some`,
    )
  }
  copy('message')
  copy('event')
  const park = db.prepare(
    `insert into "queueEntry" ("id", "kind", "subjectId", "destination", "lane", "isKnown", "turn", "dueAt", "expiresAt", "attempts", "createdAt")
     with recursive some (n) as (select 1 union all select n + 1 from some where n < ${rows})
     select :kind || n, :kind, :kind || n, 'https://there.example/' || (n % ${destinations}), 'slow', 0, 0, :far, :far, 1, :far from some`,
  )
  for (const kind of ['webhook', 'delivery', 'draft']) park.run({ kind, far: '2126-01-01T00:00:00.000Z' })
  db.close()
}

const readBytes = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))![1])

/** What was read, and which statements ran, until the doors were open. */
async function startCounted(dataDir: string) {
  let daemon: Daemon | undefined
  let bytes = 0
  const statements = await statementsOf(async () => {
    const before = readBytes()
    daemon = await start(dataDir)
    bytes = readBytes() - before
  })
  return { bytes, statements, daemon: daemon! }
}

t.test('what is read before the doors open does not grow with what is stored', { skip }, async t => {
  const dataDir = await stopped(t)
  const small = await startCounted(dataDir)
  await small.daemon.stop()
  fill(dataDir)
  const { size } = statSync(databasePath(dataDir))
  t.ok(size > 20 * moreBytes, `the file has ${size} bytes`)
  let large = await startCounted(dataDir)
  // On a machine with other work its threads have read by then what they are to read behind the open doors.
  for (let again = 0; again < 2 && large.bytes - small.bytes >= moreBytes; again++) {
    await large.daemon.stop()
    large = await startCounted(dataDir)
  }
  t.match(await (await greetedDialog(large.daemon.smtp[0]!.port)).say('NOOP'), { code: 250 })
  t.ok(large.bytes - small.bytes < moreBytes, `${large.bytes} bytes were read, and ${small.bytes} of little`)
  const more = large.statements.length - small.statements.length
  t.ok(
    more < moreStatements,
    `${large.statements.length} statements, and ${small.statements.length} with little`,
  )
  await large.daemon.stop()
})
