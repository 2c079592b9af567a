import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { checkServer } from '../../../lib/core/doctor/server.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'

const skip = without('postgres')

const codesOf = async (url: string, clock = systemClock) =>
  (await checkServer(url, clock)).map(({ level, code, paste }) => [level, code, paste])

async function ask(url: string, ...statements: string[]): Promise<void> {
  // Also where the database has sessions end what takes a millisecond.
  const client = new pg.Client({ connectionString: url, options: '-c statement_timeout=0' })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

/** Those of the server itself: the one of the tests does not wait for its disk. */
const ofTests = [['error', 'database_unsafe', 'fsync = on']]

/** What is found beside those. */
async function foundBeside(t: Test, url: string, clock = systemClock) {
  const found = await codesOf(url, clock)
  for (const one of ofTests)
    t.ok(
      found.some(([, , paste]) => paste === one[2]),
      `${one[2]} is told`,
    )
  return found.filter(([, , paste]) => !['fsync = on', 'full_page_writes = on'].includes(paste ?? ''))
}

t.test(
  'a PostgreSQL server that loses what it was told, or is set otherwise than needed',
  { skip },
  async t => {
    const url = await newPostgresDatabase()
    t.strictSame(await foundBeside(t, url), [])

    const name = new URL(url).pathname.slice(1)
    await ask(url, `alter database ${name} set synchronous_commit = off`)
    t.strictSame(await foundBeside(t, url), [['error', 'database_unsafe', 'synchronous_commit = on']])
    await ask(url, `alter database ${name} reset synchronous_commit`)

    for (const whose of ['role postgres', `role postgres in database ${name}`, `database ${name}`]) {
      await ask(url, `alter ${whose} set default_transaction_read_only = on`)
      const reset = `alter ${whose} reset default_transaction_read_only`
      t.strictSame(await foundBeside(t, url), [['error', 'database_read_only', reset]])
      await ask(url, 'set default_transaction_read_only = off', reset)
    }
    await ask(url, `alter database ${name} set statement_timeout = 1`)
    t.strictSame(await foundBeside(t, url), [], 'sessions of mailboxd have bounds of their own')
    await ask(url, `alter database ${name} reset statement_timeout`)

    const other = `${name}_ascii`
    await ask(url, `create database ${other} encoding 'SQL_ASCII' locale 'C' template template0`)
    t.strictSame(await foundBeside(t, url.replace(name, other)), [
      [
        'error',
        'database_encoding',
        `create database ${other}_utf8 encoding 'UTF8' template template0 owner postgres`,
      ],
    ])
    await ask(url, `create database ${other}_utf8`)
    const [[, , paste = ''] = []] = await foundBeside(t, url.replace(name, other))
    t.match(paste, /_utf8_2 encoding/, 'a name that is free')
    await ask(url, paste!)

    for (const aheadMs of [-5000, 5000]) {
      const clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) }
      t.strictSame(await foundBeside(t, url, clock), [['warning', 'database_clock', null]])
    }
  },
)

t.test('a PostgreSQL server that can not be asked', async t => {
  const url = `postgres://postgres@127.0.0.1:${await freePort('127.0.0.1')}/mailboxd`
  t.strictSame(await codesOf(url), [['error', 'database_unreachable', 'systemctl status postgresql']])
})

t.test('one that answers, and lets nobody in, says itself what mends it', { skip }, async t => {
  const url = await newPostgresDatabase()
  for (const wrong of [`${url}_other`, url.replace('postgres@', 'nobody@')]) {
    const found = await checkServer(wrong, systemClock)
    t.match(found, [{ level: 'error', code: 'database_unreachable', paste: null }], wrong)
    t.match(found[0]!.message, /does not exist/, wrong)
  }
})
