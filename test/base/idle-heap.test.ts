import t from 'tap'
import { startIdleHeap } from '../../lib/base/idle-heap.ts'
import { until } from '../support/until.ts'

t.test('garbage is collected once when work has ended, and not while there is any', async t => {
  // A start, rest, health checks, work, rest.
  const shares = [0.9, 0.4, 0, 0, 0.04, 0, 0.3, 0.06, 0, 0]
  const collectedAt: number[] = []
  let looks = 0
  const heap = startIdleHeap(1, {
    worked: before => {
      t.equal(before, looks === 0 ? undefined : looks - 1)
      return { share: shares[looks] ?? 0, next: looks++ }
    },
    collect: () => collectedAt.push(looks - 1),
  })
  // The timer keeps no process alive.
  const keep = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(keep))
  await until('all looks', () => looks >= shares.length)
  heap.stop()
  t.same(collectedAt, [2, 8])
})

t.test('the garbage of this thread goes', async t => {
  let garbage: WeakRef<object> | undefined = new WeakRef({ some: 'thing' })
  const heap = startIdleHeap(10)
  await until('it was collected', () => garbage?.deref() === undefined)
  heap.stop()
  garbage = undefined
  t.equal((globalThis as { gc?: unknown }).gc, undefined, 'and nothing can ask for that')
})
