import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { findDestination, putDestination } from '../../../lib/store/destinations.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { type Held, holdsNothing } from '../../../lib/store/dialect/held.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { destinationRow } from '../../support/rows.ts'

const skip = without('postgres')

/** A store of which one write is under way until `free` is called, so that all others wait. */
async function openBusy(t: Test): Promise<{ store: Store; free(): void }> {
  const store = await openStore(await newPostgresDatabase(migratedDatabase), systemClock, { connections: 6 })
  t.teardown(() => store.close())
  const begun = Promise.withResolvers<void>()
  const freed = Promise.withResolvers<void>()
  const first = store.writeHolding(holdsNothing, async () => {
    begun.resolve()
    await freed.promise
  })
  t.teardown(() => first)
  await begun.promise
  return { store, free: freed.resolve }
}

/** The transaction that a write is in. */
async function transactionOf(db: WriteDb): Promise<string> {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as "id"`.execute(db)
  return rows[0]!.id
}

const failuresOf = async (db: WriteDb, name: string) => (await findDestination(db, name))?.failures ?? 0
const put = (db: WriteDb, name: string, failures = 0) =>
  putDestination(db, destinationRow(name, '2026-01-02T03:04:05.678Z', failures))

t.test('writes that wait share a transaction', { skip }, async t => {
  const { store, free } = await openBusy(t)
  const names = ['a', 'b', 'c', 'd']
  const waiting = names.map(name =>
    store.writeHolding(
      () => ({ names: [name] }),
      async db => {
        await put(db, name)
        return transactionOf(db)
      },
    ),
  )
  free()
  t.equal(new Set(await Promise.all(waiting)).size, 1)
  for (const name of names) t.ok(await findDestination(store.read, name), name)
})

t.test('writes that hold the same thing come one after the other', { skip }, async t => {
  const { store, free } = await openBusy(t)
  const count = (held: Held) =>
    store.writeHolding(
      () => held,
      async db => {
        const counted = (await failuresOf(db, 'counted')) + 1
        await put(db, 'counted', counted)
        return { counted, transaction: await transactionOf(db) }
      },
    )
  const waiting = [1, 2, 3].map(() => count({ names: ['counted'] }))
  free()
  const done = await Promise.all(waiting)
  t.strictSame(
    done.map(({ counted }) => counted),
    [1, 2, 3],
  )
  t.equal(new Set(done.map(({ transaction }) => transaction)).size, 3)
})

t.test('orderless writes that hold the same thing share a transaction', { skip }, async t => {
  const { store, free } = await openBusy(t)
  const held = { names: ['same'], isOrderless: true }
  const waiting = [1, 2, 3].map(() => store.writeHolding(() => held, transactionOf))
  const ordered = store.writeHolding(() => ({ names: ['same'] }), transactionOf)
  free()
  const [shared] = new Set(await Promise.all(waiting))
  t.equal(new Set(await Promise.all(waiting)).size, 1)
  t.not(await ordered, shared, 'one that is not orderless has its own')
})

t.test('a write that fails does not fail those that share its transaction', { skip }, async t => {
  const { store, free } = await openBusy(t)
  const write = (name: string) =>
    store.writeHolding(
      () => ({ names: [name] }),
      db => put(db, name),
    )
  const before = write('before')
  const broken = store.writeHolding(holdsNothing, async db => {
    await put(db, 'undone')
    throw new Error('broken on purpose')
  })
  const refused = store.writeHolding(holdsNothing, db => sql`select 1 / 0`.execute(db))
  const behind = write('behind')
  free()
  const ended = await Promise.allSettled([before, broken, refused, behind])
  t.match(ended, [
    { status: 'fulfilled' },
    { reason: /on purpose/ },
    { reason: /division by zero/ },
    { status: 'fulfilled' },
  ])
  for (const name of ['before', 'behind']) t.ok(await findDestination(store.read, name), name)
  t.notOk(await findDestination(store.read, 'undone'))
})
