import pg from 'pg'
import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { once } from '../../../lib/core/app/idempotency.ts'
import { without } from '../../support/peers.ts'
import { startPostgres } from '../../support/postgres.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

t.test(
  'an answer that no standby has is not given again to who repeats his request',
  { skip: without('postgres') },
  async t => {
    const server = await startPostgres([])
    t.teardown(server.stop)
    const { app, inbox } = await openDoor(t, { database: server.url })
    const podId = (await app.store.read.selectFrom('pod').select('id').executeTakeFirstOrThrow()).id
    const asked = { caller: operator, inbox: { id: await inbox('ann'), podId }, key: 'k', request: {} }
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    t.teardown(() => admin.end())
    const waitFor = async (standby: string) => {
      await admin.query(`alter system set synchronous_standby_names = '${standby}'`)
      await admin.query('select pg_reload_conf()')
      const asked = async () => (await admin.query('show synchronous_standby_names')).rows[0]
      await until('it to be set', async () => (await asked()).synchronous_standby_names === standby)
    }
    const waiting = async (what: string) =>
      (await admin.query(`select ${what} from pg_stat_activity where "wait_event" = 'SyncRep'`)).rows.length >
      0
    let works = 0
    const ask = () =>
      once(app, asked, async ({ remember }) => {
        works++
        await app.store.write(db => remember(db, { done: works }))
        return { done: works }
      })

    await waitFor('nobody')
    const first = ask()
    first.catch(() => {})
    await until('the first one waits', () => waiting('pg_cancel_backend("pid")'))
    await t.rejects(first, { name: 'StorageUnreachable' })
    const second = ask()
    second.catch(() => {})
    await until('the second one waits for the standby, too', () => waiting('1'))
    await t.rejects(second, { name: 'StorageUnreachable' }, 'as long as a first one would')
    await waitFor('')
    t.strictSame(await ask(), { done: 1 })
    t.equal(works, 1)

    // As a failover takes it, between the look and the write.
    await admin.query('begin')
    await admin.query('delete from "idempotency"')
    const third = ask()
    const locked = `select 1 from pg_stat_activity where "wait_event_type" = 'Lock'`
    await until('the third one waits for the row', async () => (await admin.query(locked)).rows.length > 0)
    await admin.query('commit')
    t.strictSame(await third, { done: 2 }, 'what is not there any more is done again')
  },
)
