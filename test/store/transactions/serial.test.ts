import { sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { notice } from '../../../lib/store/dialect/notices.ts'
import { openPostgres } from '../../../lib/store/postgres/pool.ts'
import { createSerialWrites, togetherLock } from '../../../lib/store/transactions/serial.ts'
import { createWriters } from '../../../lib/store/transactions/writers.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { lockKept, scriptConnections, serverError } from '../../support/scripted-connections.ts'
import { until } from '../../support/until.ts'

const written = { writeLeft: async () => {}, committed() {} }

/** How long each transaction so far waits for a lock, in their order. */
const waits = (said: readonly string[]) =>
  said.flatMap(text => /^set local lock_timeout = (\d+)$/.exec(text)?.[1] ?? []).map(Number)

t.test('so many go on at once, and the others come in their order', async t => {
  const server = scriptConnections()
  const write = createSerialWrites({ take: server.take, connections: 2 })
  const begun: number[] = []
  const ends = Array.from({ length: 8 }, () => Promise.withResolvers<void>())
  const all = ends.map(({ promise }, n) =>
    write(async () => {
      begun.push(n)
      await promise
      // The place of one that fails is free as well.
      if (n === 1) throw new Error('refused')
    }, written),
  )
  const ended = Promise.allSettled(all)
  for (const [n, { resolve }] of ends.entries()) {
    await until(`${n} begins`, () => begun.includes(n))
    t.ok(server.inUse() <= 2)
    resolve()
  }
  t.strictSame((await ended).map(({ status }) => status === 'fulfilled').indexOf(false), 1)
  t.strictSame(begun, [0, 1, 2, 3, 4, 5, 6, 7])
  t.equal(server.mostInUse(), 2)
  t.strictSame(server.broken, [])
})

/** Resolves when those have rested that have met a lock by now: it meets one itself. */
async function restAsLong() {
  let tried = 0
  await createSerialWrites({ take: scriptConnections().take, connections: 1 })(async () => {
    if (tried++ === 0) throw lockKept()
  }, written)
}

t.test('who has met a lock comes behind those that have not, and is waited for shortly', async t => {
  const server = scriptConnections()
  const write = createSerialWrites({ take: server.take, connections: 1 })
  const begun: string[] = []
  let isLocked = true
  const [first, standing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const kept = write(async () => {
    begun.push('kept')
    if (isLocked) throw lockKept()
  }, written)
  const stand = write(async () => {
    begun.push('standing')
    first.resolve()
    await standing.promise
  }, written)
  await first.promise
  // These come when it has rested and waits for its place.
  await restAsLong()
  const others = ['a', 'b'].map(name => write(async () => void begun.push(name), written))
  isLocked = false
  standing.resolve()
  await Promise.all([kept, stand, ...others])
  t.strictSame(begun, ['kept', 'standing', 'a', 'b', 'kept'])
  const { postgresLockTryMs: tryMs, postgresLockAgainMs: againMs } = limits
  t.strictSame(waits(server.said), [tryMs, againMs, againMs, againMs, againMs])
  await write(async () => {}, written)
  t.equal(waits(server.said).at(-1), tryMs, 'nobody waits for a lock any more')
  t.strictSame(server.broken, [])
})

t.test('who meets others all the time comes after others, then is alone, and lets them in again', async t => {
  const behind: (readonly [string, readonly string[]])[] = []
  let askedAlone = 0
  const server = scriptConnections(statement => {
    if (statement.values[0] === togetherLock && askedAlone++ === 0) throw lockKept()
    if (/advisory_lock|commit/.test(statement.text)) behind.push([statement.text, statement.behind])
    return undefined
  })
  const write = createSerialWrites({ take: server.take, connections: 1 })
  let tried = 0
  const notices: string[] = []
  const conflicting = write(
    async db => {
      notice(db, 'mail', String(++tried))
      if (tried <= 11) throw serverError('40001')
      return tried
    },
    { ...written, committed: all => void notices.push(...all.get('mail')!) },
  )
  t.equal(await conflicting, 12)
  t.strictSame(notices, ['12'], 'of what was undone nobody is told')
  const beside = [
    'begin isolation level serializable',
    `set local lock_timeout = ${limits.postgresLockTryMs}`,
    'rollback',
  ]
  const [lock, wait] = ['select pg_advisory_lock($1)', `set lock_timeout = ${limits.postgresLockTryMs}`]
  const begin = 'begin isolation level serializable'
  const end = ['select pg_advisory_unlock_all()', 'reset lock_timeout']
  const after = [lock, wait, begin, 'rollback', ...end]
  const [waitForAll, waitAlone] = [limits.postgresTogetherTryMs, limits.postgresLockAgainMs].map(
    ms => `set lock_timeout = ${ms}`,
  )
  const alone = [lock, waitForAll, lock, waitAlone, begin]
  const times = (count: number, texts: readonly string[]) => Array.from({ length: count }, () => texts).flat()
  // One that has the lock in common stands still at first: others go on until it comes again.
  const inVain = [...alone, 'rollback', ...end]
  t.strictSame(server.said, [...times(4, beside), ...times(7, after), ...inVain, ...alone, 'commit', ...end])
  for (const [text, sent] of behind) {
    const wanted = text === 'commit' ? end : [begin]
    t.strictSame(
      wanted.filter(one => !sent.includes(one)),
      [],
      `who stands still after ${text} is in a transaction, or has no lock`,
    )
  }
  t.strictSame(server.broken, [])
})

t.test(
  'of those that met others again and again one is tried at a time, and they wait over no connection',
  async t => {
    const server = scriptConnections()
    const write = createSerialWrites({ take: server.take, connections: 4 })
    const ends = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    const tries = [0, 0, 0]
    const order: number[] = []
    const all = ends.map(({ promise }, n) =>
      write(async () => {
        if (tries[n]!++ < 4) throw serverError('40001')
        order.push(n)
        await promise
      }, written),
    )
    for (let done = 0; done < 3; done++) {
      await until('one more is tried', () => order.length === done + 1)
      t.equal(server.inUse(), 1)
      ends[order[done]!]!.resolve()
    }
    await Promise.all(all)
    t.strictSame(server.broken, [])
  },
)

t.test('who waits for those before it for too long is told what it met', async t => {
  const server = scriptConnections()
  const write = createSerialWrites({ take: server.take, connections: 4, lockWaitMs: 30 })
  const held = Promise.withResolvers<void>()
  let tried = 0
  let isHeld = false
  const first = write(async () => {
    if (tried++ < 4) throw serverError('40001')
    isHeld = true
    await held.promise
  }, written)
  await until('the first to be at it', () => isHeld)
  const second = write(async () => {
    throw serverError('40001')
  }, written)
  let told: unknown
  second.catch(error => {
    told = error
  })
  await until('the second to be told', () => told)
  t.match(told, { code: '40001' })
  held.resolve()
  await first
  const third = write(async () => 'done', written)
  t.equal(await third, 'done')
  t.strictSame(server.broken, [])
})

t.test(
  'a connection waits for locks, and holds none, as before it was written over',
  { skip: without('postgres') },
  async t => {
    const pool = openPostgres(await newPostgresDatabase(migratedDatabase), 1)
    t.teardown(pool.close)
    const standing = async () => {
      const { rows } = await sql<Record<string, unknown>>`
      select current_setting('lock_timeout') as "lockTimeout",
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as "locks"`.execute(
        pool.db,
      )
      return rows[0]
    }
    const before = await standing()
    t.strictSame(before, { lockTimeout: `${limits.postgresLockWaitMs / 1000}s`, locks: 0 })
    const writers = createWriters({
      ...written,
      take: pool.take,
      connections: 1,
      transacted() {},
      monotonicMs: systemClock.monotonicMs,
    })
    const shared = (error?: Error) =>
      writers.write(
        () => ({ names: ['one'] }),
        async () => {
          if (error) throw error
        },
      )
    await shared()
    t.strictSame(await standing(), before)
    await t.rejects(shared(new Error('refused')), { message: 'refused' })
    t.strictSame(await standing(), before)

    const serial = (conflicts: number, error?: Error) => {
      let tried = 0
      return pool.write(async () => {
        if (tried++ < conflicts) throw serverError('40001')
        if (error) throw error
      }, written)
    }
    await serial(0)
    t.strictSame(await standing(), before)
    await serial(5)
    t.strictSame(await standing(), before)
    await t.rejects(serial(5, new Error('refused')), { message: 'refused' })
    t.strictSame(await standing(), before)
  },
)
