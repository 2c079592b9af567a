import pg from 'pg'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { notice, type Topic } from '../../../lib/store/dialect/notices.ts'
import { openStore } from '../../../lib/store/open.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

t.test('what one process commits another hears', { skip: without('postgres') }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  const [here, there] = [await openStore(url, systemClock), await openStore(url, systemClock)]
  const ends = [here.hearOthers(), there.hearOthers()]
  t.teardown(async () => {
    for (const end of ends) await end()
    await here.close()
    await there.close()
  })
  const heard = new Map<Topic, Set<string>>()
  let times = 0
  for (const topic of ['mail', 'revocation', 'queue'] as const)
    there.onCommit(topic, about => {
      heard.set(topic, new Set([...(heard.get(topic) ?? []), ...about]))
    })
  here.onCommit('mail', () => times++)
  const tell = (topic: Topic, about: readonly string[] = ['']) =>
    here.write(async db => {
      for (const one of about) notice(db, topic, one)
    })
  // Who listens is not waited for by who tells.
  await until('one to be heard', async () => {
    await tell('revocation')
    return heard.has('revocation')
  })

  const before = times
  const inboxes = Array.from(
    { length: 250 },
    (_, n) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  )
  await tell('mail', inboxes)
  await until('all that it is about', () => heard.get('mail')?.size === inboxes.length)
  t.equal(times, before + 1, 'who tells is told once')
  await tell('queue', ['delivery'])
  await until('work that this process does not carry', () => heard.get('queue')?.has('delivery'))
  here.onCommit('queue', () => {})
  await tell('queue', ['draft'])
  await tell('mail', ['after'])
  await until('what came after it', () => heard.get('mail')?.has('after'))
  t.notOk(heard.get('queue')?.has('draft'), 'what it carries itself is not told')

  await t.test('a connection that ended is opened again, and strange words are no harm', async t => {
    const server = new pg.Client({ connectionString: url })
    await server.connect()
    t.teardown(() => server.end())
    const ended = await server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mailboxd bell' and datname = current_database()`,
    )
    t.equal(ended.rowCount, 2)
    for (const said of ['', 'x', '{}', '{"topic":"mail"}', '{"topic":"else","about":[]}'])
      await server.query('select pg_notify($1, $2)', ['mailboxd', said])
    await until('it to be heard again', async () => {
      await tell('mail', ['again'])
      return heard.get('mail')?.has('again')
    })
  })
})

t.end()
