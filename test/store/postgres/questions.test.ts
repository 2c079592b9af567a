import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { findDestination, putDestination } from '../../../lib/store/destinations.ts'
import { keptRow, keptRows } from '../../../lib/store/dialect/kept.ts'
import { openStore } from '../../../lib/store/open.ts'
import { joinedText } from '../../../lib/store/postgres/joined.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { destinationRow } from '../../support/rows.ts'

const skip = without('postgres')

async function openOne(t: Test) {
  const store = await openStore(await newPostgresDatabase(migratedDatabase), systemClock)
  t.teardown(() => store.close())
  await store.write(async db => {
    for (let n = 0; n < 30; n++) await putDestination(db, destinationRow(`d${n}`, '2026-01-02', n % 3))
  })
  return store
}

t.test('what is asked at the same time is answered each its own', { skip }, async t => {
  const { read } = await openOne(t)
  const wanted = Array.from({ length: 80 }, (_, n) => `d${n % 40}`)
  const found = await Promise.all(wanted.map(name => findDestination(read, name)))
  t.strictSame(
    found.map(row => row?.name),
    wanted.map(name => (Number(name.slice(1)) < 30 ? name : undefined)),
  )
  t.strictSame(Object.keys(found[0]!).sort(), Object.keys((await findDestination(read, 'd1'))!).sort())
  t.strictSame(found[5], await findDestination(read, 'd5'))
})

const countOf = keptRow((db, { failures }: { failures: number }) =>
  db
    .selectFrom('destination')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('failures', '=', failures),
)
const someOf = keptRows((db, { failures, limit }: { failures: number; limit: number }) =>
  db
    .selectFrom('destination')
    .select('name')
    .where('failures', '=', failures)
    .unionAll(db.selectFrom('destination').select('name').where('name', '=', 'd0'))
    .limit(limit),
)
/** As one statement it is none: the type of what is asked is another. */
const oddOne = keptRow((db, { failures }: { failures: number }) => ({
  compile: () => sql<{ is: boolean }>`select mod(${failures}::text::integer, 2) = 1 as "is"`.compile(db),
}))
const wrong = keptRow((db, { failures }: { failures: number }) => ({
  compile: () => sql<{ is: number }>`select 1 / ${failures}::text::integer as "is"`.compile(db),
}))

t.test('one transaction sees them, and each has as many rows as alone', { skip }, async t => {
  const { read } = await openOne(t)
  const counted = [0, 1, 2, 3, 0].map(failures => countOf(read, { failures }))
  t.strictSame(
    (await Promise.all(counted)).map(row => row!.count),
    [10, 10, 10, 0, 10],
  )
  const listed = [2, 1, 12, 0].map(limit => someOf(read, { failures: 1, limit }))
  t.strictSame(
    (await Promise.all(listed)).map(rows => rows.length),
    [2, 1, 11, 0],
  )
  const odd = await Promise.all([1, 2, 3].map(failures => oddOne(read, { failures })))
  t.strictSame(
    odd.map(row => row!.is),
    [true, false, true],
  )
})

t.test('one that fails fails alone', { skip }, async t => {
  const { read } = await openOne(t)
  for (let time = 0; time < 2; time++) {
    const asked = [1, 0, 1].map(failures => wrong(read, { failures }))
    t.strictSame(
      (await Promise.allSettled(asked)).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
  }
})

t.test('what is one statement, and what is not', t => {
  const ask = (text: string, ...values: unknown[]) => joinedText([{ text, values, name: 'one' }])
  t.match(ask('select 1 where $1 = $2', 'a', 2)?.text, 'unnest($1::text[], $2::bigint[])')
  t.match(ask('select 1 where $1 = $2', 'a', null)?.values, [['a'], [null]])
  for (const text of [
    'select 1',
    'select $1 order by 1',
    'select $1 for update',
    'delete from "a" where "b" = $1',
  ])
    t.equal(ask(text, ...(text.includes('$1') ? ['a'] : [])), undefined, text)
  t.equal(ask('select $1', Buffer.from('a')), undefined)
  t.end()
})
