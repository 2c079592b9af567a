import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { answering } from '../../../lib/queue/standing.ts'
import { findDestination, putDestination } from '../../../lib/store/destinations.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { openStore } from '../../../lib/store/open.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'

const skip = without('postgres')
const nothing = () => ({})

async function openStores(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const stores = await Promise.all([openStore(url, systemClock), openStore(url, systemClock)])
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  return stores
}

const put = (db: WriteDb, name: string) => putDestination(db, answering(name, '2026-01-02T03:04:05.678Z'))

/** Which transaction it is. */
async function transactionOf(db: WriteDb): Promise<string> {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(db)
  return rows[0]!.id
}

t.test('writes that wait share a transaction, and one that fails is undone alone', { skip }, async t => {
  const [store] = await openStores(t)
  const writes = Array.from({ length: 9 }, (_, n) =>
    store!.writeHolding(nothing, async db => {
      await put(db, `d${n}`)
      if (n === 3) throw new Error('refused')
      // An error of the server, which undoes a transaction.
      if (n === 5) await sql`select 1 / 0`.execute(db)
      return transactionOf(db)
    }),
  )
  const done = await Promise.allSettled(writes)
  const failed = done.flatMap((one, n) => (one.status === 'rejected' ? [`${n} ${one.reason.message}`] : []))
  t.strictSame(failed, ['3 refused', '5 division by zero'])
  const transactions = done.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  t.equal(new Set(transactions).size, 1)
  for (let n = 0; n < 9; n++)
    t.equal((await findDestination(store!.read, `d${n}`)) === undefined, n === 3 || n === 5, `d${n}`)
})

t.test('those that wait for each other are done again, alone', { skip }, async t => {
  const stores = await openStores(t)
  await stores[0]!.write(async db => {
    for (const name of ['a', 'b']) await put(db, name)
  })
  const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let times = 0
  const both = stores.map((store, n) =>
    store.writeHolding(nothing, async db => {
      times++
      await put(db, n === 0 ? 'a' : 'b')
      met[n]!.resolve()
      await Promise.all(met.map(({ promise }) => promise))
      await put(db, n === 0 ? 'b' : 'a')
    }),
  )
  await Promise.all(both)
  t.ok(times === 3 || times === 4, `one of the two, or both: ${times}`)
})

t.test('a row that somebody else is about to insert is found by who is done again', { skip }, async t => {
  const stores = await openStores(t)
  let met = 0
  const started = Promise.withResolvers<void>()
  const insert = (n: number) =>
    stores[n]!.writeHolding(nothing, async db => {
      const known = await db.selectFrom('usage').selectAll().where('subject', '=', 'one').executeTakeFirst()
      if (++met === 2) started.resolve()
      await started.promise
      if (known) return 'found'
      await db.insertInto('usage').values({ subject: 'one', kind: 'k', period: 'p', count: 1 }).execute()
      return 'inserted'
    })
  t.strictSame((await Promise.all([insert(0), insert(1)])).sort(), ['found', 'inserted'])
})

t.test('what was written together and can not be committed is told of nobody', { skip }, async t => {
  const [store] = await openStores(t)
  const notices: string[] = []
  store!.onCommit('mail', about => void notices.push(...about))
  const work = store!.writeHolding(nothing, async db => {
    await put(db, 'one')
    // It is not told to who writes, and the server answers to the commit that it has undone all.
    await sql`select 1 / 0`.execute(db).catch(() => {})
  })
  await t.rejects(work, /undone/)
  t.equal(await findDestination(store!.read, 'one'), undefined)
  t.strictSame(notices, [])
})
