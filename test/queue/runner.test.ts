import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { createLog } from '../../lib/base/log.ts'
import { systemClock } from '../../lib/base/time.ts'
import { type Leased, LeaseLost } from '../../lib/queue/lease.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import { createRunner } from '../../lib/queue/runner.ts'
import { openStore } from '../../lib/store/open.ts'
import { membersOf } from '../support/members.ts'
import { findQueueEntryBySubject } from '../support/rows.ts'
import { until } from '../support/until.ts'

async function setUp(t: Test, perform: (entry: Leased) => Promise<void>, concurrency = 8) {
  const store = await openStore(`${t.testdir({})}/runner.sqlite`, systemClock)
  const queue = createQueue({
    store,
    clock: systemClock,
    ids: { next: v7 },
    members: membersOf('one'),
    random: Math.random,
  })
  const runner = createRunner({
    queue,
    kind: 'delivery',
    scheduler: queue.scheduler({
      kind: 'delivery',
      concurrency,
      allowanceOf: () => ({ concurrency: 2, perMinute: 0 }),
    }),
    perform,
    log: createLog('silent'),
  })
  t.teardown(async () => {
    await runner.stop()
    await store.close()
  })
  const put = async (work: [subjectId: string, destination: string][]) => {
    const expiresAt = '2100-01-01T00:00:00.000Z'
    await store.write(db =>
      queue.put(
        db,
        work.map(([subjectId, destination]) => ({
          kind: 'delivery' as const,
          subjectId,
          destination,
          expiresAt,
        })),
      ),
    )
  }
  return { store, queue, runner, put }
}

t.test(
  'what a process was not sure of for a moment is due again, when it still stands in its name',
  async t => {
    let tried = 0
    const { store, queue, runner, put } = await setUp(t, async entry => {
      if (++tried === 1) throw new LeaseLost()
      await store.write(db => queue.done(db, entry))
    })
    runner.start()
    await put([['a', 'a.example']])
    await until('it to be done', async () => !(await findQueueEntryBySubject(store.read, 'a')))
    t.equal(tried, 2)
  },
)

t.test('everything is performed, within the bounds of concurrency', async t => {
  const underWay = new Map<string, number>()
  let most = 0
  let mostOfOne = 0
  let done = 0
  const { store, queue, runner, put } = await setUp(t, async entry => {
    const count = (underWay.get(entry.destination) ?? 0) + 1
    underWay.set(entry.destination, count)
    mostOfOne = Math.max(mostOfOne, count)
    most = Math.max(
      most,
      [...underWay.values()].reduce((a, b) => a + b),
    )
    await new Promise(resolve => setImmediate(resolve))
    underWay.set(entry.destination, underWay.get(entry.destination)! - 1)
    await store.write(db => queue.done(db, entry))
    done++
  })
  runner.start()
  await put(Array.from({ length: 60 }, (_, index) => [`s${index}`, `d${index % 2}.example`]))
  await until('all performed', () => done === 60)
  t.ok(most <= 8 && most > 1, `${most} at once`)
  t.equal(mostOfOne, 2)
})

t.test('work that throws is tried again by the schedule', async t => {
  const { store, runner, put } = await setUp(t, async () => {
    throw new Error('a bug')
  })
  runner.start()
  await put([['a', 'd.example']])
  const entry = await until('the entry deferred', async () => {
    const row = await findQueueEntryBySubject(store.read, 'a')
    return row?.attempts === 1 && row.leasedBy === null ? row : undefined
  })
  t.ok(Date.parse(entry.dueAt) > systemClock.now().getTime() + 30_000)
})

t.test('work that another process put is found without being told', async t => {
  let done = false
  const { store, queue, runner } = await setUp(t, async entry => {
    await store.write(db => queue.done(db, entry))
    done = true
  })
  runner.start()
  const expiresAt = '2100-01-01T00:00:00.000Z'
  await store.write(db => queue.put(db, [{ kind: 'delivery', subjectId: 'a', destination: 'd', expiresAt }]))
  await until('performed', () => done)
  t.pass()
})

t.test('stop waits for what is under way and takes nothing new', async t => {
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const begun: string[] = []
  const { store, queue, runner, put } = await setUp(t, async entry => {
    begun.push(entry.subjectId)
    await gate
    await store.write(db => queue.done(db, entry))
  })
  runner.start()
  await put([['a', 'd.example']])
  await until('begun', () => begun.length === 1)
  const stopped = runner.stop()
  await put([['b', 'd.example']])
  release()
  await stopped
  t.strictSame(begun, ['a'])
  t.equal(await findQueueEntryBySubject(store.read, 'a'), undefined)
  t.equal((await findQueueEntryBySubject(store.read, 'b'))?.attempts, 0)
})
