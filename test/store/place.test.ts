import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { systemClock } from '../../lib/base/time.ts'
import type { Db } from '../../lib/store/dialect/dialect.ts'
import { holdsNothing } from '../../lib/store/dialect/held.ts'
import { notice } from '../../lib/store/dialect/notices.ts'
import { leaveEvent, listEvents } from '../../lib/store/events.ts'
import { openStore } from '../../lib/store/open.ts'
import { placedAtOnce, startPlacer } from '../../lib/store/placer.ts'
import { openPostgres } from '../../lib/store/postgres/pool.ts'
import type { EventRow } from '../../lib/store/tables.ts'
import { insertUnplaced } from '../../lib/store/unplaced.ts'
import { listWebhookDeliveries } from '../../lib/store/webhook-deliveries.ts'
import { newPostgresDatabase, onEveryDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { findQueueEntryBySubject } from '../support/rows.ts'
import { until } from '../support/until.ts'

const createdAt = '2026-01-02T03:04:05.678Z'
const everything = { podId: null, inboxId: null, type: undefined, after: undefined }
const skip = without('postgres')

/** The type of an event says here which it is. */
const event = (type: string | number, id = v7()): EventRow => ({
  ...{ id, type: String(type), podId: null, inboxId: null, threadId: null, messageId: null },
  ...{ payload: '{}', createdAt },
})

/** The work for the webhook that is told of an event. */
function callFor(eventId: string) {
  const delivery = {
    ...{ id: v7(), eventId, inboxId: null, state: 'queued', attempts: 0, url: 'u', status: null },
    ...{ error: null, nextAttemptAt: createdAt, createdAt, updatedAt: createdAt },
  }
  const entry = {
    ...{
      id: v7(),
      kind: 'webhook',
      subjectId: delivery.id,
      destination: 'u',
      lane: 'fast',
      isKnown: 1,
      turn: 1,
    },
    ...{ dueAt: createdAt, expiresAt: createdAt, attempts: 0, leasedBy: null, leasedUntil: null, createdAt },
    ...{ podId: '-', inboxId: '-', cutOffs: 0 },
  }
  return { delivery, entry }
}

/** The lock of who places, and what a write of it needs. */
const placing = 0x706c6163
const written = { writeLeft: async () => {}, committed() {} }

/** Two processes (here: two stores) on one new database of PostgreSQL. */
async function twoStores(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const one = await openStore(url, systemClock, { connections: 8 })
  const two = await openStore(url, systemClock, { connections: 8 })
  t.teardown(() => Promise.all([one.close(), two.close()]))
  return { one, two, url }
}

/** Reads on from the last event that it knows, as clients do. */
function createReader(db: Db) {
  const read: EventRow[] = []
  return {
    types: () => read.map(({ type }) => type),
    ids: () => read.map(({ id }) => id),
    async readOn() {
      for (;;) {
        const rows = await listEvents(db, { ...everything, after: read.at(-1)?.id }, 7)
        read.push(...rows)
        if (rows.length === 0) return
      }
    },
  }
}

onEveryDatabase(
  'an id that is not above those that have a place is another, also for its webhook',
  async (t, store) => {
    const early = v7()
    const later = v7()
    await store.write(async db => leaveEvent(db, event('first', later)))
    await store.placed()
    const { delivery, entry } = callFor(early)
    await store.write(async db => {
      leaveEvent(db, event('second', early), { delivery, entry })
      leaveEvent(db, event('third', early))
    })
    await store.placed()
    const rows = await listEvents(store.read, everything, 10)
    t.strictSame(
      rows.map(({ type }) => type),
      ['first', 'second', 'third'],
    )
    t.equal(rows[0]!.id, later)
    t.match(await listWebhookDeliveries(store.read, rows[1]!.id), [{ id: delivery.id }])
    t.match(await findQueueEntryBySubject(store.read, delivery.id), { destination: 'u' })
  },
)

t.test(
  'who commits late or hangs holds nobody up, and no reader misses it or has it twice',
  { skip },
  async t => {
    const { one, two } = await twoStores(t)
    const reader = createReader(two.read)
    const [begun, hung] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const late = one.writeHolding(holdsNothing, async db => {
      // Before all others: its number and its id are below theirs.
      await insertUnplaced(db, [{ row: event('late'), webhook: undefined }])
      begun.resolve()
      await hung.promise
    })
    await begun.promise
    const types: string[] = []
    for (let n = 0; n < 40; n++) {
      await (n % 2 === 0 ? one : two).write(async db => leaveEvent(db, event(n)))
      await reader.readOn()
      types.push(String(n))
    }
    await Promise.all([one.placed(), two.placed()])
    await reader.readOn()
    t.strictSame([...reader.types()].sort(), [...types].sort(), 'readers go on')
    hung.resolve()
    await late
    await one.placed()
    await reader.readOn()
    t.equal(reader.types().at(-1), 'late')
    t.equal(reader.types().length, 41)
    t.strictSame(reader.ids(), [...reader.ids()].sort())
  },
)

t.test(
  'many write at once in two processes: none in vain, and a reader has each event once',
  { skip },
  async t => {
    const { one, two } = await twoStores(t)
    const reader = createReader(one.read)
    let tries = 0
    let isDone = false
    const reading = (async () => {
      while (!isDone) await reader.readOn()
    })()
    // All of one round are under way at once, and end in another order than they began.
    for (let round = 0; round < 10; round++) {
      let isThere = 0
      const all = Promise.withResolvers<void>()
      const writes = Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? one : two).writeHolding(holdsNothing, async db => {
          tries++
          await insertUnplaced(db, [{ row: event(`${round} ${n} a`), webhook: undefined }])
          if (++isThere === 8) all.resolve()
          await all.promise
          for (let turn = n; turn < 8; turn++) await nextTurn()
          leaveEvent(db, event(`${round} ${n} b`))
        }),
      )
      await Promise.all(writes)
    }
    await Promise.all([one.placed(), two.placed()])
    isDone = true
    await reading
    await reader.readOn()
    t.equal(tries, 80, 'none was done again')
    t.equal(new Set(reader.types()).size, 160)
    t.equal(reader.types().length, 160)
    const rows = await listEvents(two.read, everything, 1000)
    t.strictSame(
      reader.ids(),
      rows.map(({ id }) => id),
      'in the order that the table has for ever',
    )
  },
)

t.test(
  'who places and stands still keeps events from readers, and nobody from writing',
  { skip },
  async t => {
    const { one, two, url } = await twoStores(t)
    const still = openPostgres(url, 4)
    t.teardown(still.close)
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const standing = still.writeAlone(
      placing,
      async () => {
        begun.resolve()
        await ended.promise
      },
      written,
    )
    await begun.promise
    for (let n = 0; n < 5; n++) await (n % 2 === 0 ? one : two).write(async db => leaveEvent(db, event(n)))
    const types = async () => (await listEvents(two.read, everything, 10)).map(({ type }) => type)
    t.strictSame(await types(), [])
    t.equal(await still.writeAlone(placing, async () => 'in it', written), undefined)
    ended.resolve()
    await standing
    await until('all to have places', async () => (await types()).length === 5)
    t.strictSame(await types(), ['0', '1', '2', '3', '4'])
  },
)

t.test(
  'where no places can be given, who waits for one is told so, and the end waits for nobody',
  { skip },
  async t => {
    const url = await newPostgresDatabase(migratedDatabase)
    const store = await openStore(url, systemClock)
    const pool = openPostgres(url, 3)
    t.teardown(pool.close)
    await sql
      .raw(
        `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken on purpose'; end $$`,
      )
      .execute(pool.db)
    await sql.raw('create trigger broken before insert on "event" execute function refuse()').execute(pool.db)
    await store.write(async db => leaveEvent(db, event('kept')))
    const placer = startPlacer(pool.db, one => pool.writeAlone(placing, one, written), 1)
    const unreachable = { name: 'StorageUnreachable', message: /broken on purpose|no places/ }
    await t.rejects(placer.placed(), unreachable)
    await placer.stop()

    const waiting = store.placed()
    waiting.catch(() => {})
    // Another process is at it and stands still.
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const stand = async () => {
      begun.resolve()
      await ended.promise
      return true
    }
    const standing = (async () => {
      // Who waits may be at it just then.
      while ((await pool.writeAlone(placing, stand, written)) === undefined);
    })()
    await begun.promise
    await store.close()
    await t.rejects(waiting)
    ended.resolve()
    await standing
    await sql.raw('drop trigger broken on "event"').execute(pool.db)
    const later = await openStore(url, systemClock)
    t.teardown(() => later.close())
    await later.placed()
    t.match(await listEvents(later.read, everything, 10), [{ type: 'kept' }], 'nothing was lost')
  },
)

t.test(
  'more than are placed at once are placed one after the other, in the order of their numbers, wherever they stand',
  { skip },
  async t => {
    const pool = openPostgres(await newPostgresDatabase(migratedDatabase), 3)
    t.teardown(pool.close)
    const count = 2 * placedAtOnce + 10
    // The last numbers are the first rows, and no later id belongs to a later number.
    const rows = Array.from({ length: count }, (_, n) => ({ number: n + 1, event: event(n) })).reverse()
    await sql`insert into "unplaced" ("number", "event") overriding system value
      select * from unnest(${rows.map(({ number }) => number)}::bigint[], ${rows.map(one => JSON.stringify(one.event))}::text[])`.execute(
      pool.db,
    )
    const told: string[][] = []
    const made: unknown[] = []
    const placer = startPlacer(pool.db, async turn => {
      const some = await pool.writeAlone(placing, turn, {
        ...written,
        committed: notices => void told.push([...notices.keys()]),
      })
      made.push(some)
      return some
    })
    t.teardown(placer.stop)
    await placer.placed()
    const types = (await listEvents(pool.db, everything, count)).map(({ type }) => Number(type))
    t.strictSame(
      types,
      Array.from({ length: count }, (_, n) => n),
    )
    t.strictSame(
      made.filter(some => some !== 0),
      [placedAtOnce, placedAtOnce, 10],
    )
    t.strictSame(
      told.filter(topics => topics.length > 0),
      [['event'], ['event'], ['event']],
    )
  },
)

t.test('what is placed is told to who waits for it, and the work of its webhooks', { skip }, async t => {
  const { one } = await twoStores(t)
  const told: string[] = []
  for (const topic of ['event', 'queue'] as const)
    one.onCommit(topic, about => void told.push(`${topic} ${[...about]}`))
  const write = async (row: EventRow, call?: ReturnType<typeof callFor>) => {
    // The other one does not know of it, so that it is placed here.
    await one.write(async db => {
      leaveEvent(db, row, call)
      notice(db, 'event')
    })
    await one.placed()
  }
  await write(event('plain'))
  await until('it to be told when it was written, and when it was placed', () => told.length === 2)
  t.strictSame(told.splice(0), ['event ', 'event '])
  const row = event('called')
  await write(row, callFor(row.id))
  await until('it to be told with its work', () => told.length === 3)
  t.strictSame(told, ['event ', 'event ', 'queue webhook'])
})
