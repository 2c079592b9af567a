import t from 'tap'
import { v7 } from 'uuid'
import { StorageContended, StorageLocked, StorageUnreachable } from '../../lib/base/faults.ts'
import { type Clock, isoAfter } from '../../lib/base/time.ts'
import { cutOffWaitMs } from '../../lib/queue/backoff.ts'
import { kinds, type Leased, LeaseLost, leaseMs } from '../../lib/queue/lease.ts'
import { createQueue, type Queue } from '../../lib/queue/queue.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import type { Store } from '../../lib/store/open.ts'
import { claim } from '../support/claim.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { findQueueEntryBySubject, nodeRow, putNodeRow } from '../support/rows.ts'

/** A clock that stands until it is moved. */
function heldClock(start = '2026-01-01T00:00:00.000Z') {
  let now = Date.parse(start)
  const clock: Clock = { now: () => new Date(now), monotonicMs: () => now }
  const advance = (ms: number) => {
    now += ms
  }
  return { clock, advance }
}

function queueOf(store: Store, clock: Clock, members = membersOf('one')): Queue {
  return createQueue({ store, clock, members, ids: { next: v7 }, random: () => 0.5 })
}

const work = (subjectId: string, destination = 'example.net') => ({
  kind: 'delivery' as const,
  subjectId,
  destination,
  expiresAt: '2026-01-06T00:00:00.000Z',
})

onEveryDatabase('what is put is claimed once, counted and postponed', async (t, store) => {
  const { clock, advance } = heldClock()
  const queue = queueOf(store, clock)
  await store.write(db => queue.put(db, [work('a'), work('b')]))
  const claimed = await claim(queue, 'delivery', 100)
  t.strictSame(claimed.map(entry => entry.subjectId).sort(), ['a', 'b'])
  t.strictSame(
    claimed.map(entry => entry.attempts),
    [1, 1],
  )
  t.strictSame(await claim(queue, 'delivery', 100), [], 'leased')
  advance(leaseMs - 1)
  t.strictSame(await claim(queue, 'delivery', 100), [])
  advance(1)
  const again = await claim(queue, 'delivery', 100)
  t.strictSame(
    again.map(entry => [entry.attempts, entry.cutOffs]),
    [
      [2, 1],
      [2, 1],
    ],
    'the lease ran out: due again, and the lost attempt counts apart',
  )
})

onEveryDatabase('done ends an entry, later defers it by the schedule', async (t, store) => {
  const { clock, advance } = heldClock()
  const queue = queueOf(store, clock)
  await store.write(db => queue.put(db, [work('a'), work('b')]))
  const [a, b] = await claim(queue, 'delivery', 100)
  await store.write(db => queue.done(db, a!))
  t.equal(await store.write(db => queue.later(db, b!)), '2026-01-01T00:01:00.000Z')
  t.equal(await findQueueEntryBySubject(store.read, a!.subjectId), undefined)
  advance(59_999)
  t.strictSame(await claim(queue, 'delivery', 100), [])
  advance(1)
  const [second] = await claim(queue, 'delivery', 100)
  t.equal(second?.attempts, 2)
  t.equal(await store.write(db => queue.later(db, second!)), '2026-01-01T00:06:00.000Z')
})

onEveryDatabase('what is to be tried again is due when it is given up, at the latest', async (t, store) => {
  const { clock, advance } = heldClock()
  const queue = queueOf(store, clock)
  const expiresAt = '2026-01-01T00:10:00.000Z'
  await store.write(db => queue.put(db, [{ ...work('a'), expiresAt }]))
  const [first] = await claim(queue, 'delivery', 100)
  t.equal(await store.write(db => queue.later(db, first!, { atLeastMs: 60 * 60_000 })), expiresAt)
  advance(10 * 60_000 - 1)
  t.strictSame(await claim(queue, 'delivery', 100), [])
  advance(1)
  const [second] = await claim(queue, 'delivery', 100)
  advance(5_000)
  const soon = '2026-01-01T00:11:05.000Z'
  t.equal(await store.write(db => queue.later(db, second!, 60 * 60_000)), soon, 'it ended during its attempt')
  await store.write(db => queue.hold(db, 'a'))
  const sooner = '2026-01-01T00:10:30.000Z'
  t.equal(await store.write(db => queue.release(db, 'a', sooner)), sooner, 'released for a shorter time')
  await store.write(db => queue.hold(db, 'a'))
  t.equal(await store.write(db => queue.release(db, 'a', '2026-01-06T00:00:00.000Z')), sooner)
})

onEveryDatabase(
  'what is given back keeps its place among what is new, and is due at once when it is not',
  async (t, store) => {
    const { clock, advance } = heldClock()
    const queue = queueOf(store, clock)
    await store.write(db => queue.put(db, [work('a')]))
    const createdAt = clock.now().toISOString()
    const returned = async () => {
      const [entry] = await claim(queue, 'delivery', 100)
      advance(1000)
      await store.write(db => queue.giveBack(db, entry!))
      return store.read.selectFrom('queueEntry').select(['attempts', 'dueAt']).executeTakeFirstOrThrow()
    }
    t.strictSame(await returned(), { attempts: 0, dueAt: createdAt })
    const [entry] = await claim(queue, 'delivery', 100)
    const dueAt = await store.write(db => queue.later(db, entry!))
    advance(Date.parse(dueAt) - clock.now().getTime())
    t.strictSame(await returned(), { attempts: 1, dueAt: clock.now().toISOString() })
  },
)

onEveryDatabase('only the holder of a lease may end it', async (t, store) => {
  const { clock, advance } = heldClock()
  const one = queueOf(store, clock)
  const two = queueOf(store, clock, membersOf('two'))
  for (const id of ['one', 'two']) await store.write(db => putNodeRow(db, nodeRow(id)))
  await store.write(db => one.put(db, [work('a')]))
  const [slow] = await claim(one, 'delivery', 100)
  advance(leaseMs)
  t.strictSame(await claim(two, 'delivery', 100), [], 'as long as it works it keeps what it holds')
  t.equal(await two.recover(), 0)
  await store.write(db => putNodeRow(db, nodeRow('one', { state: 'gone' })))
  t.equal(await two.recover(), 1)
  const [quick] = await claim(two, 'delivery', 100)
  t.ok(quick)
  await t.rejects(
    store.write(db => one.done(db, slow!)),
    LeaseLost,
  )
  await t.rejects(
    store.write(db => one.later(db, slow!)),
    LeaseLost,
  )
  await store.write(db => two.done(db, quick!))
  await t.rejects(
    store.write(db => two.done(db, quick!)),
    LeaseLost,
    'once',
  )
})

onEveryDatabase('the same node does not end an attempt that it has begun anew', async (t, store) => {
  const { clock, advance } = heldClock()
  const queue = queueOf(store, clock)
  await store.write(db => queue.put(db, [work('a')]))
  const [first] = await claim(queue, 'delivery', 100)
  advance(leaseMs)
  await claim(queue, 'delivery', 100)
  await t.rejects(
    store.write(db => queue.done(db, first!)),
    LeaseLost,
  )
})

onEveryDatabase('what this process carries is its own when the clock jumps', async (t, store) => {
  const { clock, advance } = heldClock()
  const one = queueOf(store, clock)
  await store.write(db => one.put(db, [work('a')]))
  const allowanceOf = () => ({ concurrency: 1, perMinute: 0 })
  const scheduler = one.scheduler({ kind: 'delivery', concurrency: 20, allowanceOf })
  await store.write(db => one.put(db, [work('b', 'example.com')]))
  const [mine, other] = await scheduler.claim()
  await store.write(db => one.giveBack(db, other!))
  scheduler.end(other!)
  advance(10 * leaseMs)
  const found = await scheduler.claim()
  t.strictSame(
    found.map(entry => entry.subjectId),
    ['b'],
  )
  const two = queueOf(store, clock, membersOf('two'))
  t.strictSame(await claim(two, 'delivery', 100), [], 'nor does another take it')
  await store.write(db => one.done(db, mine!))
})

onEveryDatabase('recover frees what this node held, the first time at once', async (t, store) => {
  const { clock, advance } = heldClock()
  /** A queue of this start of the node, which is the one that is up. */
  const start = async (generation: number) => {
    await store.write(db => putNodeRow(db, nodeRow('one', { holder: `one.${generation}` })))
    return queueOf(store, clock, membersOf('one', generation))
  }
  const one = await start(1)
  await store.write(db => putNodeRow(db, nodeRow('two')))
  const two = queueOf(store, clock, membersOf('two'))
  await store.write(db => one.put(db, [work('a'), work('b')]))
  const mine = await claim(one, 'delivery')
  const theirs = await claim(two, 'delivery', 100)
  t.equal(await one.recover(), 0, 'not what it holds itself')
  const next = await start(2)
  t.equal(await next.recover(), 1)
  const [again] = await claim(next, 'delivery', 100)
  t.equal(again?.subjectId, mine[0]?.subjectId)
  t.match(again, { attempts: 2, cutOffs: 1 })
  const last = await start(3)
  t.equal(await last.recover(), 1)
  t.strictSame(await claim(last, 'delivery', 100), [], 'cut off twice: it waits a little')
  advance(cutOffWaitMs)
  const [third] = await claim(last, 'delivery', 100)
  t.match(third, { subjectId: again?.subjectId, attempts: 3, cutOffs: 2 })
  t.equal(
    await store.write(db => last.later(db, third!)),
    isoAfter(clock.now(), 60_000),
    'the first that ended',
  )
  await store.write(db => two.done(db, theirs[0]!))
})

onEveryDatabase(
  'what was cut off comes before what was put later; a kind may have a schedule of its own',
  async (t, store) => {
    const { clock, advance } = heldClock()
    const parts = { store, clock, members: membersOf('one'), ids: { next: v7 }, random: () => 0.5 }
    const queue = createQueue({ ...parts, waits: { webhook: [7_000, 9_000] } })
    const put = (subjectId: string) =>
      store.write(db => queue.put(db, [{ ...work(subjectId), kind: 'webhook' }]))
    const claimCalls = (limit = 100) => claim(queue, 'webhook', limit)
    await put('a')
    advance(10)
    await put('b')
    await claimCalls(1)
    advance(10)
    await queueOf(store, clock, membersOf('one', 2)).recover()
    t.strictSame(
      (await claimCalls()).map(entry => entry.subjectId),
      ['a', 'b'],
    )
    const [again] = [await findQueueEntryBySubject(store.read, 'a')]
    t.equal(again?.attempts, 2)
    const [held] = [again]
    await queue.retry(held!)
    const dueIn = async () =>
      Date.parse((await findQueueEntryBySubject(store.read, 'a'))!.dueAt) - clock.now().getTime()
    t.equal(await dueIn(), 7_000)
    for (let n = 0; n < 2; n++) {
      advance(9_000)
      await queue.retry((await claimCalls())[0]!)
      t.equal(await dueIn(), 9_000, 'the last wait is repeated')
    }
  },
)

onEveryDatabase('two nodes that claim at once never get the same entry', async (t, store) => {
  const { clock } = heldClock()
  const nodes = [...['one', 'two', 'three'].map(name => queueOf(store, clock, membersOf(name)))]
  const subjects = Array.from({ length: 60 }, (_, index) => `s${index}`)
  await store.write(db =>
    nodes[0]!.put(
      db,
      subjects.map(subject => work(subject)),
    ),
  )
  const claimed: Leased[] = []
  const drain = async (queue: Queue) => {
    for (;;) {
      const some = await claim(queue, 'delivery', 5)
      if (some.length === 0) return
      claimed.push(...some)
    }
  }
  await Promise.all(nodes.map(drain))
  t.strictSame(claimed.map(entry => entry.subjectId).sort(), subjects.sort())
})

onEveryDatabase(
  'a write that ends a lease outlasts an outage and others, and is done once',
  async (t, store) => {
    const { clock } = heldClock()
    let failures = 0
    // The first three are not begun; of the fourth nobody hears that it was done.
    const unsteady: Store = {
      ...store,
      async writeHolding(held, work) {
        failures++
        if (failures === 1) throw new StorageUnreachable(new Error('gone'))
        if (failures === 2) throw new StorageContended(new Error('others'), '40001')
        if (failures === 3) throw new StorageLocked({ cause: 'a backup' })
        const value = await store.writeHolding(held, work)
        if (failures === 4) throw new StorageUnreachable(new Error('gone at the commit'))
        return value
      },
    }
    const queue = queueOf(store, clock)
    await store.write(db => queue.put(db, [work('a'), work('b')]))
    const [a, b] = await claim(queue, 'delivery', 100)
    const meeting = queueOf(unsteady, clock)
    let done = 0
    const end = meeting.end(async db => {
      await meeting.done(db, a!)
      done++
    }, {})
    await t.rejects(end, LeaseLost)
    t.strictSame([failures, done], [5, 1])
    t.equal(await findQueueEntryBySubject(store.read, a!.subjectId), undefined)

    t.equal(await queue.freeForgotten('delivery', new Set([b!.id])), 0, 'what is under way is not forgotten')
    t.equal(await queue.freeForgotten('webhook', new Set()), 0)
    t.equal(await queue.freeForgotten('delivery', new Set()), 1)
    const [again] = await claim(queue, 'delivery', 100)
    t.match(again, { subjectId: 'b', attempts: 2, cutOffs: 1 })

    failures = 0
    meeting.stop()
    const refused = meeting.end(db => meeting.done(db, again!), {})
    await t.rejects(refused, StorageUnreachable)
  },
)

onEveryDatabase(
  'who does work of a kind is told when some of it is put, hurried, released or freed',
  async (t, store) => {
    const { clock } = heldClock()
    const queue = queueOf(store, clock)
    const told: string[] = []
    const ends = kinds.map(kind => queue.onPut(kind, () => told.push(kind)))
    /** What is told of a write, when that is committed and no sooner. */
    const toldOf = async (write: (db: WriteDb) => Promise<unknown>) => {
      await store.write(async db => {
        await write(db)
        t.strictSame(told, [], 'nothing is committed yet')
      })
      return told.splice(0).sort()
    }
    for (const kind of kinds) {
      t.strictSame(await toldOf(db => queue.put(db, [{ ...work(`${kind} a`), kind }])), [kind])
      const [entry] = await claim(queue, kind, 100)
      t.strictSame(told, [], 'what is claimed is told to nobody')
      await store.write(db => queue.later(db, entry!, 60_000))
      t.strictSame(told, [], 'nor what is for later')
      t.strictSame(await toldOf(db => queue.hurry(db, entry!)), [kind], 'hurried')
      await claim(queue, kind, 100)
    }
    t.strictSame(
      await toldOf(db =>
        queue.put(
          db,
          [...kinds, ...kinds].map((kind, n) => ({ ...work(`b${n}`), kind })),
        ),
      ),
      kinds.toSorted(),
      'each once',
    )
    await store.write(db => queue.hold(db, 'b0'))
    t.strictSame(await toldOf(db => queue.release(db, 'b0', '2026-01-06T00:00:00.000Z')), ['delivery'])
    const next = queueOf(store, clock, membersOf('one', 2))
    t.equal(await next.recover(), kinds.length)
    t.strictSame(told.splice(0).sort(), kinds.toSorted(), 'freed')
    for (const end of ends) end()
    t.strictSame(await toldOf(db => queue.put(db, [work('c')])), [])
  },
)

t.end()
