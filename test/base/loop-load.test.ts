import { createHash } from 'node:crypto'
import t from 'tap'
import { createLoopLoad, workedSince } from '../../lib/base/threads.ts'

t.test(
  'a loop is busy when it has worked for half of a tenth of a second, as it was last looked at',
  async t => {
    const clock = { ms: 0, monotonicMs: () => clock.ms }
    let share = 0.5
    let looks = 0
    const isBusy = createLoopLoad(clock, () => ({ share, next: ++looks }))
    t.equal(isBusy(), false, 'nothing is known yet')
    clock.ms = 100
    t.equal(isBusy(), true)
    share = 0.4
    clock.ms = 199
    t.equal(isBusy(), true)
    clock.ms = 200
    t.equal(isBusy(), false)
    t.equal(looks, 3)
  },
)

t.test('the share of its time that this loop works is known', async t => {
  // Before its first turn it has no time yet.
  await new Promise(resolve => setImmediate(resolve))
  const { next } = workedSince(undefined)
  createHash('sha256').update(Buffer.alloc(8_000_000)).digest()
  const { share } = workedSince(next)
  t.ok(share > 0 && share <= 1, String(share))
})
