import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { blocksOf } from '../support/documents.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const letter = (subject: string) =>
  `From: bob@example.net\r\nMessage-ID: <${subject}@example.net>\r\nSubject: ${subject}\r\n\r\nmarzipan\r\n`

async function bring(daemon: TestDaemon, to: string, subject: string) {
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', to)
  const said = await dialog.data(letter(subject))
  dialog.end()
  return said
}

/** Asks the server beside the daemon. */
async function ask(t: Test, url: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}

t.test(
  'a daemon with its rows on PostgreSQL: mail in, search, a send, a kill, a second daemon',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase()
    let daemon = await startDaemon(t, { database })
    t.notOk(existsSync(join(daemon.dataDir, 'mailboxd.sqlite')))
    const ann = await createInbox(daemon, 'ann')
    t.equal((await bring(daemon, ann.address, 'one')).code, 250)
    await ann.received(1)
    await until('the words in the index', async () => {
      const { body } = await ann.api.get(`/v1/inboxes/${ann.id}/messages?q=marzipan`)
      return body.total === 1
    })
    const sent = await ann.api.send(ann.id, { to: 'x@nobody.example', subject: 's', body: 'b' })
    t.match(sent, { status: 200 })
    t.equal((await ann.api.get('/v1/events?type=message.received')).body.data.length, 1)

    await t.test('what is local knows where the rows are', async t => {
      t.match(await daemon.ctl('verify'), { ok: true })
      const status = await daemon.ctl('status')
      t.match(status, { daemon: { state: 'up' }, inboxes: 1 })
      t.ok((status.disk as { database: number }).database > 1_000_000)
      const backup = await daemon.ctlResult('backup', join(daemon.dataDir, '..', 'backup'))
      t.match([backup.code, backup.stderr], [1, /PostgreSQL server.*pg_dump/s])
      t.equal((await daemon.ctlResult('restore', 'x')).code, 1)
      const { stdout } = await daemon.ctlResult('doctor', '--reach', '127.0.0.1')
      // The server of the tests is made to forget.
      const findings: { code: string; paste: string }[] = JSON.parse(stdout).findings
      t.strictSame(
        findings.filter(({ code }) => code.startsWith('database_')).map(({ paste }) => paste),
        ['fsync = on', 'full_page_writes = on'],
      )
    })

    await t.test('no daemon without its key starts on it, and mailboxctl makes no installation', async t => {
      const dir = temporaryDir(t)
      const other = join(dir, 'other.toml')
      const text = readFileSync(daemon.configPath, 'utf8').replace(daemon.dataDir, join(dir, 'data'))
      writeFileSync(other, text)
      const ctl = await runProgram(process.execPath, [
        builtProgram('mailboxctl'),
        '--config',
        other,
        'key',
        'list',
      ])
      t.match(
        [ctl.code, ctl.stderr],
        [78, /there is no installation in .*: the rows of one are on the server/],
      )
      const second = await runProgram(process.execPath, [builtProgram('mailboxd'), '--config', other])
      t.match([second.code, second.stderr], [78, /secrets\.key is missing.*copy it from another node/])
    })

    await daemon.end('SIGKILL')
    daemon = await daemon.restart()
    t.equal((await bring(daemon, ann.address, 'two')).code, 250)
    const again = await createInbox(daemon, 'bea')
    const { body } = await again.api.get(`/v1/inboxes/${ann.id}/messages?direction=inbound`)
    t.equal(body.total, 2)
  },
)

t.test(
  'a server that ends connections is told as an outage; a lock that is lost is taken again, but where another has the database',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase()
    const daemon = await startDaemon(t, { database })
    const ann = await createInbox(daemon, 'ann')
    const server = await ask(t, database)
    const end = (which: string) =>
      server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid != pg_backend_pid() and application_name like $1`,
        [which],
      )
    // Who holds locks keeps a mail waiting; its connection is ended under it.
    await server.query('begin')
    await server.query('lock table "inbox" in access exclusive mode')
    const waiting = bring(daemon, ann.address, 'one').catch(String)
    const isWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('a query that waits', async () => (await server.query(isWaiting)).rows.length > 0)
    const isEnded = until('an answer', () => waiting.then(() => true))
    await until('all that wait to be ended', async () => {
      await end('mailboxd')
      return Promise.race([isEnded, Promise.resolve(false)])
    })
    t.match(await waiting, /answered 451 4\.3\.0 Mail can not be stored just now/)
    await server.query('rollback')
    t.equal((await bring(daemon, ann.address, 'two')).code, 250, 'it goes on over new connections')
    t.ok(daemon.log().some(line => /can not be stored|can not be asked/.test(JSON.stringify(line))))

    const told = (words: RegExp) => daemon.log().filter(line => words.test(String(line.msg)))
    const begins = () => told(/can not be written/).length
    const ends = () => told(/can be written again/).length
    await until('the end of that', () => ends() === begins(), 60_000)
    const before = begins()
    await end('mailboxd lock%')
    await until('the outage to be told', () => begins() > before)
    await until('its end to be told', () => ends() === begins(), 60_000)
    t.equal((await bring(daemon, ann.address, 'three')).code, 250)
    t.match((await ann.api.get('/health')).status, 200)
    t.strictSame(
      daemon.troubles().filter(({ msg }) => !/the database can (not )?be written/.test(String(msg))),
      [],
      'nothing else is told of it',
    )

    const other = await ask(t, database)
    const alone = other.query(
      `select pg_advisory_lock(${Number.parseInt(Buffer.from('mailbox').toString('hex').slice(0, 12), 16)})`,
    )
    await until('it to be waited for', async () => (await server.query(isWaiting)).rows.length > 0)
    const exit = new Promise(resolve => daemon.process.once('exit', code => resolve(code)))
    await end('mailboxd lock%')
    await alone
    await until('the API to say so', async () => (await ann.api.get('/health')).status === 503)
    const refused = await bring(daemon, ann.address, 'four').catch(String)
    t.match(JSON.stringify(refused), /451 4\.3\.0 Mail can not be stored/)
    t.equal(await exit, 1)
    const last = daemon.log().at(-1)
    t.match(last?.msg, /was lost and can not be had again/)
    t.match(JSON.stringify(last), /another process has this database for itself/)
    await other.query('select pg_advisory_unlock_all()')
    const next = await daemon.restart()
    t.equal((await bring(next, ann.address, 'five')).code, 250)
  },
)

t.test('what meets others in the database each time is put off', { skip: without('postgres') }, async t => {
  const database = await newPostgresDatabase(migratedDatabase)
  const daemon = await startDaemon(t, { database })
  const ann = await createInbox(daemon, 'ann')
  const server = await ask(t, database)
  for (const [code, table] of [
    ['40001', 'inbox'],
    ['40P01', 'inbox'],
    ['55P03', 'message'],
  ] as const) {
    await server.query(
      `create or replace function meet() returns trigger language plpgsql as $$ begin raise exception 'others' using errcode = '${code}'; end $$`,
    )
    await server.query(
      `create trigger meet before insert or update on "${table}" for each row execute function meet()`,
    )
    const put = (mailboxName: string) => ann.api.post('/v1/inboxes', { mailboxName })
    if (table === 'inbox') {
      const refused = await put('bea')
      t.match(refused, { status: 503, body: { error: 'unavailable', message: /^Others change the same/ } })
      t.match(refused.headers.get('retry-after'), /^\d+$/)
    }
    const said = await bring(daemon, ann.address, `${code}-${table}`).catch(String)
    t.match(JSON.stringify(said), /451 4\.3\.0 Mail can not be stored just now; try again later/, code)
    await server.query(`drop trigger meet on "${table}"`)
  }
  t.equal((await bring(daemon, ann.address, 'after')).code, 250)
  t.strictSame(
    daemon.log().filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  )
})

t.test('the guide: a user of its own, with a password', { skip: without('postgres') }, async t => {
  const server = await ask(t, await newPostgresDatabase())
  const sql = blocksOf('docs/operators/postgres.md').find(({ language }) => language === 'sql')!.text
  for (const statement of sql.split(';\n').filter(Boolean)) await server.query(statement)
  const { port } = (await server.query('select inet_server_port() as port')).rows[0]
  const secret = join(temporaryDir(t), 'password')
  writeFileSync(secret, '…\n')
  const daemon = await startDaemon(t, {
    database: `postgres://mailboxd@127.0.0.1:${port}/mailboxd`,
    toml: `[postgres]\npassword_file = "${secret}"`,
  })
  const ann = await createInbox(daemon, 'ann')
  t.equal((await bring(daemon, ann.address, 'one')).code, 250)
})

t.test('the key of the secrets on a server is missed', { skip: without('postgres') }, async t => {
  const daemon = await startDaemon(t, { database: await newPostgresDatabase() })
  await daemon.end('SIGTERM')
  rmSync(join(daemon.dataDir, 'secrets.key'))
  const check = await daemon.ctlResult('config', 'check')
  t.equal(check.code, 78)
  t.match(JSON.parse(check.stderr).faults, [{ path: 'data_dir', message: /secrets\.key is missing/ }])
  const doctor = await daemon.ctlResult('doctor', '--reach', '127.0.0.1')
  t.equal(doctor.code, 2, doctor.stderr)
  t.match(doctor.stdout, /"code": "secret_key"/)
  t.match(await daemon.ctlResult('webhook', 'show'), { code: 78, stderr: /secrets\.key is missing/ })
  t.equal(
    (await daemon.ctlResult('status')).code,
    0,
    'what needs no secret is told: there is an installation',
  )

  const config = readFileSync(daemon.configPath, 'utf8')
  writeFileSync(
    daemon.configPath,
    config.replace(/^database = .*/m, 'database = "postgres://x@127.0.0.1:9/x"'),
  )
  const unknown = await daemon.ctlResult('config', 'check')
  t.equal(unknown.code, 0, unknown.stderr)
  t.match(JSON.parse(unknown.stdout).warnings, [
    {
      path: 'data_dir',
      message:
        /is missing, and whether .* is not known \(the server of the database can not be asked: .*ECONNREFUSED/,
    },
  ])
})

t.test('a server that is not there is told in a sentence', { skip: without('postgres') }, async t => {
  const dir = temporaryDir(t)
  const config = join(dir, 'mailboxd.toml')
  const secret = join(dir, 'password')
  writeFileSync(secret, 'p@ss\nword\n')
  const text = (database: string) => `hostname = "mail.ours.example"
account_domain = "ours.example"
data_dir = "${join(dir, 'data')}"
database = "${database}"
[postgres]
password_file = "${secret}"
`
  const start = (database: string) => {
    writeFileSync(config, text(database))
    return runProgram(process.execPath, [builtProgram('mailboxd'), '--config', config])
  }
  t.match(await start('postgres://mailboxd@127.0.0.1:9/mailboxd'), {
    code: 1,
    stderr: /^mailboxd can not start: the server of the database can not be asked: connect ECONNREFUSED/,
  })
  t.match(await start('postgres://mailboxd:secret@127.0.0.1:9/mailboxd'), {
    code: 78,
    stderr: /must not contain a password: name the file/,
  })
  const none = (await newPostgresDatabase()).replace(/\/[^/]*$/, '/none_such')
  t.match(await start(none), { code: 1, stderr: /can not be asked: database "none_such" does not exist/ })
  rmSync(secret)
  t.match(await start(none), {
    code: 78,
    stderr:
      /mailboxd\.toml: postgres\.password_file: the daemon can not read \S+\/password \(ENOENT\): make it, /,
  })
})
