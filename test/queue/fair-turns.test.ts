import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import type { FairTurns } from '../../lib/queue/fair-turns.ts'
import { type Leased, LeaseLost } from '../../lib/queue/leased.ts'
import { roomAt } from '../../lib/queue/places.ts'
import { createQueue, type Queue } from '../../lib/queue/queue.ts'
import type { Showing } from '../../lib/queue/standing.ts'
import { roomless, type Stay } from '../../lib/queue/stays.ts'
import { findDestination } from '../../lib/store/destinations.ts'
import { openStore, type Store } from '../../lib/store/open.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { findQueueEntryBySubject } from '../support/rows.ts'
import { statementsOf } from '../support/statements.ts'
import { until } from '../support/until.ts'

/** A queue on a clock that stands, and its turns of mail. */
function setUp(
  store: Store,
  concurrency: number,
  each = 100,
  perMinute = 0,
  members = membersOf(v7()),
  first = each,
) {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const queue = createQueue({ store, clock, members, ids: { next: v7 }, random: () => 0.5 })
  const turns = queue.fairTurns({ concurrency, allowanceOf: () => ({ concurrency: each, perMinute, first }) })
  const put = (subjects: readonly string[], destination = 'there.example', from = 'pod/inbox') =>
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
  return { clock, queue, turns, put, advance }
}

const names = (entries: readonly Leased[]) => entries.map(entry => entry.subjectId)
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`)

/** The attempt ends: it has shown that the destination answers or fails, and is over or to be repeated. */
async function end(
  { queue, turns, store }: { queue: Queue; turns: FairTurns; store: Store },
  entry: Leased,
  showing: Showing,
  isOver = showing === 'answers',
): Promise<void> {
  const place = turns.placeOf(entry)
  await store.write(async db => {
    await queue.note(db, place.destination, showing, 'as the test says')
    if (isOver) await queue.done(db, entry)
    else await queue.later(db, { ...entry, destination: place.destination })
  })
  place.showed(showing)
  await turns.end(entry)
}

/** Has a destination answer once. */
async function prove(store: Store, { queue, turns, put }: ReturnType<typeof setUp>, destination: string) {
  await put([`proof-of-${destination}`], destination)
  const [entry] = await turns.claim()
  await end({ queue, turns, store }, entry!, 'answers')
}

onEveryDatabase('what was taken and is only to be recorded has its place no more', async (t, store) => {
  const given = setUp(store, 3, 1)
  const { queue, turns, put } = given
  await prove(store, given, 'there.example')
  await put(['one', 'two', 'three'])
  const [one] = await turns.claim()
  t.equal(one!.subjectId, 'one')
  t.strictSame(await turns.claim(), [], 'the others wait for it')
  let freed = 0
  turns.placeOf(one!, () => freed++).over()
  const [two, ...none] = await turns.claim()
  t.strictSame([two!.subjectId, none.length, freed], ['two', 0, 1])
  turns.placeOf(two!, () => freed++).over()
  t.strictSame(await turns.claim(), [], 'no more are to be recorded than the destination gets at once')
  t.equal(freed, 1)
  await end({ queue, turns, store }, one!, 'answers')
  t.strictSame(await turns.claim(), [], 'it had no place any more')
  await end({ queue, turns, store }, two!, 'answers')
  const [three] = await turns.claim()
  t.equal(three!.subjectId, 'three')
  await end({ queue, turns, store }, three!, 'answers')
  for (const name of ['here', 'near', 'far']) await prove(store, given, `${name}.example`)
  for (const name of ['here', 'near', 'far']) await put([name], `${name}.example`)
  t.equal((await turns.claim()).length, 3, 'each place was given back once')
})

onEveryDatabase(
  'what was parked before it was known which group a domain leads to begins as the group has room',
  async (t, store) => {
    const given = setUp(store, 12, 3)
    const { turns, put } = given
    await put(numbered('old', 20), 'theirs.example')
    const order: string[] = []
    let newer = false
    for (let begun = await turns.claim(); begun.length > 0; begun = await turns.claim()) {
      for (const entry of begun)
        t.equal(await turns.placeOf(entry).isTurnOf('mx:group', 'theirs.example'), true, entry.subjectId)
      t.ok(begun.length <= 3)
      order.push(...names(begun))
      if (!newer) await put(numbered('new', 2), 'theirs.example')
      newer = true
      for (const entry of begun) await end({ ...given, store }, entry, 'answers')
    }
    t.strictSame(
      order.slice().sort(),
      [...numbered('old', 20), ...numbered('new', 2)].sort(),
      'all, on a clock that stands',
    )
    t.ok(order.indexOf('new1') > 15, `in the order in which they came: ${order}`)
  },
)

onEveryDatabase('pods take turns, and inboxes in them', async (t, store) => {
  const { turns, put } = setUp(store, 12)
  await put(numbered('a', 100), '', 'one/ann')
  await put(numbered('b', 2), '', 'one/bea')
  await put(numbered('c', 1), '', 'two/carl')
  t.strictSame(names(await turns.claim()).slice(0, 5), ['a0', 'c0', 'b0', 'a1', 'b1'])
})

onEveryDatabase(
  'new mail is not behind what is repeated, which gets half of the places',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put, advance } = mine
    await prove(store, mine, 'there.example')
    await put(numbered('old', 20))
    for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim())
      for (const entry of claimed) await end({ ...mine, store }, entry, 'answers', false)
    advance(3_600_000)
    t.equal((await turns.claim()).length, 4, 'half of the places for what was tried before')
    await put(['new'])
    t.strictSame(names(await turns.claim()), ['new'])
  },
)

onEveryDatabase(
  'what has not answered yet gets half of the places; what has, goes past it',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put } = mine
    await prove(store, mine, 'known.example')
    await put(numbered('mute', 50), '')
    const first = await turns.claim()
    t.equal(first.length, 4)
    await put(numbered('good', 4), 'known.example')
    t.strictSame(names(await turns.claim()), ['good0', 'good1', 'good2', 'good3'])
    await put(['other'], 'other.example', 'pod/else')
    await end({ ...mine, store }, first[0]!, 'fails')
    t.strictSame(names(await turns.claim()), ['other'], 'the other inbox is next among the unproven')
  },
)

onEveryDatabase('who is taken for gone does not end what another may have begun', async (t, store) => {
  const gone = new Set<string>()
  const { turns, put } = setUp(store, 8, 100, 0, membersOf('one', 1, gone))
  await put(['a', 'b'])
  const [a, b] = await turns.claim()
  turns.placeOf(a!).commit()
  gone.add('one.1')
  t.throws(() => turns.placeOf(b!).commit(), LeaseLost)
})

onEveryDatabase('a destination that fails is probed; all else for it waits untried', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance, clock } = mine
  await put(numbered('x', 40), 'down.example')
  for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails')
  t.strictSame(await turns.claim(), [], 'after four failures none is tried')
  const row = await findDestination(store.read, 'down.example')
  t.match(row, { failures: 4, isFailing: 1, lastFailure: 'as the test says' })
  t.match(await findQueueEntryBySubject(store.read, 'x39'), { state: 'parked', attempts: 0 })
  advance(Date.parse(row!.probeAt!) - clock.now().getTime())
  const [probe, ...more] = await turns.claim()
  t.strictSame([probe?.subjectId, more.length], ['x4', 0])
  advance(60_000)
  t.strictSame(await turns.claim(), [], 'one at a time, also when what was tried is due again')
  await end({ ...mine, store }, probe!, 'answers')
  t.equal((await turns.claim()).length, 8, 'it answers: all may begin')
  t.equal((await findDestination(store.read, 'down.example'))?.failures, 0)
})

onEveryDatabase(
  'a probe is made from the instant on at which it is due, and not before',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put, advance, clock } = mine
    for (const [name, earlyMs] of [
      ['of-what-comes-then.example', 0],
      ['of-what-waits.example', 1],
    ] as const) {
      const old = numbered(name, 4)
      await put(old, name)
      for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails')
      const { probeAt } = (await findDestination(store.read, name))!
      advance(Date.parse(probeAt!) - clock.now().getTime() - earlyMs)
      await put([`new at ${name}`], name)
      if (earlyMs > 0) t.strictSame(await turns.claim(), [], 'a moment before')
      advance(earlyMs)
      const [probe, ...more] = await turns.claim()
      t.ok(probe?.subjectId.includes(name))
      t.strictSame(more, [])
      for (const subjectId of [...old, `new at ${name}`])
        await store.write(db => mine.queue.drop(db, subjectId))
      await turns.end(probe!)
    }
  },
)

onEveryDatabase('old mail to who answers is not behind old mail to who may hang', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance } = mine
  await prove(store, mine, 'known.example')
  await put(numbered('mute', 10), '')
  await put(numbered('good', 10), 'known.example')
  for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim()) {
    for (const entry of claimed) {
      await store.write(db => mine.queue.later(db, entry))
      await turns.end(entry)
    }
  }
  advance(3_600_000)
  const again = names(await turns.claim())
  t.strictSame([again.length, again.filter(name => name.startsWith('good')).length], [4, 2])
})

onEveryDatabase(
  'a probe that shows nothing of its destination is no probe: the next one is made',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put, advance, clock } = mine
    await put(numbered('x', 6), 'down.example')
    for (const entry of (await turns.claim()).slice(0, 3)) await end({ ...mine, store }, entry, 'fails')
    const row = await findDestination(store.read, 'down.example')
    advance(Date.parse(row!.probeAt!) - clock.now().getTime())
    const [probe, ...more] = await turns.claim()
    t.ok(probe)
    t.equal(more.length, 0)
    // Its own domain has a null MX by now.
    await store.write(db => mine.queue.done(db, probe!))
    await turns.end(probe!)
    const [next] = await turns.claim()
    t.ok(next, 'another one finds out who fails, at once')
    t.not(next?.id, probe!.id)
  },
)

onEveryDatabase('a probe that could not be tried is made again when that is of use', async (t, store) => {
  const mine = setUp(store, 40)
  const { turns, put, advance, clock } = mine
  await put(numbered('x', 30), 'down.example')
  for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails')
  t.strictSame(await turns.claim(), [])
  const row = await findDestination(store.read, 'down.example')
  advance(Date.parse(row!.probeAt!) - clock.now().getTime())
  const [probe] = await turns.claim()
  await store.write(async db => {
    await mine.queue.postpone(db, 'down.example', 20_000, 'not tried')
    await mine.queue.later(db, probe!)
  })
  turns.placeOf(probe!).passedOver()
  await turns.end(probe!)
  t.strictSame(await turns.claim(), [], 'not one after the other for nothing')
  t.match(
    await findDestination(store.read, 'down.example'),
    { failures: 20, isFailing: 1 },
    'it has shown nothing',
  )
  advance(20_000)
  const [next, ...more] = await turns.claim()
  t.equal(more.length, 0)
  await end({ ...mine, store }, next!, 'answers')
  t.ok(names(await turns.claim()).includes('x29'), 'it answers: all else may begin')
  await put(['new'], 'other.example')
  await store.write(db => mine.queue.postpone(db, 'other.example', 20_000, 'not tried'))
  t.strictSame(await turns.claim(), [], 'also what never failed before')
  advance(20_000)
  t.strictSame(names(await turns.claim()), ['new'])
})

onEveryDatabase('probes hold a quarter of the places', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance } = mine
  await put(numbered('x', 20), '')
  for (let round = 0; round < 3; round++) {
    for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim())
      for (const entry of claimed) await end({ ...mine, store }, entry, 'fails')
    advance(3_600_000)
  }
  t.equal((await turns.claim()).length, 2)
  await put(['new'], 'new.example')
  t.strictSame(names(await turns.claim()), ['new'])
})

onEveryDatabase('what is parked is found by the next process, and ends in time', async (t, store) => {
  const mine = setUp(store, 8)
  await mine.put(numbered('x', 4), 'down.example')
  for (const entry of await mine.turns.claim()) await end({ ...mine, store }, entry, 'fails')
  await mine.put(['late'], 'down.example')
  t.strictSame(await mine.turns.claim(), [])
  const next = setUp(store, 8)
  await next.queue.recover()
  t.strictSame(await next.turns.claim(), [], 'it knows that the destination fails')
  next.advance(limits.probeOverMs)
  t.strictSame(names(await next.turns.claim()), ['late'])
  const third = setUp(store, 8)
  await third.put(['later'], 'down.example')
  t.strictSame(await third.turns.claim(), [])
  third.advance(6 * 86_400_000)
  t.ok(names(await third.turns.claim()).includes('later'), 'given up when its time is over')
})

onEveryDatabase('one destination gets as much as it may, and goes on when one ends', async (t, store) => {
  const mine = setUp(store, 20, 3)
  const { turns, put } = mine
  await put(numbered('x', 10), 'big.example', 'one/ann')
  await put(['y'], 'big.example', 'two/bea')
  const first = await turns.claim()
  t.strictSame(names(first), ['x0', 'y', 'x1'])
  t.strictSame(await turns.claim(), [])
  await end({ ...mine, store }, first[0]!, 'answers')
  t.strictSame(names(await turns.claim()), ['x2'])
})

onEveryDatabase(
  'who asks for less gets half as much at once, and step by step more again',
  async (t, store) => {
    const mine = setUp(store, 20, 4)
    const { turns, put } = mine
    await put(numbered('x', 30), 'big.example')
    const first = await turns.claim()
    t.equal(first.length, 4)
    for (const entry of first.slice(0, 2)) await end({ ...mine, store }, entry, 'slows', true)
    for (const entry of first.slice(2)) await end({ ...mine, store }, entry, 'answers')
    const sizes = []
    for (let round = 0; round < 8; round++) {
      const some = await turns.claim()
      sizes.push(some.length)
      for (const entry of some) await end({ ...mine, store }, entry, 'answers')
    }
    t.strictSame(sizes, [1, 1, 2, 2, 3, 3, 4, 4])
  },
)

onEveryDatabase('a destination gets no more a minute than it may', async (t, store) => {
  const { turns, put, advance } = setUp(store, 100, 50, 60)
  await put(numbered('x', 40), 'big.example')
  t.equal((await turns.claim()).length, 10, "ten seconds' worth at once")
  t.strictSame(await turns.claim(), [])
  advance(5_000)
  t.equal((await turns.claim()).length, 5)
})

onEveryDatabase('domains with the same servers share one standing', async (t, store) => {
  const mine = setUp(store, 8, 2)
  const { turns, put } = mine
  await put(['a', 'b', 'c'], '')
  const [a, b, c] = await turns.claim()
  t.equal(await turns.placeOf(a!).isTurnOf('mx.host.example', 'a.example'), true)
  t.equal(await turns.placeOf(b!).isTurnOf('mx.host.example', 'b.example'), true)
  t.equal(await turns.placeOf(c!).isTurnOf('mx.host.example', 'c.example'), false, 'its two places are taken')
  await store.write(db => mine.queue.giveBack(db, c!))
  await turns.end(c!)
  t.match(await findQueueEntryBySubject(store.read, 'c'), { attempts: 0, destination: 'c.example' })
  t.strictSame(await turns.claim(), [])
  const waiting = { attempts: 0, destination: 'mx.host.example', state: 'parked' }
  t.match(await findQueueEntryBySubject(store.read, 'c'), waiting)
  await end({ ...mine, store }, a!, 'answers')
  t.strictSame(names(await turns.claim()), ['c'])
})

onEveryDatabase('a domain that leads elsewhere by now takes nothing from where it led', async (t, store) => {
  const mine = setUp(store, 8, 2)
  const { turns, put } = mine
  await put(['a'], 'evil.example')
  const [a] = await turns.claim()
  t.equal(await turns.placeOf(a!).isTurnOf('mx:big', 'evil.example'), true)
  await end({ ...mine, store }, a!, 'answers')
  await put(['b'], 'evil.example')
  await put(['c'], 'good.example')
  const [b, c] = await turns.claim()
  t.equal(b!.destination, 'mx:big', 'what it was of')
  t.equal(await turns.placeOf(c!).isTurnOf('mx:big', 'good.example'), true)
  t.equal(await turns.placeOf(b!).isTurnOf('mx:dead', 'evil.example'), true)
  await end({ ...mine, store }, b!, 'fails', true)
  await end({ ...mine, store }, c!, 'answers', false)
  t.equal(await findDestination(store.read, 'mx:big'), undefined)
  mine.advance(3_600_000)
  t.match(await turns.claim(), [{ subjectId: 'c', destination: 'mx:big' }])
})

onEveryDatabase('a probe that leads elsewhere by now is no probe: the next one is made', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance } = mine
  await put(numbered('x', 6), 'down.example')
  for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails', true)
  await put(numbered('y', 3), 'down.example')
  t.strictSame(await turns.claim(), [])
  advance(limits.probeOverMs)
  const [probe] = await turns.claim()
  t.equal(await turns.placeOf(probe!).isTurnOf('mx:elsewhere', 'other.example'), true)
  t.strictSame(await turns.claim(), [], 'not at once: DNS may name another group each time')
  advance(limits.ledElsewhereMs)
  const [another] = await turns.claim()
  t.match(another, { destination: 'down.example' }, 'another is tried soon')
  await store.write(async db => {
    for (let n = 0; n < limits.destinationFailures; n++) await mine.queue.note(db, 'mx:dead', 'fails', 'down')
  })
  t.equal(await turns.placeOf(another!).isTurnOf('mx:dead', 'other.example'), false)
  await store.write(db => mine.queue.giveBack(db, { ...another!, destination: 'other.example' }))
  await turns.end(another!)
  t.strictSame(await turns.claim(), [], 'nor when it is given back')
})

async function silence(t: Test, store: Store) {
  const mine = setUp(store, 4)
  await mine.put(numbered('mute', 2), '')
  const mute = await mine.turns.claim()
  t.equal(mute.length, 2)
  const [first, second] = mute.map(entry => mine.turns.placeOf(entry))
  return { ...mine, first: first!, second: second! }
}

onEveryDatabase(
  'who says nothing gives up the place when new mail waits, and not before',
  async (t, store) => {
    const { turns, put, advance, first, second } = await silence(t, store)
    advance(limits.silentGreetingMs)
    await turns.claim()
    t.notOk(first.signal.aborted, 'nobody waits')
    second.commit()
    await put(['next'], 'next.example')
    t.strictSame(await turns.claim(), [])
    await until('the silent one ended', () => first.signal.aborted)
    t.match(first.signal.reason, { message: /^nothing was said for 1 s, and other mail waited$/ })
    t.notOk(second.signal.aborted, 'it may have the mail')
  },
)

onEveryDatabase('what is carried is not claimed again when the clock jumps', async (t, store) => {
  const mine = setUp(store, 4)
  await mine.put(['a'])
  const [a] = await mine.turns.claim()
  mine.advance(10 * limits.leaseMs)
  t.strictSame(await mine.turns.claim(), [])
  const other = mine.queue.fairTurns({
    concurrency: 4,
    allowanceOf: () => ({ concurrency: 4, perMinute: 0 }),
  })
  t.strictSame(await other.claim(), [], 'nor by another')
  await end({ ...mine, store }, a!, 'answers')
})

onEveryDatabase(
  'who has the mail and does not answer keeps no place from others, and may hang from then on',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put, advance } = mine
    await prove(store, mine, 'slow.example')
    await prove(store, mine, 'good.example')
    await put(numbered('slow', 20), 'slow.example')
    const slow = await turns.claim()
    t.equal(slow.length, 8, 'all places')
    for (const entry of slow) turns.placeOf(entry).commit()
    await put(['waits'], 'good.example')
    t.strictSame(await turns.claim(), [])
    advance(limits.silentAnswerMs)
    const [first, ...others] = await turns.claim()
    t.equal(slow.filter(entry => turns.placeOf(entry).signal.aborted).length, 0, 'no mail is doubled')
    // Of those that wait for longer no more than half of the places are given, and the last quarter is for who answers.
    t.ok(names([first!, ...others]).includes('waits'))
    t.equal(others.length, 4)
    for (const entry of others.filter(one => one.destination === 'slow.example'))
      turns.placeOf(entry).commit()
    await put(numbered('good', 4), 'good.example')
    t.equal((await turns.claim()).length, 3, 'the places that are left')
    await end({ ...mine, store }, slow[0]!, 'answers')
    t.equal((await turns.claim()).length, 0, 'what ends late gives back no place that it did not have')
  },
)

t.test('a look takes as few statements for many entries as for one', async t => {
  const store = await openStore(`${t.testdir({})}/looks.sqlite`, systemClock)
  t.teardown(() => store.close())
  const mine = setUp(store, 200, 100)
  const { turns, put } = mine
  await prove(store, mine, 'there.example')
  const counted = async () => {
    let claimed: Leased[] = []
    const ran = await statementsOf(async () => {
      claimed = await turns.claim()
    })
    const asked = ran.filter(text => !/^(begin|commit|rollback|savepoint|release)/.test(text))
    return { claimed, count: asked.length }
  }
  await put(['one'])
  const one = await counted()
  t.equal(one.claimed.length, 1)
  await end({ ...mine, store }, one.claimed[0]!, 'answers')
  await put(numbered('a', 150), 'there.example', 'pod/ann')
  await put(numbered('b', 50), 'there.example', 'pod/bea')
  const many = await counted()
  t.equal(many.claimed.length, 100)
  // What has no room is parked, in one statement, and its destination noted.
  t.ok(
    many.count <= one.count + 2,
    `${many.count} for 100 that begin and 100 that wait, ${one.count} for one`,
  )
  for (const entry of many.claimed.slice(0, 50)) await end({ ...mine, store }, entry, 'answers')
  const next = await counted()
  t.equal(next.claimed.length, 50)
  t.ok(next.count <= one.count + 2, `${next.count} for 50 that were parked`)
})

for (const address of ['192.0.2.1', '2001:db8::1'])
  onEveryDatabase(
    `whatever names lead to ${address}, it gets what one destination gets`,
    async (t, store) => {
      const mine = setUp(store, 40, 2)
      const { turns, put, queue } = mine
      /** Its servers turn out to be a group of their own, at the address. */
      const hasRoom = async (entry: Leased, at = address) => {
        const place = turns.placeOf(entry)
        t.equal(await place.isTurnOf(`mx:mx.${entry.subjectId}.example`, `${entry.subjectId}.example`), true)
        return place.hasRoomAt(at)
      }
      const wait = async (entry: Leased) => {
        await store.write(db => queue.giveBack(db, { ...entry, destination: roomAt(address) }))
        await turns.end(entry)
      }
      await put(numbered('evil', 6), '', 'evil/inbox')
      const [first, second, elsewhere, ...others] = await turns.claim()
      t.equal(await hasRoom(first!), true)
      t.equal(turns.placeOf(first!).hasRoomAt(address), true, 'it has it already')
      t.equal(await hasRoom(second!), true)
      t.equal(await hasRoom(elsewhere!), false)
      t.equal(await hasRoom(elsewhere!, '192.0.2.77'), true, 'of another address there is room')
      for (const entry of others) {
        t.equal(await hasRoom(entry), false)
        await wait(entry)
      }
      t.strictSame(await turns.claim(), [], 'they wait for room')
      await end({ ...mine, store }, first!, 'answers')
      await put(['good'], '', 'good/inbox')
      const [promised, good, ...more] = await turns.claim()
      t.equal(more.length, 0)
      t.ok(promised!.subjectId.startsWith('evil'))
      t.equal(await hasRoom(good!), false, 'there is a line: nobody gets past it')
      await wait(good!)
      t.equal(await hasRoom(promised!), true, 'what was promised to who waited is kept')
      t.strictSame(await turns.claim(), [])
      await end({ ...mine, store }, promised!, 'answers')
      t.strictSame(names(await turns.claim()), ['good'], 'in turns of pods')
      turns.placeOf(second!).gone(address, 'slows', false)
      await end({ ...mine, store }, second!, 'slows', true)
      t.strictSame(await turns.claim(), [], 'who wants less at an address gets less there')
      await end({ ...mine, store }, elsewhere!, 'answers')
      t.strictSame(await turns.claim(), [])
    },
  )

onEveryDatabase('an address of a provider gets what the provider gets', async (t, store) => {
  const { queue, put } = setUp(store, 40)
  const turns = queue.fairTurns({
    concurrency: 40,
    allowanceOf: name => ({ concurrency: name === 'big' ? 4 : 1, perMinute: 0 }),
  })
  await put(numbered('x', 6), '')
  const entries = await turns.claim()
  const room = async (entry: Leased, group: string) => {
    await turns.placeOf(entry).isTurnOf(group, `${entry.subjectId}.example`)
    return turns.placeOf(entry).hasRoomAt('192.0.2.1')
  }
  t.equal(await room(entries[0]!, 'mx:own'), true)
  t.equal(await room(entries[1]!, 'mx:other'), false)
  for (const entry of entries.slice(2, 5)) t.equal(await room(entry, 'big'), true)
  t.equal(await room(entries[5]!, 'big'), false, 'with all that others have there')
})

for (const pods of [['pod/inbox'], ['evil/inbox', 'good/inbox']])
  onEveryDatabase(
    `who waits for the servers and who waits for their address do not keep each other out (${pods.length})`,
    async (t, store) => {
      const mine = setUp(store, 40, 2)
      const { turns, put, queue } = mine
      const [domain, group, address] = ['big.example', 'mx:mx.big.example', '192.0.2.1']
      await put(numbered('at-servers', 6), group, pods[0])
      await put(numbered('at-address', 6), roomAt(address), pods.at(-1))
      const back = async (entry: Leased, destination: string) => {
        await store.write(db => queue.giveBack(db, { ...entry, destination }))
        await turns.end(entry)
      }
      let begun = 0
      let ended = 0
      for (let round = 0; round < 100 && ended < 12; round++) {
        const claimed = await turns.claim()
        begun += claimed.length
        const there: Leased[] = []
        for (const entry of claimed) {
          if (await turns.placeOf(entry).isTurnOf(group, domain)) there.push(entry)
          else await back(entry, domain)
        }
        const carried = there.filter(entry => turns.placeOf(entry).hasRoomAt(address))
        t.ok(carried.length <= 2, 'no more at once than the servers get')
        for (const entry of there.filter(entry => !carried.includes(entry)))
          await back(entry, roomAt(address))
        for (const entry of carried) {
          turns.placeOf(entry).gone(address, 'answers', false)
          await end({ ...mine, store }, entry, 'answers')
          ended++
        }
        // What is parked where nothing is under way is looked at again after a moment.
        mine.advance(limits.queuePollMs)
      }
      t.equal(ended, 12)
      t.ok(begun <= 3 * 12, `${begun} attempts for 12`)
    },
  )

/** It is found which servers the mail leads to, and whether it may go there now. */
const comes = ({ turns }: ReturnType<typeof setUp>, entry: Leased, group: string) =>
  turns.placeOf(entry).isTurnOf(group, `${entry.subjectId.split('-')[0]}.example`)

for (const group of ['mx:big', 'google', 'mx:mx.big.example+1:x'])
  onEveryDatabase(`a place at ${group} is not kept for who is stuck on the way there`, async (t, store) => {
    const mine = setUp(store, 40, 3)
    const { turns, put, advance } = mine
    /** Its domain is known to lead there, and its next message begins. */
    const known = async (name: string, from: string) => {
      await put([`${name}-known`], `${name}.example`, from)
      const [entry] = await turns.claim()
      t.equal(await comes(mine, entry!, group), true)
      await end({ ...mine, store }, entry!, 'answers')
    }
    for (const name of numbered('evil', 3)) await known(name, 'evil/inbox')
    advance(limits.podSeenMs)
    for (const name of numbered('evil', 3)) await put([`${name}-stuck`], `${name}.example`, 'evil/inbox')
    const stuck = await turns.claim()
    t.equal(stuck.length, 3)
    await put(['good'], 'good.example', 'good/inbox')
    const [good] = await turns.claim()
    t.equal(await comes(mine, good!, group), false, 'for a moment the places are kept')
    await store.write(db => mine.queue.giveBack(db, { ...good!, destination: 'good.example' }))
    await turns.end(good!)
    t.strictSame(await turns.claim(), [], 'it waits there')
    advance(limits.placeKeptMs)
    const [next] = await turns.claim()
    t.equal(next?.subjectId, 'good')
    t.equal(await comes(mine, next!, group), true)
    for (const entry of stuck.slice(0, 2)) t.equal(await comes(mine, entry, group), true, 'there is room')
    t.equal(await comes(mine, stuck[2]!, group), false, 'as many as may be at once')
    await end({ ...mine, store }, next!, 'answers')
    for (const entry of stuck.slice(0, 2)) await end({ ...mine, store }, entry, 'answers')
    // What failed there stands in the queue by the name of the group: it is stuck on the way from there, too.
    await put(numbered('again', 3), group, 'evil/inbox')
    advance(limits.podSeenMs)
    t.equal((await turns.claim()).length, 3)
    await put(['other'], group, 'other/inbox')
    t.strictSame(await turns.claim(), [])
    advance(limits.placeKeptMs)
    t.strictSame(names(await turns.claim()), ['other'])
  })

onEveryDatabase('room at an address is not kept for who is stuck on the way there', async (t, store) => {
  const mine = setUp(store, 40, 2)
  const { turns, put, advance } = mine
  await put(numbered('evil', 2), roomAt('192.0.2.1'), 'evil/inbox')
  const stuck = await turns.claim()
  t.equal(stuck.length, 2)
  // The one is stuck in its policy, the other in the address of its first host.
  t.equal(await comes(mine, stuck[1]!, 'mx:mx.evil1.example'), true)
  await put(['good'], roomAt('192.0.2.1'), 'good/inbox')
  t.strictSame(await turns.claim(), [])
  advance(limits.placeKeptMs)
  const [good, ...more] = await turns.claim()
  t.strictSame([good?.subjectId, more.length], ['good', 0])
  t.equal(await comes(mine, good!, 'mx:mx.good.example'), true)
  t.equal(turns.placeOf(good!).hasRoomAt('192.0.2.1'), true)
  t.equal(turns.placeOf(stuck[1]!).hasRoomAt('192.0.2.1'), true, 'when it comes there is room')
  t.equal(await comes(mine, stuck[0]!, 'mx:mx.evil0.example'), true)
  t.equal(turns.placeOf(stuck[0]!).hasRoomAt('192.0.2.1'), false)
})

onEveryDatabase(
  'who was promised room at an address has the part of one at its destination that has none there',
  async (t, store) => {
    const mine = setUp(store, 40, 2)
    const { turns, put } = mine
    await put(numbered('first', 2), 'mx:big')
    const before = await turns.claim()
    await put(['promised'], roomAt('192.0.2.1'))
    const [promised] = await turns.claim()
    t.equal(await comes(mine, promised!, 'mx:big'), true)
    const rooms = [...before, promised!].map(entry => turns.placeOf(entry).hasRoomAt('192.0.2.1'))
    t.strictSame(rooms, [false, true, true])
  },
)

t.test('whose part that is: of the pod that has all of its own, or anybody', t => {
  const sort = { isRetry: false, isProbe: false, isUnproven: false }
  const stay = (podId: string, more: Partial<Stay> = {}): Stay => ({
    ...{ name: 'mx:big', podId, sinceMs: 0, state: 'coming' },
    ...more,
  })
  const held = [
    { sort, stay: stay('elsewhere', { name: 'mx:small' }), room: undefined },
    { sort, stay: stay('late', { state: 'late' }), room: undefined },
    { sort, stay: stay('has room'), room: stay('has room', { name: roomAt('192.0.2.1') }) },
    { sort: { ...sort, isProbe: true }, stay: stay('probe'), room: undefined },
    { sort, stay: stay('one'), room: undefined },
    { sort, stay: stay('other', { state: 'there' }), room: undefined },
  ]
  for (const [podId, found] of [
    [undefined, 'one'],
    ['one', 'one'],
    ['other', 'other'],
    ['elsewhere', undefined],
    ['late', undefined],
    ['has room', undefined],
    ['probe', undefined],
  ] as const)
    t.equal(roomless(held, 'mx:big', podId)?.podId, found, podId ?? 'anybody')
  t.end()
})

onEveryDatabase(
  'room at an address is free when that is over, whatever is tried after it',
  async (t, store) => {
    const mine = setUp(store, 40, 4)
    const { turns, put } = mine
    const address = '192.0.2.1'
    await put(numbered('x', 9), '', 'evil/inbox')
    const entries = await turns.claim()
    const come = async (entry: Leased, at: string) => {
      await comes(mine, entry, `mx:mx.${entry.subjectId}.example`)
      return turns.placeOf(entry).hasRoomAt(at)
    }
    for (const entry of entries.slice(0, 4)) t.equal(await come(entry, address), true)
    t.equal(await come(entries[4]!, address), false)
    const [first, second] = entries
    turns.placeOf(first!).gone(address, 'answers', false)
    t.equal(await come(entries[5]!, address), true)
    // What its own server says is not said by the one at the address.
    turns.placeOf(second!).gone('192.0.2.99', 'slows', false)
    turns.placeOf(second!).gone(address, 'answers', false)
    await end({ ...mine, store }, second!, 'slows', true)
    t.equal(await come(entries[6]!, address), true, 'as many at once as before')
    turns.placeOf(entries[2]!).gone(address, 'slows', false)
    await end({ ...mine, store }, entries[2]!, 'answers')
    turns.placeOf(entries[3]!).gone(address, 'answers', false)
    t.equal(await come(entries[7]!, address), false, 'it has asked for less itself')
  },
)

onEveryDatabase('who is stuck on the way is not the probe, and may be when it comes', async (t, store) => {
  const mine = setUp(store, 40)
  const { turns, put, advance } = mine
  await put(numbered('x', 3), 'mx:down')
  for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails', true)
  await put(['evil'], 'mx:down', 'evil/inbox')
  await put(numbered('good', 2), 'mx:down', 'good/inbox')
  advance(limits.probeOverMs)
  const [stuck, ...more] = await turns.claim()
  t.strictSame([stuck?.subjectId, more.length], ['evil', 0])
  advance(limits.placeKeptMs)
  const [next, ...others] = await turns.claim()
  t.strictSame([next?.subjectId, others.length], ['good0', 0], 'another is to find out')
  advance(limits.placeKeptMs)
  t.strictSame(names(await turns.claim()), ['good1'])
  t.equal(await comes(mine, next!, 'mx:down'), true, 'its way is a long one: the first who comes finds out')
  t.equal(await comes(mine, stuck!, 'mx:down'), false)
  await end({ ...mine, store }, next!, 'answers')
  t.equal((await findDestination(store.read, 'mx:down'))?.failures ?? 0, 0)
})

onEveryDatabase('one pod has not the last place where another has sent lately', async (t, store) => {
  for (const place of ['mx:shared', 'shared.example', roomAt('192.0.2.1')]) {
    const mine = setUp(store, 40, 3)
    const { turns, put, advance } = mine
    const claimed = async () => {
      const entries = await turns.claim()
      return { entries, from: entries.map(entry => entry.podId) }
    }
    await put(numbered('first', 4), place, 'evil/inbox')
    const alone = await claimed()
    t.strictSame(alone.from, ['evil', 'evil', 'evil'], 'who is alone has all of them')
    for (const entry of alone.entries) await end({ ...mine, store }, entry, 'answers')
    await put(['good'], place, 'good/inbox')
    for (const entry of (await claimed()).entries) await end({ ...mine, store }, entry, 'answers')
    await put(numbered('more', 9), place, 'evil/inbox')
    const some = await claimed()
    t.strictSame(some.from, ['evil', 'evil'])
    t.strictSame((await claimed()).from, [])
    const next = { entries: [] as Leased[] }
    for (const name of ['next', 'after', 'last']) {
      await put([name], place, 'good/inbox')
      const one = await claimed()
      t.strictSame(one.from, ['good'], 'whatever theirs are stuck in')
      if (name === 'last') next.entries.push(...one.entries)
      else for (const entry of one.entries) await end({ ...mine, store }, entry, 'answers')
    }
    await put(['waits'], place, 'good/inbox')
    t.strictSame((await claimed()).from, [], 'parked behind theirs')
    await end({ ...mine, store }, next.entries.pop()!, 'answers')
    const parked = await claimed()
    t.strictSame(parked.from, ['good'])
    next.entries.push(...parked.entries)
    for (const entry of [...some.entries, ...next.entries]) await end({ ...mine, store }, entry, 'answers')
    advance(limits.podSeenMs)
    t.strictSame((await claimed()).from, ['evil', 'evil', 'evil'], 'nobody else has come for long')
    await store.write(db => db.deleteFrom('queueEntry').execute())
    await store.write(db => db.deleteFrom('destination').execute())
  }
})

onEveryDatabase(
  'what is parked of a pod that has enough there is passed over, first attempts and repeated ones',
  async (t, store) => {
    const mine = setUp(store, 40, 3)
    const { turns, put, advance } = mine
    const place = 'mx:shared'
    const done = { isOver: true, again: false }
    const endAll = async (entries: readonly Leased[], isOver: boolean) => {
      for (const entry of entries) await end({ ...mine, store }, entry, 'answers', isOver)
    }
    /** The place that is left goes to the one whose pod has none, whoever of what is parked is next. */
    const takesItsPlace = async (subjects: readonly string[]) => {
      for (const subject of subjects) {
        const [next, ...more] = await turns.claim()
        t.strictSame([next?.subjectId, more.length], [subject, 0])
        await endAll([next!], done.isOver)
      }
    }
    await put(['good'], place, 'good/inbox')
    await endAll(await turns.claim(), done.isOver)
    await put(numbered('evil', 9), place, 'evil/inbox')
    const stuck = await turns.claim()
    t.strictSame(names(stuck), ['evil0', 'evil1'])
    await put(numbered('b', 4), place, 'good/inbox')
    await takesItsPlace(numbered('b', 4))
    t.strictSame(await turns.claim(), [])

    await store.write(db => db.deleteFrom('queueEntry').where('state', '=', 'parked').execute())
    await endAll(stuck, done.isOver)
    await put(numbered('old', 3), place, 'evil/inbox')
    for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim())
      await endAll(claimed, done.again)
    await put(numbered('later', 3), place, 'good/inbox')
    for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim())
      await endAll(claimed, done.again)
    advance(120_000)
    const again = await turns.claim()
    t.strictSame(names(again), ['old0', 'later0', 'old1'], 'in turns of pods')
    await endAll(again.splice(1, 1), done.isOver)
    await takesItsPlace(['later1', 'later2'])
    t.strictSame(await turns.claim(), [])
    await endAll(again, done.isOver)
    t.strictSame(names(await turns.claim()), ['old2'])
  },
)

onEveryDatabase(
  'who greets and then falls silent may hang from then on, whatever it was known for; it does not fail for that',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { turns, put } = mine
    await prove(store, mine, 'mx:slow')
    await prove(store, mine, 'good.example')
    await put(['first'], 'mx:slow')
    const [first] = await turns.claim()
    turns.placeOf(first!).gone('192.0.2.1', undefined, true)
    await store.write(db => mine.queue.done(db, first!))
    await turns.end(first!)
    t.equal(await findDestination(store.read, 'mx:slow'), undefined, 'a message can have made it do so')
    await put(numbered('slow', 20), 'mx:slow')
    t.equal((await turns.claim()).length, 4, 'half of the places, and no more')
    await put(numbered('good', 4), 'good.example', 'other/inbox')
    t.strictSame(names(await turns.claim()), numbered('good', 4))
  },
)

onEveryDatabase(
  'who hangs up in the middle of a message gets no more at once than one of whom nothing is known',
  async (t, store) => {
    const mine = setUp(store, 100, 20, 0, membersOf(v7()), 5)
    const { queue, turns, put } = mine
    await put(numbered('x', 200), 'mx:quick')
    let begun = await turns.claim()
    t.equal(begun.length, 5)
    while (begun.length < 20) {
      for (const entry of begun) await end({ ...mine, store }, entry, 'answers')
      begun = await turns.claim()
    }
    turns.placeOf(begun[0]!).gone('192.0.2.1', undefined, true)
    for (const entry of begun) {
      await store.write(db => queue.done(db, entry))
      await turns.end(entry)
    }
    t.equal((await turns.claim()).length, 5)
  },
)

onEveryDatabase('what is parked when its time is over ends, many at once', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance } = mine
  await prove(store, mine, 'good.example')
  await put(numbered('x', 4), 'down.example')
  for (const entry of await turns.claim()) await end({ ...mine, store }, entry, 'fails', true)
  await put(numbered('late', 6), 'down.example')
  t.strictSame(await turns.claim(), [])
  advance(6 * 86_400_000)
  t.equal((await turns.claim()).length, 5, 'half of the places, and one is the probe')
  t.strictSame(await turns.claim(), [], 'the others when these have ended')
  await put(numbered('mute', 4), '')
  t.equal((await turns.claim()).length, 1, 'three quarters with who may hang')
  await put(numbered('good', 4), 'good.example')
  t.strictSame(names(await turns.claim()), ['good0', 'good1'])
})

onEveryDatabase(
  'no more wait beside the places than there are places, and who ends makes room for another',
  async (t, store) => {
    const mine = setUp(store, 4)
    const { turns, put, advance } = mine
    for (const name of ['a', 'b', 'c']) await prove(store, mine, `${name}.example`)
    const begun: Leased[] = []
    for (const name of ['a', 'b']) {
      await put(numbered(name, 4), `${name}.example`)
      const some = await turns.claim()
      t.strictSame(names(some), numbered(name, 4))
      for (const entry of some) turns.placeOf(entry).commit()
      begun.push(...some)
      advance(limits.silentAnswerMs)
    }
    await put(numbered('c', 4), 'c.example')
    t.strictSame(await turns.claim(), [], 'four wait beside the places, and four in them')
    await end({ ...mine, store }, begun[0]!, 'answers')
    t.strictSame(names(await turns.claim()), ['c0'])
  },
)

onEveryDatabase('the last quarter of the places is for new mail to who answers', async (t, store) => {
  const mine = setUp(store, 8)
  const { turns, put, advance } = mine
  await prove(store, mine, 'there.example')
  await put(numbered('old', 20))
  for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim())
    for (const entry of claimed) await end({ ...mine, store }, entry, 'answers', false)
  advance(3_600_000)
  t.equal((await turns.claim()).length, 4, 'half for what was tried before')
  await put(numbered('mute', 10), '')
  t.equal(
    (await turns.claim()).length,
    2,
    'who may hang gets the quarter that is left, and no half beside it',
  )
  await put(numbered('new', 4))
  t.strictSame(names(await turns.claim()), ['new0', 'new1'])
})

onEveryDatabase('who has failed for days is probed every half hour', async (t, store) => {
  const { queue, turns, put, advance } = setUp(store, 8)
  for (let n = 0; n < 20; n++) await store.write(db => queue.note(db, 'down.example', 'fails', 'down'))
  await put(['x'], 'down.example')
  t.strictSame(await turns.claim(), [])
  advance(limits.probeOverMs)
  t.strictSame(names(await turns.claim()), ['x'])
})

onEveryDatabase('who is probed keeps the place, however silent, while new mail waits', async (t, store) => {
  const mine = setUp(store, 4)
  const { queue, turns, put, advance } = mine
  await prove(store, mine, 'good.example')
  for (let n = 0; n < 3; n++) await store.write(db => queue.note(db, 'down.example', 'fails', 'down'))
  await put(['probe'], 'down.example')
  t.strictSame(await turns.claim(), [])
  advance(limits.probeOverMs)
  const [probe] = await turns.claim()
  await put(numbered('good', 4), 'good.example')
  const others = await turns.claim()
  t.equal(others.length, 3)
  advance(limits.silentGreetingMs)
  t.strictSame(await turns.claim(), [])
  t.strictSame(
    [probe!, ...others].map(entry => turns.placeOf(entry).signal.aborted),
    [false, true, true, true],
  )
})

onEveryDatabase(
  'what was tried before and may hang gets the places of its like that are silent, and not that of a probe',
  async (t, store) => {
    const mine = setUp(store, 8)
    const { queue, turns, put, advance } = mine
    await prove(store, mine, 'good.example')
    for (let n = 0; n < 3; n++) await store.write(db => queue.note(db, 'down.example', 'fails', 'down'))
    await put(['probe'], 'down.example')
    await put(numbered('mute', 6), '')
    for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim()) {
      for (const entry of claimed) {
        await store.write(db => queue.later(db, entry))
        await turns.end(entry)
      }
    }
    advance(3_600_000)
    const begun = await turns.claim()
    t.equal(begun.length, 3)
    t.equal(begun[0]!.subjectId, 'probe')
    const places = begun.map(entry => ({ entry, place: turns.placeOf(entry) }))
    for (const { entry, place } of places) t.ok(await place.isTurnOf(entry.destination, entry.destination))
    for (const [ms, isOver] of [
      [limits.silentAnswerMs - 1, false],
      [1, true],
    ] as const) {
      advance(ms)
      const name = `after ${ms} more`
      await put([name], 'good.example')
      t.strictSame(names(await turns.claim()), [name])
      t.strictSame(
        places.map(({ place }) => place.signal.aborted),
        [false, isOver, isOver],
      )
    }
  },
)
