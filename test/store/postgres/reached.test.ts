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
