import { v7 } from 'uuid'
import type { Clock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import type { Leased } from '../../lib/queue/leased.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import type { Store } from '../../lib/store/open.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { findQueueEntryBySubject } from '../support/rows.ts'

function setUp(store: Store, { concurrency = 2, members = membersOf(v7()) } = {}) {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const queue = createQueue({ store, clock, members, ids: { next: v7 }, random: () => 0.5 })
  const turns = queue.podTurns('draft', concurrency)
  const put = (subjects: readonly string[], podId: string, inboxId = '', dueAt?: string) =>
    store.write(db =>
      queue.put(
        db,
        subjects.map(subjectId => ({
          kind: 'draft' as const,
          subjectId,
          destination: 'draft',
          podId,
          inboxId: inboxId || `of-${subjectId}`,
          expiresAt: '2026-01-06T00:00:00.000Z',
          ...(dueAt === undefined ? {} : { dueAt }),
        })),
      ),
    )
  const done = async (entry: Leased) => {
    await store.write(db => queue.done(db, entry))
    await turns.end(entry)
  }
  const later = async (entry: Leased) => {
    await queue.retry(entry)
    await turns.end(entry)
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { queue, turns, put, done, later, advance }
}

const names = (entries: readonly Leased[]) => entries.map(entry => entry.subjectId)
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`)

onEveryDatabase('what one pod has due, however much, holds up no other pod', async (t, store) => {
  const { turns, put, done } = setUp(store)
  const many = numbered('a', 2 * limits.queueLook + 50)
  await put(many, 'one')
  const first = await turns.claim()
  t.equal(first.length, 2, 'who is alone has all places')
  await put(['b0', 'b1'], 'two')
  t.strictSame(await turns.claim(), [])
  await done(first[0]!)
  const [next] = await turns.claim()
  t.equal(next!.subjectId, 'b0')
  await done(next!)
  const [after] = await turns.claim()
  t.match(after!.subjectId, /^a/, 'in turns')
  await done(after!)
  t.strictSame(names(await turns.claim()), ['b1'])
})

onEveryDatabase('all that is due is done, of an inbox one at a time and in its order', async (t, store) => {
  const { turns, put, done } = setUp(store)
  await put(numbered('a', 3), 'one', 'ann')
  await put(numbered('b', 2), 'one', 'bea')
  const order: string[] = []
  for (let claimed = await turns.claim(); claimed.length > 0; claimed = await turns.claim()) {
    t.equal(new Set(claimed.map(entry => entry.inboxId)).size, claimed.length)
    for (const entry of claimed) {
      order.push(entry.subjectId)
      await done(entry)
    }
  }
  t.strictSame(order.toSorted(), ['a0', 'a1', 'a2', 'b0', 'b1'])
  t.strictSame(
    order.filter(name => name.startsWith('a')),
    ['a0', 'a1', 'a2'],
  )
})

onEveryDatabase('nothing begins before its time, and what failed is repeated', async (t, store) => {
  const { turns, put, done, later, advance } = setUp(store)
  await put(['tomorrow'], 'one', '', '2026-01-02T00:00:00.000Z')
  await put(['a', 'b', 'c'], 'one')
  const [now, next] = await turns.claim()
  t.strictSame(names([now!, next!]), ['a', 'b'])
  await later(now!)
  await done(next!)
  const [last] = await turns.claim()
  t.equal(last!.subjectId, 'c')
  await done(last!)
  t.strictSame(await turns.claim(), [], 'one is repeated later, the other is due tomorrow')
  advance(600_000)
  const [again] = await turns.claim()
  t.match(again, { subjectId: now!.subjectId, attempts: 2 })
  await done(again!)
  advance(86_400_000)
  t.strictSame(names(await turns.claim()), ['tomorrow'])
})

onEveryDatabase('what is worked on is not claimed again when the clock jumps', async (t, store) => {
  const { turns, put, done, advance } = setUp(store)
  await put(['a', 'b', 'c'], 'one')
  const claimed = await turns.claim()
  advance(10 * limits.leaseMs)
  t.strictSame(await turns.claim(), [], 'there is no place')
  await done(claimed[0]!)
  const [third, ...more] = await turns.claim()
  t.equal(more.length, 0)
  t.notOk(names(claimed).includes(third!.subjectId))
  const held = await findQueueEntryBySubject(store.read, claimed[1]!.subjectId)
  t.match(held, { state: 'ready', attempts: 1 })
  await done(claimed[1]!)
})

onEveryDatabase('what is in line is found by the next process', async (t, store) => {
  const mine = setUp(store)
  await mine.put(numbered('a', 5), 'one')
  t.equal((await mine.turns.claim()).length, 2)
  const other = setUp(store, { members: membersOf('other') })
  t.equal((await other.turns.claim()).length, 2)
  await setUp(store, { members: membersOf('other', 2) }).queue.recover()
  t.equal((await setUp(store).turns.claim()).length, 2, 'what that one had is due again')
})
