import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { SchemaFault } from '../../lib/base/schema-fault.ts'
import type { DistantBlobs } from '../../lib/blob/bucket/distant.ts'
import { moveRows } from '../../lib/core/moving.ts'
import { moveFiles } from '../../lib/core/moving-files.ts'
import { daemonLockPath, nodeName } from '../../lib/core/nodes/node-name.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { lockDataDirectory } from '../../lib/store/dialect/lock.ts'
import { newestStep } from '../../lib/store/migrations/migrate.ts'
import { openStore } from '../../lib/store/open.ts'
import { nodeClass } from '../../lib/store/postgres/take-name.ts'
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
  return {
    file,
    move,
    /** While a daemon runs. */
    async begin(to: string, from = file) {
      const free = lockDataDirectory(daemonLockPath(dataDir))
      try {
        return await move(to, from)
      } finally {
        free()
      }
    },
  }
}

const isOpen = (location: string) =>
  openStore(location, systemClock).then(
    async store => {
      await store.close()
      return true
    },
    error => {
      if (error instanceof SchemaFault) return false
      throw error
    },
  )

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

t.test('rows are moved to one place, however many copies were begun', { skip }, async t => {
  const [one, two, three] = [
    await newPostgresDatabase(),
    await newPostgresDatabase(),
    await newPostgresDatabase(),
  ]
  const { file, move, begin } = await newInstallation(t)
  const onlyOpen = async (which: string) => {
    const open = []
    for (const location of [file, one, two]) if (await isOpen(location)) open.push(location)
    t.strictSame(open, [which])
  }
  for (const to of [one, two]) t.match(await begin(to), { isDone: false })
  await onlyOpen(file)
  t.match(await move(one), { isDone: true })
  await onlyOpen(one)
  const elsewhere = {
    message: /moved from here before, to postgres.*set database = .*copy that is not whole/,
  }
  await t.rejects(move(two), elsewhere)
  await t.rejects(move(three), { message: /moved from here before, to postgres/ })
  await t.rejects(move(three, two), { message: /not all rows are in this database/ })
  await onlyOpen(one)

  // It moves on, and is begun anew: what was here before that is no part of it.
  t.match(await move(two, one), { isDone: true })
  await onlyOpen(two)
  await t.rejects(move(one), elsewhere)
  t.match(await begin(one, two), { isDone: false })
  await t.rejects(move(one), elsewhere)
  await onlyOpen(two)
  t.match(await move(file, two), { isDone: true })
  await onlyOpen(file)
})

t.test('a move that was cut off between its two ends is ended by the next call', { skip }, async t => {
  const url = await newPostgresDatabase()
  const { file, move, begin } = await newInstallation(t)
  await begin(url)
  const mark = await ask(url, 'select * from migration where number = -1')
  t.match(await move(url), { isDone: true })
  const { name, breaking, appliedAt } = mark[0] as Record<string, string>
  await ask(
    url,
    `insert into migration ("number", "name", "breaking", "appliedAt") values (-1, '${name}', ${breaking}, '${appliedAt}')`,
  )
  t.strictSame([await isOpen(file), await isOpen(url)], [false, false])
  t.match(await move(url), { isDone: true })
  t.strictSame([await isOpen(file), await isOpen(url)], [false, true])
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
  t.match(await move(modest), { isDone: true })
})

t.test(
  'large messages are not taken to the disk of one node while others work beside it',
  { skip },
  async t => {
    const url = await newPostgresDatabase(migratedDatabase)
    const dataDir = temporaryDir(t)
    const files = () => moveFiles({ dataDir, from: url, to: 'disk', openBucket: async () => undefined, told })
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    t.teardown(() => holder.end())
    const hold = (node: string) =>
      holder.query('select pg_advisory_lock($1, hashtext($2))', [nodeClass, node])
    await hold(await nodeName(dataDir))
    await t.rejects(files(), { message: /^`blobs` is not set, so .* in data_dir already/ }, 'this node alone')
    await hold('other')
    await t.rejects(files(), {
      name: 'BackupFault',
      message: /these work beside it: a node that has just come \(\?\)\. Leave them in the bucket/,
    })
    const free = lockDataDirectory(daemonLockPath(dataDir))
    t.teardown(free)
    const bucket = { close() {} } as unknown as DistantBlobs
    t.match(
      await moveFiles({ dataDir, from: url, to: 'bucket', openBucket: async () => bucket, told }),
      { isDone: false, running: [{ name: 'a node that has just come' }] },
      'who runs is named',
    )
    const others = { dataDir, from: url, to: 'bucket', openBucket: async () => undefined, told } as const
    await t.rejects(
      moveFiles(others),
      { message: /^`blobs` is not set/ },
      'into the bucket each node takes its own',
    )
  },
)
