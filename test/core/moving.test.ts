import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { localConfig } from '../../lib/config/load.ts'
import { ensureInstallation } from '../../lib/core/account/setup.ts'
import type { App } from '../../lib/core/app/app.ts'
import { requireNoTraces } from '../../lib/core/missing-database.ts'
import { moveRows } from '../../lib/core/moving.ts'
import { moveFiles } from '../../lib/core/moving-files.ts'
import { daemonLockPath } from '../../lib/core/nodes/node-name.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { findAccount } from '../../lib/store/account.ts'
import { lockDataDirectory, nodeClass } from '../../lib/store/dialect/lock.ts'
import { newestStep } from '../../lib/store/migrations/migrate.ts'
import { openStore } from '../../lib/store/open.ts'
import { startApi } from '../support/api-app.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { makeDataDir } from '../support/migrated.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { insertInstallation } from '../support/rows.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const skip = without('postgres')
const told = () => {}

async function install(location: string): Promise<void> {
  const store = await openStore(location, systemClock)
  await store.write(insertInstallation)
  await store.close()
}

/** An installation with nothing but its account and an inbox, on SQLite. */
async function newInstallation(t: Test) {
  const dataDir = join(temporaryDir(t), 'data')
  await makeDataDir(dataDir)
  const file = databasePath(dataDir)
  await install(file)
  const move = (to: string, from = file) => moveRows({ dataDir, from, to, clock: systemClock, told })
  return { dataDir, file, move }
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

t.test(
  'rows move to a server and back, and no daemon goes on with the file that they were in',
  { skip },
  async t => {
    const url = await newPostgresDatabase()
    const { dataDir, file, move } = await newInstallation(t)
    writeFileSync(join(dataDir, 'secrets.key'), '')
    t.match((await move(url))[0], { table: 'pod' })
    t.strictSame(
      readdirSync(dataDir).filter(name => name.startsWith('mailboxd.sqlite')),
      ['mailboxd.sqlite.moved'],
    )
    const settings = localConfig({ dataDir })
    await t.rejects(requireNoTraces(settings), {
      message:
        /is missing, .*were moved to a PostgreSQL server .*: set `database` .* rename \S+\.moved to \S+mailboxd\.sqlite/,
    })
    await t.rejects(move(url), { message: /there are no rows in/ })
    t.match((await move(file, url))[0], { table: 'pod' })
    await (await openStore(file, systemClock)).close()
    await t.rejects(move(file, url), { message: /mailboxd\.sqlite exists already: move it away first/ })
  },
)

t.test('rows are not moved while a daemon runs', { skip }, async t => {
  const [one, two] = [await newPostgresDatabase(), await newPostgresDatabase()]
  const { dataDir, file, move } = await newInstallation(t)
  const free = lockDataDirectory(daemonLockPath(dataDir))
  const running = {
    name: 'BackupFault',
    message: /^mailboxd runs: stop it .*and run the same command again$/,
  }
  await t.rejects(move(one), running)
  free()
  await move(one)
  const holder = new pg.Client({ connectionString: one })
  await holder.connect()
  t.teardown(() => holder.end())
  // As a node holds it.
  await holder.query('select pg_advisory_lock_shared($1)', [
    Number.parseInt(Buffer.from('mailbox').toString('hex').slice(0, 12), 16),
  ])
  await holder.query('select pg_advisory_lock($1, hashtext($2))', [nodeClass, 'other'])
  await t.rejects(move(two, one), { message: /^mailboxd runs on a node that has just come \(\?\): stop it/ })
  t.notOk(existsSync(file))
})

t.test('no daemon starts on half of a copy, and the next move wants an empty database', { skip }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  const { move } = await newInstallation(t)
  const half = await openStore(url, systemClock)
  t.teardown(() => half.close())
  await half.write(insertInstallation)
  await half.write(db => db.deleteFrom('account').execute())
  await t.rejects(move(url), { name: 'BackupFault', message: /rows of a copy that was cut off/ })
  const { app } = await startApi(t)
  const on: App = Object.create(app, { store: { value: half } })
  await t.rejects(ensureInstallation(on), {
    name: 'BackupFault',
    message: /not all rows are in this database/,
  })
  t.equal(await findAccount(half.read), undefined, 'no account is made')
})

t.test('what is at a target that is refused stays as it is', { skip }, async t => {
  const { move } = await newInstallation(t)
  // Of an older mailboxd, as far as its ledger tells.
  const used = await newPostgresDatabase(migratedDatabase)
  await install(used)
  await ask(used, `delete from migration where "number" = ${newestStep}`)
  const before = await ask(used, 'select * from migration order by 1')
  await t.rejects(move(used), { message: /an installation is there already/ })
  t.strictSame(await ask(used, 'select * from migration order by 1'), before)

  const strange = await newPostgresDatabase()
  await ask(strange, 'create table bills ("number" integer)')
  await t.rejects(move(strange), { message: /tables that mailboxd did not make/ })
  t.strictSame(await ask(strange, 'select tablename from pg_tables where schemaname = current_schema()'), [
    { tablename: 'bills' },
  ])

  const half = await newPostgresDatabase(migratedDatabase)
  await ask(half, `delete from migration where "number" = ${newestStep}`)
  await t.rejects(move(half), { name: 'BackupFault', message: /is not as mailboxd made it .*name an empty/ })
  const others = await newPostgresDatabase()
  await ask(others, 'create table migration ("version" integer)')
  await t.rejects(move(others), {
    name: 'BackupFault',
    message: /is not as mailboxd made it .*name an empty/,
  })
})

t.test('a database that takes not every letter is no target, and no node starts on it', { skip }, async t => {
  const { move } = await newInstallation(t)
  const near = await newPostgresDatabase()
  const name = new URL(near).pathname.slice(1)
  await ask(near, `create database ${name}_l encoding 'LATIN1' locale 'C' template template0`)
  const url = `${near}_l`
  const refusal = {
    name: 'SchemaFault',
    message: /is in LATIN1, .*create database \w+_l_utf8 encoding 'UTF8' template template0 owner postgres\)/,
  }
  await t.rejects(move(url), refusal)
  await t.rejects(openStore(url, systemClock, { node: 'one' }), refusal)
  t.strictSame(await ask(url, 'select 1 from pg_tables where schemaname = current_schema()'), [])
})

t.test(
  'a user who may make tables, and may not use those of another, is told whose they should be',
  { skip },
  async t => {
    const url = await newPostgresDatabase(migratedDatabase)
    const name = new URL(url).pathname.slice(1)
    await ask(url, 'create role guest login')
    await ask(url, 'grant create on schema public to guest')
    await t.rejects(openStore(url.replace('postgres@', 'guest@'), systemClock, { node: 'one' }), {
      name: 'SchemaFault',
      message: new RegExp(
        `^the user guest may not use what is in the database ${name} \\(permission denied .*\\): let it own all tables there$`,
      ),
    })
  },
)

t.test('a user who may make no tables is told, with what mends it', { skip }, async t => {
  const { move } = await newInstallation(t)
  const url = await newPostgresDatabase()
  const name = new URL(url).pathname.slice(1)
  await ask(url, 'create role modest login')
  const modest = url.replace('postgres@', 'modest@')
  const paste = `alter database ${name} owner to modest`
  const refusal = {
    name: 'SchemaFault',
    message: `the user modest may not make tables in the database ${name} (permission denied for schema public): ${paste}`,
  }
  await t.rejects(openStore(modest, systemClock, { node: 'one' }), refusal)
  await t.rejects(move(modest), refusal)
  await ask(url, 'revoke all on schema public from public')
  await t.rejects(move(modest), { name: 'SchemaFault', message: /may not make tables .*: alter database/ })
  await ask(url, paste)
  await ask(url, `alter role modest in database ${name} set search_path = mail`)
  const nowhere = {
    name: 'SchemaFault',
    message:
      /^no schema that search_path names \(mail\) .*: alter role modest in database \w+ set search_path = public/,
  }
  await t.rejects(move(modest), nowhere)
  await ask(url, `alter role modest in database ${name} reset search_path`)
  t.match((await move(modest))[0], { table: 'pod' })
})

t.test('large messages are not moved while a daemon runs', async t => {
  const { dataDir, file } = await newInstallation(t)
  const free = lockDataDirectory(daemonLockPath(dataDir))
  t.teardown(free)
  const openBucket = async () => undefined
  for (const to of ['bucket', 'disk'] as const)
    await t.rejects(moveFiles({ dataDir, from: file, to, openBucket, told }), {
      message: /^mailboxd runs: stop it/,
    })
})
