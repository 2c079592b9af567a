import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { insertAttempt } from '../../../lib/store/deliveries.ts'
import { findDestination, putDestination } from '../../../lib/store/destinations.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import type { Held } from '../../../lib/store/dialect/held.ts'
import { leaveInserts } from '../../../lib/store/dialect/left-rows.ts'
import { openStore } from '../../../lib/store/open.ts'
import { openPostgres } from '../../../lib/store/postgres/pool.ts'
import { findRaw, insertRaw } from '../../../lib/store/raws.ts'
import { chainsOf } from '../../../lib/store/transactions/chains.ts'
import { createSerialWrites } from '../../../lib/store/transactions/serial.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { destinationRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')
const nothing = () => ({})

async function openStores(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const stores = await Promise.all([openStore(url, systemClock), openStore(url, systemClock)])
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  return stores
}

const put = (db: WriteDb, name: string) =>
  putDestination(db, destinationRow(name, '2026-01-02T03:04:05.678Z'))

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
  t.ok(times >= 3, `one of the two, or both: ${times}`)
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

t.test('statements of what holds nothing in common travel together', { skip }, async t => {
  const [store] = await openStores(t)
  const said: string[] = []
  const write = (held: Held, name: string) =>
    store!.writeHolding(
      () => held,
      async db => {
        said.push(`${name} begins`)
        await transactionOf(db)
        await transactionOf(db)
        said.push(`${name} ends`)
        return transactionOf(db)
      },
    )
  const transactions = await Promise.all([
    write({ names: ['a'] }, 'a1'),
    write({ names: ['b'] }, 'b1'),
    write({ names: ['a', 'c'] }, 'a2'),
    write({ names: ['c'] }, 'c1'),
    write({ names: ['a'], isOrderless: true }, 'any'),
  ])
  t.equal(new Set(transactions).size, 1)
  const begun = said.slice(0, said.indexOf('a1 ends'))
  for (const name of ['a1', 'b1', 'any']) t.ok(begun.includes(`${name} begins`), name)
  const chained = said.filter(one => /^(a\d|c1) /.test(one))
  t.strictSame(chained, ['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends', 'c1 begins', 'c1 ends'])
})

t.test('what holds parts of two others waits for both', t => {
  t.strictSame(chainsOf([{ names: ['a'] }, { names: ['b'] }, { names: ['c'] }, { names: ['b', 'a'] }]), [
    [2],
    [0, 1, 3],
  ])
  t.strictSame(chainsOf([{ names: ['a'] }, { inboxes: ['a'] }, { messages: ['a'] }, {}]), [
    [0],
    [1],
    [2],
    [3],
  ])
  t.end()
})

t.test(
  'rows that a write leaves are inserted before its commit, with those of the others',
  { skip },
  async t => {
    const [store] = await openStores(t)
    const row = (id: string) => ({
      id,
      sizeBytes: 0,
      sha256: '',
      content: null,
      createdAt: '2026-01-02T03:04:05.678Z',
    })
    const leave = (id: string) => async (db: WriteDb) => {
      await insertRaw(db, row(`${id} at once`))
      leaveInserts(db)
      await insertRaw(db, row(id))
      t.ok(await findRaw(db, `${id} at once`))
      t.notOk(await findRaw(db, id))
      if (id === 'refused') throw new Error('refused')
    }
    const writes = [...'abcdefghijklmnopqrstuvw', 'refused'].map(id =>
      store!.writeHolding(nothing, leave(id)),
    )
    const done = await Promise.allSettled([...writes, store!.write(leave('alone'))])
    t.equal(done.filter(one => one.status === 'rejected').length, 1)
    const rows = await store!.read.selectFrom('raw').select('id').orderBy('id').execute()
    const ids = [...'abcdefghijklmnopqrstuvw', 'alone'].flatMap(id => [id, `${id} at once`])
    t.strictSame(rows.map(({ id }) => id).sort(), ids.sort())
  },
)

t.test('what a left row refers to is asked when it is inserted', { skip }, async t => {
  const [store] = await openStores(t)
  const attempt = (id: string) => ({ id, deliveryId: 'none', result: 'delivered', createdAt: '2026-01-02' })
  const empty = { replyCode: null, replyEnhanced: null, replyText: '', remoteHost: null, remoteAddress: null }
  const writes = ['a', 'b', 'c'].map(id =>
    store!.writeHolding(nothing, async db => {
      leaveInserts(db)
      if (id === 'b') await insertAttempt(db, { ...attempt(id), ...empty, tls: null, durationMs: 0 })
      else await insertRaw(db, { id, sizeBytes: 0, sha256: '', content: null, createdAt: '2026-01-02' })
    }),
  )
  const done = await Promise.allSettled(writes)
  t.strictSame(
    done.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.ok(await findRaw(store!.read, 'c'))
})

/** A row that somebody keeps locked until he is told to let go of it. */
async function lockRow(t: Test, url: string, name: string) {
  const operator = new pg.Client({ connectionString: url })
  await operator.connect()
  t.teardown(() => operator.end())
  await operator.query('begin')
  await operator.query('select from "destination" where "name" = $1 for update', [name])
  return { letGo: () => operator.query('commit') }
}

async function openWithRows(t: Test, clock: Clock = systemClock) {
  const url = await newPostgresDatabase(migratedDatabase)
  const store = await openStore(url, clock, { connections: 6 })
  t.teardown(() => store.close())
  await store.write(async db => {
    for (const name of ['kept', 'free']) await put(db, name)
  })
  return { store, url }
}

t.test(
  'who needs what somebody keeps locked is set aside, and all others go on: reads, writes, and writes in order',
  { skip },
  async t => {
    const { store, url } = await openWithRows(t)
    const { letGo } = await lockRow(t, url, 'kept')
    let isOver = false
    const kept = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0
        ? store.writeHolding(
            () => ({ names: ['kept'] }),
            db => put(db, 'kept'),
          )
        : store.write(db => put(db, 'kept'))
      ).then(() => {
        isOver = true
      }),
    )
    for (let n = 0; n < 20; n++) {
      await store.writeHolding(
        () => ({ names: [`free ${n}`] }),
        db => put(db, `free ${n}`),
      )
      await store.write(db => put(db, 'free'))
      t.ok(await findDestination(store.read, `free ${n}`))
    }
    t.notOk(isOver)
    await letGo()
    await Promise.all(kept)
  },
)

t.test('what can be done in parts is told at once that some of it is locked', { skip }, async t => {
  const { store, url } = await openWithRows(t)
  const { letGo } = await lockRow(t, url, 'kept')
  const held = (names: string[]) => () => ({ names, isDivisible: names.length > 1 })
  const both = store.writeHolding(held(['kept', 'free']), async db => {
    await put(db, 'free')
    await put(db, 'kept')
  })
  await t.rejects(both, { name: 'StorageContended', code: '55P03' })
  const kept = store.writeHolding(held(['kept']), db => put(db, 'kept'))
  await store.writeHolding(held(['free']), db => put(db, 'free'))
  // Now it is known that one of them is.
  let isBegun = false
  const begin = async () => {
    isBegun = true
  }
  const again = store.writeHolding(held(['kept', 'free']), begin)
  await t.rejects(again, { name: 'StorageContended' })
  t.notOk(isBegun)
  await letGo()
  await kept
  await store.writeHolding(held(['kept', 'free']), begin)
  t.ok(isBegun)
})

t.test('who waits for a lock in vain is told so, and those behind him as well', { skip }, async t => {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
  const { store, url } = await openWithRows(t, clock)
  const { letGo } = await lockRow(t, url, 'kept')
  let begun = 0
  const writes = Array.from({ length: 3 }, () =>
    store.writeHolding(
      () => ({ names: ['kept'] }),
      db => {
        begun++
        return put(db, 'kept')
      },
    ),
  )
  for (const one of writes) one.catch(() => {})
  await until('it is tried again', async () => begun > 3)
  aheadMs = limits.postgresLockWaitMs
  for (const one of writes) await t.rejects(one, { name: 'StorageContended', code: '55P03' })

  const pool = openPostgres(url, 2)
  t.teardown(pool.close)
  const write = createSerialWrites({ take: pool.take, connections: 1, lockWaitMs: 1 })
  const written = { writeLeft: async () => {}, committed() {} }
  let tried = 0
  const inVain = write(db => {
    tried++
    return put(db, 'kept')
  }, written)
  await t.rejects(inVain, { name: 'StorageContended', code: '55P03' })
  t.equal(tried, 2)
  await letGo()
  await write(db => put(db, 'kept'), written)
})

t.test('who can not even say what he holds is told so, and nobody else', { skip }, async t => {
  const [store] = await openStores(t)
  const broken = store!.writeHolding(
    () => {
      throw new Error('broken on purpose')
    },
    async () => {},
  )
  const other = store!.writeHolding(nothing, db => put(db, 'other'))
  await t.rejects(broken, /on purpose/)
  await other
  t.ok(await findDestination(store!.read, 'other'))
})
