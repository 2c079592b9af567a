import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { type Clock, systemClock } from '../../lib/base/time.ts'
import { mailStorageMs } from '../../lib/core/app/server-time.ts'
import { mailBegunMs } from '../../lib/core/inbound/write-together.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { lockWaitMs } from '../../lib/store/dialect/group-commit.ts'
import { postgresLockWaitMs } from '../../lib/store/postgres/write.ts'
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
  aheadMs += mailBegunMs
  await until('it has stopped to', async () => !(await isWaiting()))
  await operator.query('commit')
  t.match((await dialog.reply()).text, /^451 4\.3\.0 /)
  t.strictSame(await door.messages(), [], 'its peer brings it again')

  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog.data('Subject: s\r\n\r\nhello')).code, 250)
  t.equal((await door.messages()).length, 1)
})

t.test('while another program writes for too long, mail is not taken, and is told to come again', async t => {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
  const door = await openDoor(t, { clock })
  await door.inbox('ann')
  const dialog = await greetedDialog(door.port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  const other = new Database(databasePath(door.dataDir))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  dialog.write('Subject: s\r\n\r\nhello\r\n.\r\n')
  await door.hasRead(dialog)
  // Until then it waits for its turn, by real time and by the one that is told here.
  const reply = dialog.reply()
  let isReplied = false
  void reply.then(() => {
    isReplied = true
  })
  await until('the reply', () => {
    aheadMs += lockWaitMs / 10
    return isReplied
  })
  t.equal((await reply).text, '451 4.3.0 Mail can not be stored just now; try again later')
  t.match(
    door.log.filter(({ level }) => level === 'warn' || level === 'error'),
    [{ level: 'warn', msg: 'mail can not be stored' }],
  )
  other.exec('rollback')
  t.strictSame(await door.messages(), [])
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog.data('Subject: s\r\n\r\nhello')).code, 250)
})

t.test('what waits for a lock is ended by the server before its client is answered', { skip }, async t => {
  const door = await openDoor(t, { database: await newPostgresDatabase() })
  const asked = sql<{ own: string }>`select current_setting('lock_timeout') as "own"`
  const { rows } = await asked.execute(door.app.store.read)
  t.equal(rows[0]!.own, `${postgresLockWaitMs / 1000}s`)
  t.ok(mailBegunMs + postgresLockWaitMs < mailStorageMs)
})
