import pg from 'pg'
import t from 'tap'
import { newPostgresDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { beginsAt, type History, sameHistory } from './history.ts'

const free: History = { seed: 1, toml: '' }
const withinPlan: History = {
  seed: 2,
  toml: '[plan_pro]\ninboxes = 3\nmessages_per_month = 25\ncold_recipients = 3\ncold_recipients_at_first = 2\nexternal_reply_to = false\n',
}

t.test('a history without limits', t => sameHistory(t, free))

t.test('a history within a plan', t => sameHistory(t, withinPlan))

t.test('the same on PostgreSQL', { skip: without('postgres') }, async t =>
  sameHistory(t, withinPlan, await databaseOfTheTime()),
)

/** A database whose clock stands where the histories begin: a server with another clock than this process's is not gone on with. */
async function databaseOfTheTime(): Promise<string> {
  const url = await newPostgresDatabase(migratedDatabase)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`create function public.clock_timestamp() returns timestamptz language sql
      return timestamptz '${beginsAt}'`)
    // What stands in public comes before what is the server's own.
    await client.query(`alter database ${client.database} set search_path = public, pg_catalog`)
  } finally {
    await client.end()
  }
  return url
}
