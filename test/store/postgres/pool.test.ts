import pg from 'pg'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { openStore } from '../../../lib/store/open.ts'
import { openPostgres, postgresIdleMs } from '../../../lib/store/postgres/pool.ts'
import { postgresLockWaitMs } from '../../../lib/store/postgres/write.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { startPostgres, startReplicated } from '../../support/postgres.ts'
import { insertPodRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'

t.test(
  'a connection that met an outage is given up, and one on which a statement failed is not',
  { skip: without('postgres') },
  async t => {
    const pool = openPostgres(await newPostgresDatabase(), 1)
    t.teardown(pool.close)
    /** Which process of the server it is over, and how a statement ends there. */
    const ask = async (text: string) => {
      const { send, release } = await pool.take()
      const { rows } = await send('select pg_backend_pid() as pid')
      const error = await send(text).catch((error: Error) => error.name)
      release()
      return { pid: rows[0]!.pid, error }
    }
    const first = await ask('select 1 / 0')
    t.equal(first.error, 'error')
    // Behind a pooler that has another session each time it is not there; here it is nowhere.
    const second = await ask('execute "not there"')
    t.strictSame(second, { pid: first.pid, error: 'StorageUnreachable' })
    t.not((await ask('select 1')).pid, first.pid)
  },
)

t.test(
  'what is sent under one name behind a failure of its transaction fails by that, and is asked anew after it',
  { skip: without('postgres') },
  async t => {
    const failed: string[] = []
    const pool = openPostgres(await newPostgresDatabase(), 1, { failed: one => failed.push(one.message) })
    t.teardown(pool.close)
    const { send, release } = await pool.take()
    const named = () => send('select pg_backend_pid() as pid', [], 'named')
    const sent = [send('begin'), send('select 1 / 0'), named(), named(), send('rollback'), named()]
    const ended = await Promise.allSettled(sent)
    t.strictSame(
      ended.map(one => (one.status === 'rejected' ? one.reason.code : one.status)),
      ['fulfilled', '22012', '25P02', '25P02', 'fulfilled', '25P02'],
    )
    const { rows: before } = await named()
    release()
    const again = await pool.take()
    const { rows: after } = await again.send('select pg_backend_pid() as pid', [], 'named')
    again.release()
    t.strictSame(after, before, 'over the same connection')
    t.strictSame(failed, [], 'nobody is told of an outage')
  },
)

t.test(
  'who writes is told that the server takes no writes, and not that it does not answer',
  { skip: without('postgres') },
  async t => {
    const pool = openPostgres(await newPostgresDatabase(), 1)
    t.teardown(pool.close)
    const { send, release } = await pool.take()
    const readOnly = send('set default_transaction_read_only = on').then(() => send('create table "one" ()'))
    await t.rejects(readOnly, {
      name: 'StorageUnreachable',
      sentence: 'The server of the database takes no writes now.',
      isShortage: false,
    })
    release()
  },
)

t.test(
  'a commit whose wait for a synchronous standby somebody ended is none, and its connection is given up',
  { skip: without('postgres') },
  async t => {
    const server = await startPostgres(['synchronous_standby_names=nobody'])
    t.teardown(server.stop)
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    t.teardown(() => admin.end())
    await admin.query('set synchronous_commit = local')
    await admin.query('create table "one" ("id" int)')
    // A role that is to hear of errors alone would not hear of it.
    await admin.query('alter role all set client_min_messages = error')
    const failed: string[] = []
    const pool = openPostgres(server.url, 1, { failed: one => failed.push(one.message) })
    t.teardown(pool.close)
    const ended = `select pg_cancel_backend("pid") from pg_stat_activity where "wait_event" = 'SyncRep'`
    const outage = {
      name: 'StorageUnreachable',
      sentence: 'The server of the database was kept from having its standby keep what was written.',
    }
    for (const statements of [
      ['insert into "one" values (1)'],
      ['begin', 'insert into "one" values (2)', 'commit'],
    ]) {
      const { send, release } = await pool.take()
      const { rows } = await send('select pg_backend_pid() as pid')
      const sent = Promise.all(statements.map(text => send(text)))
      sent.catch(() => {})
      await until('it waits', async () => (await admin.query(ended)).rows.length > 0)
      await t.rejects(sent, outage)
      release()
      const again = await pool.take()
      t.not((await again.send('select pg_backend_pid() as pid')).rows[0]!.pid, rows[0]!.pid)
      again.release()
    }
    // Once at least for each of the two: what travelled with a commit fails as well.
    t.ok(failed.length >= 2, `${failed.length}`)
  },
)

t.test('a standby is refused', { skip: without('postgres') }, async t => {
  const { primary, standby } = await startReplicated()
  t.teardown(() => Promise.all([primary.stop(), standby.stop()]))
  const pool = openPostgres(standby.url, 1)
  t.teardown(pool.close)
  await t.rejects(pool.take(), {
    name: 'StorageUnreachable',
    message: /it is a standby of another server.*an endpoint that leads to the primary/,
  })
})

t.test('a session has our bounds, whatever the role says', { skip: without('postgres') }, async t => {
  const url = await newPostgresDatabase()
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  t.teardown(() => admin.end())
  await admin.query('alter role all set lock_timeout = 1')
  await admin.query('alter role all set idle_in_transaction_session_timeout = 1')
  const pool = openPostgres(url, 1, {}, 5_000)
  t.teardown(pool.close)
  const { send, release } = await pool.take()
  const names = ['lock_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout']
  const { rows } = await send('select setting from pg_settings where name = any($1) order by name', [names])
  release()
  t.strictSame(
    rows.map(({ setting }) => Number(setting)),
    [postgresIdleMs, postgresLockWaitMs, 5_000],
  )
  await admin.query('alter role all reset all')
})

t.test('what the server warns of besides is no outage', { skip: without('postgres') }, async t => {
  const pool = openPostgres(await newPostgresDatabase(), 1, { failed: one => t.fail(one.message) })
  t.teardown(pool.close)
  const { send, release } = await pool.take()
  // There is no transaction in progress.
  await send('rollback')
  await send(`do $$ begin raise warning 'beware'; end $$`)
  t.match(await send('select 1 as one'), { rows: [{ one: 1 }] })
  release()
})

t.test(
  'a store closes though a write, for which nobody waits any more, hangs on a standby that is gone',
  { skip: without('postgres') },
  async t => {
    const server = await startPostgres([])
    t.teardown(server.stop)
    const store = await openStore(server.url, systemClock)
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    t.teardown(() => admin.end())
    await admin.query(`alter system set synchronous_standby_names = 'nobody'`)
    await admin.query('select pg_reload_conf()')
    const waits = `select 1 from pg_stat_activity where "wait_event" = 'SyncRep'`
    const written = store
      .writeHolding(
        () => ({}),
        db => insertPodRow(db, { name: 'theirs' }),
      )
      .catch(error => error)
    await until('it waits', async () => (await admin.query(waits)).rows.length > 0)
    await store.close()
    // Not by the bound of a query, which is a minute.
    t.match(await written, { name: 'StorageUnreachable', message: /Connection terminated/ })
  },
)
