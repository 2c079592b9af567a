import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { databaseUrl, migratedDatabase, startPostgres } from '../support/postgres.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** As on a full disk: no row is written for which there must be room, and one that is written over in its place is. */
async function diskOf(t: Test, url: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  const set = (words: string) =>
    client.query(
      `create or replace function disk() returns trigger language plpgsql as $$ begin ${words} return new; end $$`,
    )
  await set('')
  const { rows } = await client.query(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename not in ('account', 'node')`,
  )
  for (const { name } of rows)
    await client.query(
      `create trigger disk before insert or update on "${name}" for each row execute function disk()`,
    )
  return {
    fill: () =>
      set(
        `raise exception 'could not extend file "base/5/1": No space left on device' using errcode = '53100';`,
      ),
    makeRoom: () => set(''),
  }
}

t.test(
  'the disk of the database is full: that is an outage, and what was sent meanwhile is not sent again',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase(migratedDatabase)
    const disk = await diskOf(t, database)
    const taken: string[] = []
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      disableReverseLookup: true,
      logger: false,
      onData(stream, _session, callback) {
        stream.toArray().then(
          async chunks => {
            taken.push(/^Subject: (.*)\r$/m.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? 'none')
            if (taken.length === 1) await disk.fill()
            callback()
          },
          error => callback(error),
        )
      },
    })
    server.on('error', () => {})
    server.listen(0, '127.0.0.3')
    await once(server.server, 'listening')
    t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
    const dns = await startDns({})
    t.teardown(() => dns.close())
    dns.set('theirs.example', 'MX', [{ priority: 10, exchange: 'mx.theirs.example' }])
    dns.set('mx.theirs.example', 'A', ['127.0.0.3'])
    const { port: mxPort } = server.server.address() as AddressInfo
    const daemon = await startDaemon(t, { database, dns: dns.server, mxPort })
    const ann = await createInbox(daemon, 'ann')
    const send = (subject: string) => ann.api.send(ann.id, { to: 'x@theirs.example', subject, body: 'b' })
    const bring = async () => {
      const dialog = await greetedDialog(daemon.smtpPort)
      await dialog.envelope('bob@example.net', ann.address)
      const said = await dialog.data('From: bob@example.net\r\nSubject: one\r\n\r\nmarzipan\r\n')
      dialog.end()
      return said
    }
    const { body: first } = await send('first')
    await until('it to be taken', () => taken.length > 0)

    const full = {
      status: 503,
      body: { error: 'unavailable', message: 'The disk of the database is full. Try again shortly.' },
    }
    t.match(await send('second'), full)
    const refused = await bring().catch(String)
    t.match(JSON.stringify(refused), /451 4\.3\.0 Mail can not be stored just now/)
    const health = await fetch(`${daemon.baseUrl}/health`)
    t.match({ status: health.status, body: await health.json() }, full)
    t.equal(health.headers.get('Retry-After'), '10')
    t.equal((await ann.api.get(`/v1/inboxes/${ann.id}/messages`)).status, 200, 'what is there is read')
    const told = (words: RegExp) => daemon.troubles().filter(({ msg }) => words.test(String(msg)))
    t.equal(told(/can not be written/).length, 1)
    t.equal(told(/can be written again/).length, 0)

    await disk.makeRoom()
    await until('its end to be told', () => told(/can be written again/).length === 1, 60_000)
    const delivery = async () => (await ann.api.get(`/v1/queue/${first.messageId}`)).body.data[0]
    await until(
      'the end of the delivery to be recorded',
      async () => (await delivery()).state === 'delivered',
    )
    t.match(await delivery(), { attempts: 1, cutOffs: 0, replyCode: 250 })
    t.equal((await fetch(`${daemon.baseUrl}/health`)).status, 200)
    t.equal((await send('third')).status, 200)
    t.equal((await bring()).code, 250)
    await until('the next to be taken', () => taken.includes('third'))
    t.strictSame(taken, ['first', 'third'])
    t.strictSame(
      daemon.troubles().map(({ msg }) => msg),
      ['the database can not be written: nothing is promised meanwhile', 'the database can be written again'],
    )
    t.equal(await daemon.end('SIGTERM'), 0)
  },
)

t.test(
  'a node that does nothing says that the disk of its database is full',
  { skip: without('postgres', 'unshare') || (process.getuid?.() !== 0 && 'needs root') },
  async t => {
    const server = await startPostgres(undefined, 'base/pgsql_tmp')
    t.teardown(() => server.stop())
    const daemon = await startDaemon(t, { database: databaseUrl(server, migratedDatabase) })
    const health = async () => {
      const answer = await fetch(`${daemon.baseUrl}/health`)
      return { ...((await answer.json()) as { message?: string }), status: answer.status }
    }
    t.match(await health(), { status: 200 })
    const fill = `/proc/${server.pid}/root${server.data}/base/pgsql_tmp/full`
    t.throws(() => writeFileSync(fill, Buffer.alloc(9_000_000)), { code: 'ENOSPC' })
    const full = 'The disk of the database is full. Try again shortly.'
    const answer = await until(
      'it to be told',
      async () => {
        const said = await health()
        return said.message === full ? said : undefined
      },
      60_000,
    )
    t.match(answer, { status: 503, error: 'unavailable' })
    const told = (words: RegExp) => daemon.troubles().filter(({ msg }) => words.test(String(msg))).length
    t.equal(told(/can not be written/), 1)
    const doctor = await daemon.ctlResult('doctor', '--reach', 'nobody.example')
    const found = JSON.parse(doctor.stdout).findings.filter(
      (one: { code: string }) => one.code === 'database_full',
    )
    t.match(found, [{ level: 'error', message: /^its disk is full/ }])
    rmSync(fill)
    await until(
      'its end to be told',
      async () => (await health()).status === 200 && told(/again/) === 1,
      60_000,
    )
    t.equal(told(/can not be written/), 1, 'and it was one outage')
    t.equal(await daemon.end('SIGTERM'), 0)
  },
)
