import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { SchemaFault } from '../../lib/base/schema-fault.ts'
import { ddlFor } from '../../lib/store/dialect/dialect.ts'
import { migrations } from '../../lib/store/migrations/index.ts'
import { migrate } from '../../lib/store/migrations/migrate.ts'
import { openStore } from '../../lib/store/open.ts'
import { newPostgresDatabase, onEveryDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'

const schema = readFileSync(new URL('../../lib/store/schema.sql', import.meta.url), 'utf8')

t.test('the migrations end in schema.sql (SQLite)', async t => {
  const truth = new Database(':memory:')
  truth.exec(ddlFor('sqlite', schema))
  const path = `${t.testdir({})}/migrated.sqlite`
  const store = await openStore(path, systemClock)
  t.teardown(() => store.close())
  // ALTER TABLE puts a column after the end of the last line.
  const normal = (text: string) => text.replace(/\s+/g, ' ').replace(/ ?([(),]) ?/g, '$1')
  const list = 'select name, sql from sqlite_master where sql is not null order by name'
  const wanted = truth.prepare<[], { name: string; sql: string }>(list).all()
  const { rows } = await sql.raw<{ name: string; sql: string }>(list).execute(store.read)
  t.strictSame(
    rows.map(row => [row.name, normal(row.sql)]),
    wanted.map(row => [row.name, normal(row.sql)]),
  )
})

t.test('the migrations end in schema.sql (PostgreSQL)', { skip: without('postgres') }, async t => {
  const truthUrl = await newPostgresDatabase()
  const client = new pg.Client({ connectionString: truthUrl })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(ddlFor('postgres', schema))
  const store = await openStore(await newPostgresDatabase(), systemClock)
  t.teardown(() => store.close())
  const columns = `select table_name, column_name, data_type, is_nullable, collation_name from information_schema.columns
    where table_schema = 'public' order by table_name, column_name`
  const indexes = `select indexdef from pg_indexes where schemaname = 'public' order by indexdef`
  for (const query of [columns, indexes]) {
    const { rows } = await sql.raw(query).execute(store.read)
    const wanted = await client.query(query)
    t.ok(rows.length > 10)
    t.strictSame(rows, wanted.rows)
  }
})

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
