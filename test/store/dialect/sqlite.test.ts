import t from 'tap'
import { openSqliteWriter } from '../../../lib/store/dialect/sqlite.ts'
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
