import t from 'tap'
import { openPostgres } from '../../../lib/store/postgres/pool.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'

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
