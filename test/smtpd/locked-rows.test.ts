import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

const skip = without('postgres')

t.test('mail that waited for a lock for too long is not stored behind its 451', { skip }, async t => {
  const database = await newPostgresDatabase()
  let aheadMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
  const door = await openDoor(t, { database, clock })
  await door.inbox('ann')
  const operator = new pg.Client({ connectionString: database })
  await operator.connect()
  t.teardown(() => operator.end())
  const isWaiting = async () => {
    const { rows } = await operator.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }
  await operator.query('begin')
  await operator.query('select from "inbox" for update')
  const dialog = await greetedDialog(door.port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  dialog.write('Subject: s\r\n\r\nhello\r\n.\r\n')
  await until('the write waits', isWaiting)
  aheadMs += limits.mailBegunMs
  await until('it has stopped to', async () => !(await isWaiting()))
  await operator.query('commit')
  t.match((await dialog.reply()).text, /^451 4\.3\.0 /)
  t.strictSame(await door.messages(), [], 'its peer brings it again')

  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog.data('Subject: s\r\n\r\nhello')).code, 250)
  t.equal((await door.messages()).length, 1)
})

t.test('what waits for a lock is ended by the server before its client is answered', { skip }, async t => {
  const door = await openDoor(t, { database: await newPostgresDatabase() })
  const asked = sql<{ own: string }>`select current_setting('lock_timeout') as "own"`
  const { rows } = await asked.execute(door.app.store.read)
  t.equal(rows[0]!.own, `${limits.postgresLockWaitMs / 1000}s`)
  t.ok(limits.mailBegunMs + limits.postgresLockWaitMs < limits.mailStorageMs)
  t.ok(
    limits.postgresLockWaitMs > limits.postgresIdleMs,
    'a node that stands still in a transaction is waited for',
  )
})
