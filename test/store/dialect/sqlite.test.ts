import { closeSync, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import type { Db } from '../../../lib/store/dialect/dialect.ts'
import {
  openSqliteBeside,
  openSqliteFollower,
  openSqliteReader,
  openSqliteWriter,
} from '../../../lib/store/dialect/sqlite.ts'
import { chanceOf } from '../../support/fuzz.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('the connection that writes is read from between two transactions, and never within one', async t => {
  const writer = openSqliteWriter(`${temporaryDir(t)}/between.sqlite`)
  t.teardown(() => writer.close())
  const { between } = writer
  writer.exec('create table "one" ("n" integer)')
  const count = () => between.prepare('select count(*) as n from "one"')?.get()
  t.strictSame(count(), { n: 0 })
  const before = between.version()
  t.type(before, 'number')
  between.refresh()
  writer.exec('begin immediate')
  writer.exec('insert into "one" values (1)')
  t.equal(between.prepare('select 1'), undefined, 'it would see what is not committed')
  t.equal(between.version(), undefined)
  writer.exec('commit')
  t.strictSame(count(), { n: 1 })
  t.not(between.version(), before)
  t.throws(() => between.prepare('delete from "one"'), /does not read/)
})

t.test('what was closed has no file open', { skip: process.platform !== 'linux' && 'no /proc' }, async t => {
  const dir = temporaryDir(t)
  const isOpen = (descriptor: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(dir)
    } catch {
      // That of the folder itself.
      return false
    }
  }
  const open = () => readdirSync('/proc/self/fd').filter(isOpen).length
  const writer = openSqliteWriter(`${dir}/closed.sqlite`)
  writer.exec('create table "one" ("n" integer)')
  t.ok(open() >= 2, 'the file and its log')
  writer.close()
  t.equal(open(), 0)
})

t.test('what is free goes back to the disk, some at once, and some is kept for what comes', async t => {
  const path = `${temporaryDir(t)}/free.sqlite`
  const writer = openSqliteWriter(path)
  t.teardown(() => writer.close())
  writer.exec('create table "one" ("text" text)')
  writer.exec(
    `with recursive "n" ("at") as (select 1 union all select "at" + 1 from "n" where "at" < 500)
     insert into "one" select hex(randomblob(2000)) from "n"`,
  )
  // A file is made for it, or made anew.
  writer.rewrite()
  const beside = openSqliteBeside(path)
  t.teardown(() => beside.close())
  const reader = new Database(path, { readonly: true })
  t.teardown(() => reader.close())
  const pages = () => Number(reader.pragma('page_count', { simple: true }))
  const before = pages()
  t.equal(beside.freeSome(100, 0), false, 'nothing is free')
  writer.exec('delete from "one"')
  t.equal(beside.freeSome(100, 0), true)
  t.equal(pages(), before - 100, 'as many as it may')
  t.equal(beside.freeSome(100_000, 50), true)
  const left = pages()
  t.ok(left >= 50 && left < 80, `${left}`)
  t.equal(beside.freeSome(100_000, 50), false)
  t.equal(pages(), left)
})

/** What SQLite says of a connection; the numbers are those of its documentation. */
async function settingsOf(db: Db) {
  const names = [
    ...[
      'journal_mode',
      'synchronous',
      'wal_autocheckpoint',
      'journal_size_limit',
      'secure_delete',
      'auto_vacuum',
    ],
    ...['busy_timeout', 'foreign_keys', 'trusted_schema', 'temp_store', 'cache_size', 'query_only'],
  ]
  const all: Record<string, unknown> = {}
  for (const name of names) {
    const { rows } = await sql.raw<object>(`pragma ${name}`).execute(db)
    all[name] = Object.values(rows[0]!)[0]
  }
  return all
}

t.test('each kind of connection keeps, waits and forgets as it must', async t => {
  const path = `${temporaryDir(t)}/settings.sqlite`
  const writer = openSqliteWriter(path)
  t.teardown(() => writer.close())
  const all = {
    journal_mode: 'wal',
    auto_vacuum: 2,
    foreign_keys: 1,
    trusted_schema: 0,
    temp_store: 2,
    cache_size: -16000,
  }
  const writes = { ...all, synchronous: 1, wal_autocheckpoint: 4000, secure_delete: 1, busy_timeout: 0 }
  t.match(await settingsOf(writer.db), writes)
  writer.leaveCheckpoints(12_345)
  const leaves = { ...writes, wal_autocheckpoint: 0, journal_size_limit: 12_345 }
  t.match(await settingsOf(writer.db), leaves, 'a thread has the log')
  writer.exec('create table "one" ("n" integer)')
  writer.rewrite()
  t.match(await settingsOf(writer.db), leaves, 'it waits for no lock, still')

  const beside = openSqliteBeside(path)
  t.teardown(() => beside.close())
  const besides = { ...all, synchronous: 1, wal_autocheckpoint: 0, secure_delete: 2, busy_timeout: 5000 }
  t.match(await settingsOf(beside.db), besides)

  const reader = openSqliteReader(path)
  t.teardown(() => reader.close())
  t.match(await settingsOf(reader.db), { ...all, busy_timeout: 5000 })
  await t.rejects(sql`insert into "one" values (1)`.execute(reader.db), /readonly|does not read/)
})

t.test('another version says that something was committed, by whomever, and nothing else does', async t => {
  const path = `${temporaryDir(t)}/version.sqlite`
  const writer = openSqliteWriter(path)
  t.teardown(() => writer.close())
  writer.exec('create table "one" ("n" integer)')
  const follower = openSqliteFollower(path, writer)
  t.teardown(() => follower.close())
  const other = openSqliteBeside(path)
  t.teardown(() => other.close())
  const chance = chanceOf(3)
  const insert = 'insert into "one" values (1)'
  const countOf = async (db: Db) =>
    (await sql<{ n: number }>`select count(*) as "n" from "one"`.execute(db)).rows[0]!.n
  let committed = 0
  let isWriting = false
  let own = 0
  /** What was there, and which version that was, at the last look between two transactions. */
  let last: { version: number; committed: number; commits: number } | undefined
  let commits = 0
  const wrong: unknown[] = []
  for (let step = 0; step < 400; step++) {
    const what = chance.of([
      'begin',
      'write',
      'commit',
      'roll back',
      'other',
      'other rolls back',
      'look',
      'look',
      'turn',
    ])
    if (what === 'begin' && !isWriting) {
      follower.refresh()
      writer.exec('begin immediate')
      isWriting = true
    } else if (what === 'write' && isWriting) {
      writer.exec(insert)
      own++
    } else if (what === 'commit' && isWriting) {
      writer.exec('commit')
      follower.refresh()
      isWriting = false
      committed += own
      own = 0
      commits++
    } else if (what === 'roll back' && isWriting) {
      writer.exec('rollback')
      isWriting = false
      own = 0
    } else if (what === 'other' && !isWriting) {
      follower.refresh()
      await other.transact(async db => void (await sql.raw(insert).execute(db)))
      committed++
      commits++
    } else if (what === 'other rolls back' && !isWriting) {
      follower.refresh()
      await t.rejects(
        other.transact(async db => {
          await sql.raw(insert).execute(db)
          throw new Error('on purpose')
        }),
        /on purpose/,
      )
    } else if (what === 'turn') {
      await new Promise(resolve => setImmediate(resolve))
    } else if (what === 'look') {
      const version = follower.version()!
      const count = await countOf(follower.db)
      if (count !== committed) wrong.push({ step, count, committed })
      const isSame = last?.version === version
      if (isWriting && isSame) wrong.push({ step, what: 'something may come any moment' })
      if (!isWriting && last && isSame !== (last.commits === commits))
        wrong.push({ step, isSame, last, commits })
      last = isWriting ? undefined : { version, committed, commits }
    }
  }
  if (isWriting) writer.exec('rollback')
  t.strictSame(wrong.slice(0, 3), [])
  t.ok(committed > 20, `${committed}`)
})

t.test('a reader sees what is there in this turn of the event loop', async t => {
  const path = `${temporaryDir(t)}/snapshot.sqlite`
  const writer = openSqliteWriter(path)
  t.teardown(() => writer.close())
  writer.exec('create table "one" ("n" integer)')
  const reader = openSqliteReader(path)
  t.teardown(() => reader.close())
  const count = ({ prepare }: typeof reader) =>
    (prepare('select count(*) as "n" from "one"').get() as { n: number }).n
  writer.exec('insert into "one" values (1)')
  t.equal(count(reader), 1)
  writer.exec('insert into "one" values (2)')
  t.equal(count(reader), 1, 'all that it reads at once is of one moment')
  reader.refresh()
  t.equal(count(reader), 2)
  writer.exec('insert into "one" values (3)')
  await new Promise(resolve => setImmediate(resolve))
  t.equal(count(reader), 3)
})

t.test('who reads what is damaged is told so, and nobody else', async t => {
  const path = `${temporaryDir(t)}/damaged.sqlite`
  const made = new Database(path)
  made.exec('create table "pod" ("id" text); create table "inbox" ("id" text)')
  const { pages } = made.prepare(`select rootpage as pages from sqlite_master where name = 'pod'`).get() as {
    pages: number
  }
  const size = made.pragma('page_size', { simple: true }) as number
  made.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(size, 0xee), 0, size, (pages - 1) * size)
  closeSync(file)
  const writer = openSqliteWriter(path)
  t.teardown(() => writer.close())
  const reader = openSqliteReader(path)
  t.teardown(() => reader.close())
  for (const { db } of [reader, openSqliteFollower(path, writer)]) {
    await t.rejects(db.selectFrom('pod').select('id').execute(), { code: 'SQLITE_CORRUPT' })
    // The turn ends, and what it throws nobody would catch.
    await turn()
    t.strictSame(await db.selectFrom('inbox').select('id').execute(), [])
  }
})
