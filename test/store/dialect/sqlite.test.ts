import { readdirSync, readlinkSync } from 'node:fs'
import Database from 'better-sqlite3'
import t from 'tap'
import { openSqliteBeside, openSqliteWriter } from '../../../lib/store/dialect/sqlite.ts'
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
