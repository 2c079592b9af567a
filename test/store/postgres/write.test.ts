import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { mailStorageMs } from '../../../lib/core/app/server-time.ts'
import { mailBegunMs } from '../../../lib/core/inbound/write-together.ts'
import { insertAttempt } from '../../../lib/store/deliveries.ts'
import { findDestination, putDestination } from '../../../lib/store/destinations.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { holdsNothing } from '../../../lib/store/dialect/held.ts'
import { leaveInserts } from '../../../lib/store/dialect/left-rows.ts'
import { openStore } from '../../../lib/store/open.ts'
import { postgresIdleMs } from '../../../lib/store/postgres/pool.ts'
import { postgresLockWaitMs } from '../../../lib/store/postgres/write.ts'
import { findRaw, insertRaw } from '../../../lib/store/raws.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { destinationRow } from '../../support/rows.ts'

const skip = without('postgres')

async function openStores(t: Test, connections = 6) {
  const url = await newPostgresDatabase(migratedDatabase)
  const stores = await Promise.all([1, 2].map(() => openStore(url, systemClock, { connections })))
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  const [one, two] = stores
  return { one: one!, two: two!, url }
}

const put = (db: WriteDb, name: string, failures = 0) =>
  putDestination(db, destinationRow(name, '2026-01-02T03:04:05.678Z', failures))

const failuresOf = async (db: WriteDb, name: string) => (await findDestination(db, name))?.failures ?? 0

/** Counts one more, by what it reads. */
const count = async (db: WriteDb) => put(db, 'counted', (await failuresOf(db, 'counted')) + 1)

t.test('two nodes that count the same: each write sees what the one before committed', { skip }, async t => {
  const { one, two } = await openStores(t)
  const named = () => ({ names: ['counted'] })
  for (const write of [
    (store: typeof one) => store.write(count),
    (store: typeof one) => store.writeHolding(named, count),
  ]) {
    await one.write(db => put(db, 'counted'))
    await Promise.all(Array.from({ length: 40 }, (_, n) => write(n % 2 === 0 ? one : two)))
    t.equal((await findDestination(one.read, 'counted'))?.failures, 40)
  }
})

t.test('writes that wait for each other are done again', { skip }, async t => {
  const { one, two } = await openStores(t)
  await one.write(async db => {
    for (const name of ['a', 'b']) await put(db, name)
  })
  const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let times = 0
  const both = [one, two].map((store, n) =>
    store.writeHolding(holdsNothing, async db => {
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

t.test(
  'a row that another write is about to insert is found by the one that is done again',
  { skip },
  async t => {
    const { one, two } = await openStores(t)
    let met = 0
    const started = Promise.withResolvers<void>()
    const insert = (store: typeof one) =>
      store.writeHolding(holdsNothing, async db => {
        const known = await db.selectFrom('usage').selectAll().where('subject', '=', 'one').executeTakeFirst()
        if (++met === 2) started.resolve()
        await started.promise
        if (known) return 'found'
        await db.insertInto('usage').values({ subject: 'one', kind: 'k', period: 'p', count: 1 }).execute()
        return 'inserted'
      })
    t.strictSame((await Promise.all([insert(one), insert(two)])).sort(), ['found', 'inserted'])
  },
)

t.test('a write that meets others each time is done six times, and then refused', { skip }, async t => {
  const { one, url } = await openStores(t)
  const server = await connect(t, url)
  for (const code of ['40001', '40P01', '23505']) {
    await server.query(
      `create or replace function meet() returns trigger language plpgsql as $$ begin raise exception 'others' using errcode = '${code}'; end $$`,
    )
    await server.query(
      'create trigger meet before insert on "destination" for each row execute function meet()',
    )
    let times = 0
    const written = one.writeHolding(holdsNothing, async db => {
      times++
      await put(db, 'met')
    })
    await t.rejects(written, { code })
    t.equal(times, 6)
    await server.query('drop trigger meet on "destination"')
  }
  let times = 0
  const wrong = one.writeHolding(holdsNothing, async db => {
    times++
    await sql`select 1 / 0`.execute(db)
  })
  await t.rejects(wrong, { code: '22012' })
  t.equal(times, 1, 'a fault of its own is none')
})

t.test('a write whose commit is unknown is not done again', { skip }, async t => {
  const { one, url } = await openStores(t)
  const server = await connect(t, url)
  let times = 0
  const written = one.writeHolding(holdsNothing, async db => {
    times++
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as "pid"`.execute(db)
    await server.query('select pg_terminate_backend($1)', [rows[0]!.pid])
  })
  await t.rejects(written, { name: 'StorageUnreachable' })
  t.equal(times, 1)
  await one.write(db => put(db, 'after'))
})

t.test('what cannot be committed is told to nobody', { skip }, async t => {
  const { one } = await openStores(t)
  const notices: string[] = []
  one.onCommit('mail', about => void notices.push(...about))
  const work = one.writeHolding(holdsNothing, async db => {
    await put(db, 'one')
    // The writer does not hear of it, and the server answers to the commit that it has undone all.
    await sql`select 1 / 0`.execute(db).catch(() => {})
  })
  await t.rejects(work, /undone/)
  t.equal(await findDestination(one.read, 'one'), undefined)
  t.strictSame(notices, [])
})

t.test('rows that a write leaves are inserted before its commit, or its write fails', { skip }, async t => {
  const { one } = await openStores(t)
  const row = (id: string) => ({ id, sizeBytes: 0, sha256: '', content: null, createdAt: '2026-01-02' })
  await one.writeHolding(holdsNothing, async db => {
    await insertRaw(db, row('immediately'))
    leaveInserts(db)
    await insertRaw(db, row('left'))
    t.ok(await findRaw(db, 'immediately'))
    t.notOk(await findRaw(db, 'left'))
  })
  t.ok(await findRaw(one.read, 'left'))
  const attempt = { id: 'a', deliveryId: 'none', result: 'delivered', createdAt: '2026-01-02' }
  const empty = { replyCode: null, replyEnhanced: null, replyText: '', remoteHost: null, remoteAddress: null }
  const refers = one.writeHolding(holdsNothing, async db => {
    leaveInserts(db)
    await insertRaw(db, row('beside'))
    await insertAttempt(db, { ...attempt, ...empty, tls: null, durationMs: 0 })
  })
  await t.rejects(refers, { code: '23503' })
  t.notOk(await findRaw(one.read, 'beside'))
})

async function connect(t: Test, url: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}

/** Keeps a row locked until it is told to let go. */
async function lockRow(t: Test, url: string, name: string) {
  const operator = await connect(t, url)
  await operator.query('begin')
  await operator.query('select from "destination" where "name" = $1 for update', [name])
  return { letGo: () => operator.query('commit') }
}

t.test(
  'a row that somebody keeps locked is waited for, and reads and other writes go on',
  { skip },
  async t => {
    const { one, url } = await openStores(t)
    await one.write(async db => {
      for (const name of ['kept', 'free']) await put(db, name)
    })
    const { letGo } = await lockRow(t, url, 'kept')
    let isOver = false
    const kept = Array.from({ length: 3 }, () =>
      one
        .writeHolding(holdsNothing, db => put(db, 'kept'))
        .then(() => {
          isOver = true
        }),
    )
    for (let n = 0; n < 5; n++) {
      await one.writeHolding(holdsNothing, db => put(db, `free ${n}`))
      t.ok(await findDestination(one.read, `free ${n}`))
    }
    t.notOk(isOver)
    await letGo()
    await Promise.all(kept)
  },
)

t.test('a write that a caller can split is refused soon, for a part of it is locked', { skip }, async t => {
  const { one, two } = await openStores(t)
  const begun = Promise.withResolvers<void>()
  const free = Promise.withResolvers<void>()
  const holding = two.writeHolding(
    () => ({ names: ['kept'] }),
    async db => {
      // Answered when the lock is there.
      await failuresOf(db, 'any')
      begun.resolve()
      await free.promise
    },
  )
  await begun.promise
  let times = 0
  const both = one.writeHolding(
    () => ({ names: ['kept', 'free'], isDivisible: true }),
    async () => {
      times++
    },
  )
  await t.rejects(both, { name: 'StorageContended', code: '55P03' })
  t.equal(times, 1)
  free.resolve()
  await holding
})

t.test('a lock is waited for longer than a node that stands still keeps it', t => {
  t.ok(postgresLockWaitMs * 6 > postgresIdleMs)
  t.ok(mailBegunMs + postgresLockWaitMs < mailStorageMs)
  t.end()
})

t.test('a write that cannot say what it holds fails alone', { skip }, async t => {
  const { one } = await openStores(t)
  const broken = one.writeHolding(
    () => {
      throw new Error('broken on purpose')
    },
    async () => {},
  )
  const other = one.writeHolding(holdsNothing, db => put(db, 'other'))
  await t.rejects(broken, /on purpose/)
  await other
  t.ok(await findDestination(one.read, 'other'))
})

t.test('a store closes after the writes that it was asked for', { skip }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  const store = await openStore(url, systemClock)
  const writes = ['a', 'b', 'c'].map(name => store.write(db => put(db, name)))
  await store.close()
  await Promise.all(writes)
  const server = await connect(t, url)
  t.equal((await server.query('select from "destination"')).rows.length, 3)
})
