import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { isoAfter, systemClock } from '../../lib/base/time.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { insertRow, putRow } from '../../lib/store/dialect/insert.ts'
import type { Migration } from '../../lib/store/migrations/migration.ts'
import { describeTables } from '../../lib/store/moving/moved-tables.ts'
import { openReader } from '../../lib/store/open.ts'
import { apiOf } from '../support/api.ts'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox, type TestInbox } from '../support/mailbox.ts'
import { programsWithSteps } from '../support/other-programs.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { sealedText } from '../support/rows.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { startTheirServer } from '../support/their-server.ts'
import { until } from '../support/until.ts'

const next: Migration = {
  number: 2,
  name: 'next',
  breaking: true,
  sql: `
-- A table, columns of tables with many rows, and values for them.
create table "spare" ("id" text primary key);
alter table "message" add column "later" integer not null default 0;
alter table "idempotency" add column "later" text;
alter table "queueEntry" add column "later" text;
update "message" set "later" = 1;
insert into "spare" ("id") select "id" from "message";
create index "message_later" on "message" ("later", "id");
`,
}
/** The same step, which does not end when it has done all that. */
const endless: Migration = {
  ...next,
  sql: `${next.sql}
-- only on sqlite
with recursive "n" ("x") as (select 1 union all select "x" + 1 from "n") select count(*) from "n";
-- end only
-- only on postgres
select pg_sleep(3600);
-- end only
`,
}
const [endlessPrograms = '', nextPrograms = ''] = programsWithSteps(t, [endless], [next])

/** Entries go from here when their work is done; all other rows stay. */
const passing = ['queueEntry', 'sweep']
const once24h = 'the key of a send before the upgrade'

/** Rows of the kinds that no promise to a client counts: they are of other servers, operators and the network. */
async function insertOtherRows(db: WriteDb, { id: inboxId }: TestInbox): Promise<void> {
  const createdAt = systemClock.now().toISOString()
  const later = isoAfter(systemClock.now(), 86_400_000)
  const id = '01a20048-2643-7000-8000-000000000001'
  const { id: domainId } = await db.selectFrom('domain').select('id').executeTakeFirstOrThrow()
  const { id: readingId } = await db.selectFrom('reading').select('id').executeTakeFirstOrThrow()
  const { id: accountId } = await db.selectFrom('account').select('id').executeTakeFirstOrThrow()
  const scope = { scope: 'account', direction: 'inbound', setBy: 'account' as const }
  const ofNobody = { podId: null, inboxId: null, keyId: null, createdAt }
  await insertRow(db, 'member', { address: 'carl@example.net', name: null, createdAt })
  await insertRow(db, 'domainKey', {
    ...{ id, domainId, selector: 'before', algorithm: 'rsa', privateKey: null, publicKey: 'p' },
    ...{ state: 'previous', recordStatus: 'valid', found: '[]', createdAt, endsAt: later },
  })
  await insertRow(db, 'attachmentText', {
    ...{ readingId, index: 0, extractionMethod: 'text', content: 'words', createdAt },
  })
  await insertRow(db, 'standingHold', { id, inboxId: null, podId: null, domain: 'held.example', createdAt })
  await insertRow(db, 'destination', {
    ...{ name: 'slow.example', failures: 1, failingSince: createdAt, lastFailure: 'slow' },
    ...{ retryAt: later, updatedAt: createdAt },
  })
  await insertRow(db, 'forwardConfirmation', {
    ...{ id, inboxId, address: 'dora@example.net', createdAt, expiresAt: later, usedAt: null },
  })
  await insertRow(db, 'policyMode', { ...scope, mode: 'none' })
  await insertRow(db, 'policyRule', { ...scope, id, type: 'block', value: 'bad.example', createdAt })
  await insertRow(db, 'policyAudit', {
    ...{ ...ofNobody, id, action: 'rule_added', direction: 'inbound', mode: null, type: 'block' },
    ...{ value: 'bad.example', ruleId: id, address: null, reason: null },
  })
  await insertRow(db, 'suppression', {
    ...{ recipient: 'gone@example.net', podId: '', reason: 'manual', evidence: null, messageId: null },
    ...{ createdAt, expiresAt: null },
  })
  await insertRow(db, 'feedback', { ...ofNobody, id, type: 'bug', message: 'm', context: null })
  await insertRow(db, 'greylistEntry', {
    slot: 1,
    key: 'k',
    passes: 1,
    firstSeenAt: createdAt,
    expiresAt: later,
  })
  await insertRow(db, 'authenticationDeferral', { id: 'hash', network: '192.0.2.0/24', firstAt: createdAt })
  await insertRow(db, 'stsPolicy', {
    ...{ domain: 'sts.example', policyId: '1', mode: 'testing', mx: '[]', maxAgeSeconds: 86_400 },
    ...{ fetchedAt: createdAt, expiresAt: later },
  })
  await insertRow(db, 'tlsResult', {
    ...{ day: createdAt.slice(0, 10), domain: 'sts.example', policyType: 'sts', type: 'success', host: '' },
    ...{ count: 3, reportedAt: null },
  })
  await insertRow(db, 'acmeFile', { id: accountId, content: sealedText('sealed'), changedAt: createdAt })
  await insertRow(db, 'acmeChallenge', { token: 'token', keyAuthorization: 'a', createdAt })
  await putRow(db, 'sweep', { name: 'test', heldBy: null }, ['name'])
}

/** An installation that has at least one row of every kind, with sends that are under way. */
async function fillInstallation(t: Test, daemon: TestDaemon): Promise<TestInbox> {
  const ann = await createInbox(daemon, 'ann')
  t.match(await ann.api.call('PUT', '/v1/webhook', { url: 'https://hooks.example/x' }), { status: 200 })
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', ann.address)
  const said = await dialog.data(`From: bob@example.net\r\nSubject: Fish\r\n\r\nhow much is the fish\r\n`)
  t.equal(said.code, 250)
  dialog.end()
  const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'aGVsbG8=' }]
  const sendAt = isoAfter(systemClock.now(), 86_400_000)
  const draft = { to: 'x@theirs3.example', subject: 'later', body: 'b', attachments, sendAt }
  t.match(await ann.api.post(`/v1/inboxes/${ann.id}/drafts`, draft), { status: 201 })
  await ann.received(1)
  await daemon.withRows(({ store }) => store.write(db => insertOtherRows(db, ann)))
  return ann
}

const send = (daemon: TestDaemon, { id, token }: TestInbox) =>
  apiOf(daemon.baseUrl, token).send(id, { to: 'x@theirs1.example', subject: 'once', body: 'b' }, once24h)

/** The keys of all rows of each table that makes an installation. */
async function keysOfRows(location: string): Promise<Map<string, string[]>> {
  const { read, close } = await openReader(location)
  try {
    const all = new Map<string, string[]>()
    for (const { name, keys } of await describeTables(read)) {
      const columns = sql.join(keys.map(key => sql.ref(key)))
      const { rows } = await sql`select ${columns} from ${sql.table(name)}`.execute(read)
      all.set(
        name,
        rows.map(row => JSON.stringify(row)),
      )
    }
    return all
  } finally {
    await close()
  }
}

async function stepsOf(location: string): Promise<number[]> {
  const { read, close } = await openReader(location)
  try {
    const rows = await read.selectFrom('migration').select('number').orderBy('number').execute()
    return rows.map(({ number }) => number)
  } finally {
    await close()
  }
}

/** Kills a daemon in the middle of the step. */
type KillInStep = (daemon: ChildProcess) => Promise<void>

async function kill(daemon: ChildProcess): Promise<void> {
  const exit = once(daemon, 'exit')
  daemon.kill('SIGKILL')
  await exit
}

const onFile = (path: string): KillInStep => {
  return async daemon => {
    const other = new Database(path, { timeout: 0 })
    await until('the step to have begun', () => {
      if (daemon.exitCode !== null) throw new Error(`it ended with ${daemon.exitCode}`)
      try {
        other.exec('begin immediate; rollback')
        return false
      } catch (error) {
        return error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY'
      }
    })
    other.close()
    await kill(daemon)
  }
}

const onServer = (t: Test, url: string): KillInStep => {
  return async daemon => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    const inStep = `from pg_stat_activity where query like '%pg_sleep(3600)%' and pid != pg_backend_pid() and datname = current_database()`
    await until('the step to be at its end', async () => {
      if (daemon.exitCode !== null) throw new Error(`it ended with ${daemon.exitCode}`)
      return (await client.query(`select pid ${inStep}`)).rows.length > 0
    })
    await kill(daemon)
    // The server rolls back when it finds the connection gone, which is at the end of the statement.
    await client.query(`select pg_terminate_backend(pid) ${inStep}`)
  }
}

async function upgrade(t: Test, database: string | undefined): Promise<TestDaemon> {
  const server = await startTheirServer(t)
  let daemon = await startDaemon(t, { ...server, ...(database !== undefined && { database }) })
  const location = database ?? databasePath(daemon.dataDir)
  const ann = await fillInstallation(t, daemon)
  const delivered = await ann.api.send(ann.id, { to: 'x@theirs2.example', subject: 'early', body: 'b' })
  await ann.settled(delivered.body.messageId)
  server.hold(true)
  const sent = await send(daemon, ann)
  t.equal(sent.status, 200)
  await until('an attempt', () => server.waiting.length > 0)
  await until(
    'a call of the webhook',
    async () => (await keysOfRows(location)).get('webhookAttempt')!.length > 0,
  )
  await daemon.end('SIGKILL')
  const before = await keysOfRows(location)
  const unfilled = [...before].filter(([, keys]) => keys.length === 0).map(([name]) => name)
  t.strictSame(unfilled, [], 'there is a row of every kind')

  const { configPath } = daemon
  const ctl = (programs: string) =>
    runProgram(process.execPath, [programs, '--config', configPath, 'inbox', 'list'])
  t.match(await ctl(join(nextPrograms, 'mailboxctl.js')), {
    code: 1,
    stderr: /older mailboxd than this program: start mailboxd/,
  })
  const killed = spawn(process.execPath, [join(endlessPrograms, 'mailboxd.js'), '--config', configPath], {
    stdio: 'ignore',
  })
  t.teardown(() => killed.kill('SIGKILL'))
  await (database === undefined ? onFile(location) : onServer(t, database))(killed)
  t.strictSame(await stepsOf(location), [1])
  t.strictSame(await keysOfRows(location), before, 'a step that was killed left no trace')

  daemon = await daemon.restart(nextPrograms)
  t.strictSame(await stepsOf(location), [1, 2])
  const after = await keysOfRows(location)
  for (const [name, keys] of before) {
    const lost = keys.filter(key => !after.get(name)!.includes(key))
    if (!passing.includes(name)) t.strictSame(lost, [], `all rows of ${name} are there`)
  }
  const again = await send(daemon, ann)
  t.strictSame([again.status, again.body], [200, sent.body], 'a repeated send gets the answer of the first')
  server.hold(false)
  for (const answer of server.waiting) answer()
  await until('the send to be delivered', () => server.taken.includes('once'))
  t.strictSame(server.taken, ['early', 'once'], 'each once')
  const [received] = (await apiOf(daemon.baseUrl, ann.token).get(`/v1/inboxes/${ann.id}/messages?q=fish`))
    .body.data
  t.match(received, { subject: 'Fish' })
  t.match(await daemon.ctl('verify'), { ok: true, findings: [] })
  t.equal(await daemon.end('SIGTERM'), 0)

  const refusal = /the database has migration 2 \(next\) of a newer mailboxd; install that version/
  const older = await runProgram(process.execPath, [builtProgram('mailboxd'), '--config', configPath])
  t.match([older.code, older.stderr], [1, refusal])
  t.match(await ctl(builtProgram('mailboxctl')), { code: 1, stderr: refusal })
  return daemon
}

t.test('a step that is killed on a full SQLite file is done by the next start', async t => {
  const { dataDir, configPath } = await upgrade(t, undefined)
  const kept = new Database(join(dataDir, 'before-upgrade-1.sqlite'), { readonly: true })
  t.strictSame(
    kept.prepare('select "number" from "migration"').pluck().all(),
    [1],
    'the former database is kept',
  )
  kept.close()

  const ofDevelopment = new Database(databasePath(dataDir))
  ofDevelopment.exec(`update "migration" set "name" = 'first-mail' where "number" = 1`)
  ofDevelopment.close()
  for (const [program, ...args] of [
    ['mailboxd'],
    ['mailboxctl', 'verify'],
    ['mailboxctl', 'inbox', 'list'],
  ] as const)
    t.match(
      await runProgram(process.execPath, [builtProgram(program), '--config', configPath, ...args]),
      { code: 78, stderr: /a development version of mailboxd.* start with a fresh data directory/ },
      `${program} refuses a database of a development version`,
    )
})

t.test(
  'a step that is killed on a full PostgreSQL database is done by the next start',
  { skip: without('postgres') },
  async t => {
    const { dataDir } = await upgrade(t, await newPostgresDatabase(migratedDatabase))
    t.notOk(existsSync(join(dataDir, 'before-upgrade-1.sqlite')), 'the operator has backups of the server')
  },
)
