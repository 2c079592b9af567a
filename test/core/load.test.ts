import t from 'tap'
import { readLoad } from '../../lib/core/load.ts'
import { insertQueueEntries } from '../../lib/store/queue-entries.ts'
import { startApi } from '../support/api-app.ts'

const entry = (id: number, lane: string, dueAt: string) => ({
  id: `01a0-${String(id).padStart(4, '0')}`,
  kind: 'delivery',
  subjectId: `s${id}`,
  destination: 'theirs.example',
  lane,
  dueAt,
  expiresAt: '2100-01-01T00:00:00.000Z',
  attempts: 0,
  leasedBy: null,
  leasedUntil: null,
  createdAt: new Date(Date.parse('2030-01-01T00:00:00.000Z') + id * 1000).toISOString(),
  podId: '-',
  inboxId: '-',
  cutOffs: 0,
  isKnown: 1,
  turn: 0,
})

t.test('what waits is told by its state, with how late it is', async t => {
  const { app } = await startApi(t, { breaks: ['queue'] })
  const now = new Date('2030-01-01T01:00:00.000Z')
  const mine = Object.create(app, { clock: { value: { now: () => now, monotonicMs: () => 0 } } })
  const empty = await readLoad(mine)
  t.strictSame([empty.queue.oldestMs, empty.queue.late.map(one => one.lateMs)], [0, [0, 0, 0]])
  await app.store.write(db =>
    insertQueueEntries(db, [
      entry(1, 'slow', '2030-01-01T00:59:00.000Z'),
      entry(2, 'slow', '2030-01-01T00:59:30.000Z'),
      entry(3, 'slow', '2030-01-01T02:00:00.000Z'),
      entry(4, 'fast', '2030-01-01T00:59:40.000Z'),
      entry(5, 'held', '2030-01-01T00:00:00.000Z'),
    ]),
  )
  const { queue, disk } = await readLoad(mine)
  const of = (state: string) =>
    queue.waiting.find(one => one.kind === 'delivery' && one.state === state)?.count
  t.strictSame(['due', 'later', 'held'].map(of), [3, 1, 1])
  t.equal(queue.late.find(one => one.kind === 'delivery')?.lateMs, 60_000)
  t.equal(queue.oldestMs, 3_599_000)
  t.ok(disk.database > 0 && disk.free > 0)
})
