import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import t from 'tap'
import { SchemaFault, UnreleasedSchema } from '../../lib/base/faults.ts'
import { systemClock } from '../../lib/base/time.ts'
import { migrations } from '../../lib/store/migrations/index.ts'
import { findSchemaState, migrate, requireCurrentSchema } from '../../lib/store/migrations/migrate.ts'
import { openStore } from '../../lib/store/open.ts'
import { onEveryDatabase } from '../support/databases.ts'

const schema = readFileSync(new URL('../../lib/store/schema.sql', import.meta.url), 'utf8')

t.test('schema.sql has three types of columns and nothing else', async t => {
  // What one database alone has stands in sections of its own.
  const portable = schema.replaceAll(/^-- only on \w+$[\s\S]*?^-- end only$/gm, '')
  t.equal(
    schema.match(/^-- only on (?:sqlite|postgres)$/gm)?.length,
    3,
    'the index of the search, and what awaits its place',
  )
  t.notMatch(portable, /^-- (?:only on|end only)/m)
  const lines = portable.split('\n').filter(line => line.startsWith('  "'))
  t.ok(lines.length > 80)
  for (const line of lines) t.match(line, /^ {2}"\w+" (text|integer|blob)\b/)
})

onEveryDatabase('migrating twice changes nothing', async (t, store) => {
  t.strictSame(await store.write(db => migrate(db, store.dialect, 'x')), [])
  const rows = await store.read.selectFrom('migration').select('number').orderBy('number').execute()
  t.strictSame(
    rows.map(row => row.number),
    migrations.map(step => step.number),
  )
})

onEveryDatabase('a breaking migration of a newer program is refused, another is not', async (t, store) => {
  const newer = { number: 9001, name: 'kind', breaking: 0, appliedAt: 'x' }
  await store.write(db => db.insertInto('migration').values(newer).execute())
  await store.write(db => migrate(db, store.dialect, 'x'))
  const known = migrations.at(-1)!.number
  const contract = { number: 9003, name: 'taken away', breaking: 1, appliedAt: 'x', unusedSince: known }
  await store.write(db => db.insertInto('migration').values(contract).execute())
  await store.write(db => migrate(db, store.dialect, 'x'))
  await store.write(db =>
    db.updateTable('migration').set({ unusedSince: 9001 }).where('number', '=', 9003).execute(),
  )
  await t.rejects(
    store.write(db => migrate(db, store.dialect, 'x')),
    /migration 9003 \(taken away\) of a newer mailboxd/,
  )
  await store.write(db => db.deleteFrom('migration').where('number', '=', 9003).execute())
  const breaking = { number: 9002, name: 'harsh', breaking: 1, appliedAt: 'x' }
  await store.write(db => db.insertInto('migration').values(breaking).execute())
  await t.rejects(
    store.write(db => migrate(db, store.dialect, 'x')),
    SchemaFault,
  )
})

t.test('a migration that fails leaves nothing behind', async t => {
  const store = await openStore(`${t.testdir({})}/half.sqlite`, systemClock)
  t.teardown(() => store.close())
  await t.rejects(
    store.write(async db => {
      await sql.raw('create table "half" ("id" text primary key)').execute(db)
      await sql.raw('create table "pod" ("id" text)').execute(db)
    }),
  )
  const { rows } = await sql`select name from sqlite_master where name = 'half'`.execute(store.read)
  t.strictSame(rows, [])
})

onEveryDatabase(
  'a database of a development version is refused, and the refusal says what to do',
  async (t, store) => {
    const ofDevelopment = { number: 1, name: 'first-mail', breaking: 1, appliedAt: 'x' }
    const later = { number: 64, name: 'stored-bytes', breaking: 0, appliedAt: 'x' }
    await store.write(async db => {
      await db.updateTable('migration').set(ofDevelopment).where('number', '=', 1).execute()
      await db.insertInto('migration').values(later).execute()
    })
    const refusal = new UnreleasedSchema(
      'a development version of mailboxd, from before the first release, made this database. No release can open it: start with a fresh data directory, and on PostgreSQL with an empty database',
    )
    await t.rejects(requireCurrentSchema(store.read), refusal)
    await t.rejects(findSchemaState(store.read, store.dialect), refusal)
    await t.rejects(
      store.write(db => migrate(db, store.dialect, 'x')),
      refusal,
    )
  },
)
