import t from 'tap'
import { v7 } from 'uuid'
import type { Clock } from '../../lib/base/time.ts'
import type { Showing } from '../../lib/queue/destination-health.ts'
import { type Leased, LeaseLost } from '../../lib/queue/lease.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import { probeAgainMs } from '../../lib/queue/scheduler.ts'
import type { Allowance } from '../../lib/queue/slot-limits.ts'
import { findDestination } from '../../lib/store/destinations.ts'
import type { Store } from '../../lib/store/open.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { findQueueEntryBySubject, insertInstallation, insertPodRow } from '../support/rows.ts'
import { statementsOf } from '../support/statements.ts'

/** A queue on a clock that stands, and its scheduler of mail. */
function setUp(
  store: Store,
  { concurrency = 20, each = 100, members = membersOf(v7()), ...more }: Partial<Settings> = {},
) {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z') + (more.lateMs ?? 0)
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const queue = createQueue({ store, clock, members, ids: { next: v7 }, random: () => 0.5 })
  const allowanceOf = more.allowanceOf ?? (() => ({ concurrency: each, perMinute: 0 }))
  const scheduler = queue.scheduler({ kind: 'delivery', concurrency, allowanceOf })
  const put = (subjects: readonly string[], destination = '', from = 'pod/inbox') =>
    store.write(db =>
      queue.put(
        db,
        subjects.map(subjectId => ({
          kind: 'delivery' as const,
          subjectId,
          destination: destination === '' ? `${subjectId}.example` : destination,
          podId: from.split('/')[0]!,
          inboxId: from.split('/')[1]!,
          expiresAt: '2026-01-06T00:00:00.000Z',
        })),
      ),
    )
  const advance = (ms: number) => {
    nowMs += ms
  }
  /** The attempt ends: it has shown something of its destination, and is over or to be repeated. */
  async function end(entry: Leased, showing: Showing, isOver = showing === 'answers'): Promise<void> {
    const attempt = scheduler.attemptOf(entry)
    const { destination } = attempt
    if (showing === 'fails') attempt.showed('fails')
    await store.write(async db => {
      const retryAt = await queue.note(db, destination, showing, 'as the test says')
      if (isOver) await queue.done(db, entry)
      else await queue.later(db, { ...entry, destination }, undefined, retryAt)
    })
    if (showing !== 'fails') attempt.showed(showing)
    scheduler.end(entry)
  }
  /** Has a destination answer once. */
  async function prove(destination: string): Promise<void> {
    await put([`proof-of-${destination}`], destination)
    for (const entry of await scheduler.claim()) await end(entry, 'answers')
  }
  /** All that may begin ends like this. */
  async function carry(showing: Showing, isOver?: boolean): Promise<string[]> {
    const order: string[] = []
    for (let some = await scheduler.claim(); some.length > 0; some = await scheduler.claim())
      for (const entry of some) {
        order.push(entry.subjectId)
        await end(entry, showing, isOver)
      }
    return order
  }
  const claim = async () => names(await scheduler.claim())
  return { store, clock, queue, scheduler, put, advance, end, prove, carry, claim }
}

interface Settings {
  readonly concurrency: number
  readonly each: number
  readonly members: ReturnType<typeof membersOf>
  readonly allowanceOf: (destination: string) => Allowance
  readonly lateMs: number
}

const names = (entries: readonly Leased[]) => entries.map(entry => entry.subjectId)
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`)

/** More than one pod is there. */
const severalPods = (store: Store) =>
  store.write(async db => {
    await insertInstallation(db)
    for (let n = 0; n < 3; n++) await insertPodRow(db)
  })

onEveryDatabase('pods take turns, and the inboxes of a pod', async (t, store) => {
  const { put, claim } = setUp(store)
  await put(numbered('a', 100), '', 'one/ann')
  await put(numbered('b', 2), '', 'one/bea')
  await put(numbered('c', 1), '', 'two/carl')
  t.strictSame((await claim()).slice(0, 5), ['a0', 'c0', 'b0', 'a1', 'b1'])
})

onEveryDatabase(
  'an inbox that sends one message is not behind another that sends ten thousand',
  async (t, store) => {
    const { put, claim, carry } = setUp(store, { concurrency: 8 })
    await put(numbered('bulk', 300), '', 'pod/bulk')
    await claim()
    await put(['one'], '', 'pod/other')
    const mine = setUp(store, { concurrency: 8 })
    t.ok((await mine.carry('answers')).indexOf('one') < 5, 'another process knows the order, too')
    t.strictSame(await carry('answers'), [])
  },
)

onEveryDatabase(
  'repeated attempts take a quarter of the slots, and new mail begins beside them',
  async (t, store) => {
    const { put, carry, claim, advance, prove } = setUp(store)
    await prove('there.example')
    await put(numbered('old', 40), 'there.example')
    await carry('answers', false)
    advance(3_600_000)
    t.equal((await claim()).length, 5)
    await put(numbered('new', 30), 'there.example')
    t.equal((await claim()).length, 15)
  },
)

onEveryDatabase(
  'mail to servers that are known to answer is not behind mail to new ones, which may hang',
  async (t, store) => {
    const { put, claim, prove } = setUp(store)
    await prove('known.example')
    await put(numbered('mute', 500))
    t.equal((await claim()).length, 10, 'two thirds of the fast lane')
    await put(numbered('good', 20), 'known.example')
    t.strictSame(await claim(), numbered('good', 5))
  },
)

onEveryDatabase(
  'repeated mail to servers that answer is not behind repeated mail to servers that hang',
  async (t, store) => {
    const { put, claim, carry, prove, advance, scheduler, queue, clock } = setUp(store, { concurrency: 40 })
    await prove('known.example')
    await put(numbered('mute', 200))
    for (let some = await scheduler.claim(); some.length > 0; some = await scheduler.claim())
      for (const entry of some) {
        scheduler.attemptOf(entry).showed('nothing')
        await store.write(db => queue.later(db, entry, 2_000))
        scheduler.end(entry)
      }
    await put(numbered('grey', 20), 'known.example')
    await carry('answers', false)
    advance(3_600_000)
    t.ok(clock.now())
    const begun = await claim()
    t.strictSame([begun.length, begun.filter(name => name.startsWith('grey')).length], [10, 10])
  },
)

onEveryDatabase('a pod takes no more than half of a lane where there are others', async (t, store) => {
  await severalPods(store)
  const { put, claim, end, scheduler } = setUp(store, { concurrency: 40 })
  await put(numbered('tar', 300), '', 'one/ann')
  const stuck = await scheduler.claim()
  t.equal(stuck.length, 10, 'half of what new destinations get')
  await put(numbered('b', 3), '', 'two/bea')
  await put(numbered('c', 3), '', 'three/cid')
  t.strictSame((await claim()).sort(), [...numbered('b', 3), ...numbered('c', 3)], 'the others begin at once')
  await end(stuck[0]!, 'answers')
  await put(['d'], '', 'four/dan')
  t.ok((await claim()).includes('d'))
})

onEveryDatabase(
  'a pod takes no more than half of a destination where another sends, too',
  async (t, store) => {
    const { put, claim } = setUp(store, { concurrency: 80, each: 6 })
    await put(numbered('a', 20), 'there.example', 'one/ann')
    t.equal((await claim()).length, 6, 'all of it while it is alone')
    const other = setUp(store, { concurrency: 80, each: 6 })
    await other.put(['b'], 'there.example', 'two/bea')
    t.strictSame((await other.claim()).sort(), ['a6', 'a7', 'a8', 'b'])
  },
)

onEveryDatabase(
  'a destination that fails is tried again within 30 s, and then every two minutes, once',
  async (t, store) => {
    const { put, carry, claim, scheduler, end, advance, clock } = setUp(store)
    await put(numbered('x', 40), 'down.example')
    t.strictSame(await carry('fails'), numbered('x', 10), 'those that began together are tried, and no more')
    const row = (await findDestination(store.read, 'down.example'))!
    t.match(row, { failures: 1, lastFailure: 'as the test says', retryAt: '2026-01-01T00:00:27.000Z' })
    for (const name of ['x0', 'x39']) {
      const entry = (await findQueueEntryBySubject(store.read, name))!
      t.ok(entry.dueAt >= row.retryAt, 'what is shown is when it is tried')
    }
    t.equal((await findQueueEntryBySubject(store.read, 'x39'))!.dueAt, row.retryAt)
    await put(['new'], 'down.example')
    t.strictSame(await claim(), [], 'new mail waits as well')
    t.match(await findQueueEntryBySubject(store.read, 'new'), { dueAt: row.retryAt, attempts: 0 })
    advance(26_999)
    t.strictSame(await claim(), [])
    advance(1)
    for (let round = 2; round < 5; round++) {
      const [probe, ...more] = await scheduler.claim()
      t.ok(probe)
      t.strictSame(more, [], 'one at a time')
      await end(probe!, 'fails')
      const failed = (await findDestination(store.read, 'down.example'))!
      t.equal(failed.failures, round)
      t.equal(Date.parse(failed.retryAt) - clock.now().getTime(), 108_000)
      t.strictSame(await claim(), [])
      advance(108_000)
    }
    const [probe] = await scheduler.claim()
    await end(probe!, 'answers')
    t.ok((await claim()).length > 5, 'it answers: all may begin')
    t.equal(await findDestination(store.read, 'down.example'), undefined)
  },
)

onEveryDatabase('attempts that fail together count once', async (t, store) => {
  const { queue, clock, advance } = setUp(store)
  const began = clock.now()
  advance(100)
  for (let n = 0; n < 20; n++) {
    advance(10)
    await store.write(db => queue.note(db, 'there.example', 'fails', 'cut', began))
  }
  await store.write(db => queue.note(db, 'there.example', 'answers', '', began))
  t.match(
    await findDestination(store.read, 'there.example'),
    { failures: 1 },
    'what succeeds is of the same time',
  )
  advance(10)
  await store.write(db => queue.note(db, 'there.example', 'answers', '', clock.now()))
  t.equal(await findDestination(store.read, 'there.example'), undefined)
})

onEveryDatabase(
  'a probe that shows nothing, or whose process is killed, is repeated within two minutes',
  async (t, store) => {
    const { put, carry, advance, claim, clock } = setUp(store)
    await put(numbered('x', 12), 'down.example')
    await carry('fails')
    advance(27_000)
    const [probe] = await claim()
    t.ok(probe)
    const next = setUp(store, { lateMs: 27_000 })
    t.ok(clock.now())
    t.strictSame(await next.claim(), [])
    next.advance(probeAgainMs)
    t.equal((await next.claim()).length, 1)
  },
)

onEveryDatabase(
  'what could not be tried waits without a failure, and is due when what kept it is over',
  async (t, store) => {
    const { queue, put, claim, scheduler, advance } = setUp(store)
    await put(['a', 'b', 'c'], 'there.example')
    const [a] = await scheduler.claim()
    const until = await store.write(async db => {
      const retryAt = await queue.postpone(db, 'there.example', 25_000, 'no resolver')
      await queue.later(db, a!, { atMostMs: 0 }, retryAt)
      return retryAt
    })
    scheduler.end(a!)
    t.match(await findDestination(store.read, 'there.example'), { failures: 0, retryAt: until })
    t.equal((await findQueueEntryBySubject(store.read, 'a'))!.dueAt, until)
    await put(['d'], 'there.example')
    t.strictSame(await claim(), [])
    advance(1_000)
    await queue.releaseThoseThatSaid('another thing')
    t.strictSame(await claim(), [])
    await queue.releaseThoseThatSaid('no resolver')
    t.ok((await claim()).includes('a'), 'what was tried is due, too')
  },
)

onEveryDatabase('a destination gets no more at once, and no more a minute, than it may', async (t, store) => {
  const { put, claim, scheduler, end } = setUp(store, { each: 3 })
  await put(numbered('x', 500), 'big.example')
  t.strictSame(await claim(), ['x0', 'x1', 'x2'])
  t.strictSame(await claim(), [])
  await put(['other'], 'other.example')
  t.strictSame(await claim(), ['other'], 'a backlog for one destination does not hold up another')
  const paced = setUp(store, { concurrency: 400, allowanceOf: () => ({ concurrency: 50, perMinute: 60 }) })
  t.equal((await paced.claim()).length, 10, "ten seconds' worth")
  t.strictSame(await paced.claim(), [])
  paced.advance(5_000)
  const five = await paced.scheduler.claim()
  t.equal(five.length, 5)
  for (const entry of five) await paced.end(entry, 'answers')
  t.ok(scheduler && end)
})

onEveryDatabase('a server that asks for less gets half, and step by step more again', async (t, store) => {
  const { put, scheduler, end, prove } = setUp(store, { each: 4, concurrency: 40 })
  await prove('big.example')
  await put(numbered('x', 40), 'big.example')
  const first = await scheduler.claim()
  t.equal(first.length, 4)
  await end(first[0]!, 'slows', true)
  await end(first[1]!, 'slows', true)
  for (const entry of first.slice(2)) await end(entry, 'answers')
  const sizes = []
  for (let round = 0; round < 8; round++) {
    const some = await scheduler.claim()
    sizes.push(some.length)
    for (const entry of some) await end(entry, 'answers')
  }
  t.strictSame(sizes, [1, 1, 2, 2, 3, 3, 4, 4])
})

onEveryDatabase('domains with the same servers are one destination', async (t, store) => {
  const { put, scheduler, end, claim, queue } = setUp(store, { each: 2 })
  await put(['a', 'b', 'c'])
  const [a, b, c] = await scheduler.claim()
  t.equal(await scheduler.attemptOf(a!).mayGoTo('mx:host', 'a.example'), true)
  t.equal(await scheduler.attemptOf(b!).mayGoTo('mx:host', 'b.example'), true)
  t.equal(await scheduler.attemptOf(c!).mayGoTo('mx:host', 'c.example'), false, 'its two slots are taken')
  await store.write(db => queue.giveBack(db, c!))
  scheduler.end(c!)
  t.match(await findQueueEntryBySubject(store.read, 'c'), { attempts: 0, destination: 'c.example' })
  t.strictSame(await claim(), [], 'and it is not tried again before one is free')
  await end(a!, 'answers')
  t.strictSame(await claim(), ['c'])
})

onEveryDatabase('mail that leads to servers that fail is not tried there', async (t, store) => {
  const { put, scheduler, claim, queue, end, advance } = setUp(store)
  await put(['a'])
  const [a] = await scheduler.claim()
  await scheduler.attemptOf(a!).mayGoTo('mx:host', 'a.example')
  await end(a!, 'fails')
  await put(['b'])
  const [b] = await scheduler.claim()
  t.equal(await scheduler.attemptOf(b!).mayGoTo('mx:host', 'b.example'), false)
  await store.write(db => queue.giveBack(db, b!))
  scheduler.end(b!)
  t.strictSame(await claim(), [])
  const { retryAt } = (await findDestination(store.read, 'mx:host'))!
  t.match(await findQueueEntryBySubject(store.read, 'b'), { destination: 'mx:host', dueAt: retryAt })
  advance(27_000)
  t.equal((await claim()).length, 1, 'they are tried once for all')
})

onEveryDatabase(
  'a process that is taken for gone does not end what another may have begun',
  async (t, store) => {
    const gone = new Set<string>()
    const { put, scheduler } = setUp(store, { members: membersOf('one', 1, gone) })
    await put(['a', 'b'])
    const [a, b] = await scheduler.claim()
    scheduler.attemptOf(a!).commit()
    gone.add('one.1')
    t.throws(() => scheduler.attemptOf(b!).commit(), LeaseLost)
  },
)

onEveryDatabase('what is given up ends in time, whatever its destination does', async (t, store) => {
  const { put, carry, advance, claim } = setUp(store)
  await put(numbered('x', 14), 'down.example')
  await carry('fails')
  advance(6 * 86_400_000)
  t.ok((await claim()).length > 1)
})

onEveryDatabase(
  'two processes that claim at once share what is due, and keep the pods apart',
  async (t, store) => {
    await severalPods(store)
    const nodes = [setUp(store, { concurrency: 400 }), setUp(store, { concurrency: 400 })] as const
    await nodes[0].put(numbered('a', 100), '', 'one/ann')
    await nodes[0].put(numbered('b', 20), '', 'two/bea')
    const claimed = (await Promise.all(nodes.map(node => node.carry('answers')))).flat()
    t.strictSame(claimed.sort(), [...numbered('a', 100), ...numbered('b', 20)].sort())
  },
)

onEveryDatabase('an operator who hurries mail has its destination tried now', async (t, store) => {
  const { put, carry, queue, claim, advance } = setUp(store)
  await put(numbered('x', 14), 'down.example')
  await carry('fails')
  advance(1_000)
  const entry = (await findQueueEntryBySubject(store.read, 'x13'))!
  await store.write(db => queue.hurry(db, entry))
  t.strictSame(await claim(), ['x13'], 'once')
})

onEveryDatabase('a claim takes as few statements for many entries as for one', async (t, store) => {
  const counted = async (count: number) => {
    const { put, scheduler } = setUp(store, { concurrency: 400 })
    await put(numbered(`n${count}-`, count), 'there.example')
    return (await statementsOf(async () => void (await scheduler.claim()))).length
  }
  const [one, many] = [await counted(1), await counted(30)]
  t.equal(many, one)
})

t.end()
