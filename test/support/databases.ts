import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { openStore, type Store } from '../../lib/store/open.ts'
import { makeMigratedFile } from './migrated.ts'
import { without } from './peers.ts'
import { databaseUrl, migratedDatabase, type Postgres, startPostgres } from './postgres.ts'

let postgres: Postgres | undefined

/** Runs a test on a new SQLite file and on a new database of a real PostgreSQL. */
export function onEveryDatabase(name: string, test: (t: Test, store: Store) => Promise<void>): void {
  t.test(`${name} (SQLite)`, async t => {
    const dir = mkdtempSync(join(tmpdir(), 'mailboxd-store-'))
    const path = join(dir, 'test.sqlite')
    await makeMigratedFile(path)
    const store = await openStore(path, systemClock)
    t.teardown(async () => {
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    })
    await test(t, store)
  })
  t.test(`${name} (PostgreSQL)`, { skip: without('postgres') }, async t => {
    const store = await openStore(await newPostgresDatabase(migratedDatabase), systemClock)
    t.teardown(() => store.close())
    await test(t, store)
  })
}

/** A new database of this test file's PostgreSQL, which is started when it is first asked for; empty, or with all migrations. */
export async function newPostgresDatabase(from = 'template1'): Promise<string> {
  if (!postgres) {
    postgres = await startPostgres()
    // Not shared by the files of a group (group.ts): a test may change the settings of its server.
    t.teardown(async () => {
      await postgres?.stop()
      postgres = undefined
    })
  }
  const name = `t${randomUUID().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(`create database ${name} template ${from}`)
  await client.end()
  return databaseUrl(postgres, name)
}
