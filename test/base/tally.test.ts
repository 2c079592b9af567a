import t from 'tap'
import { createTally } from '../../lib/base/log.ts'

t.test('the first is told at once, and what comes soon after it is counted', async t => {
  let nowMs = 1000
  const told: unknown[] = []
  const tally = createTally({ now: () => new Date(nowMs), monotonicMs: () => nowMs }, 60_000, counts =>
    told.push(counts),
  )
  tally.note('late')
  for (let count = 0; count < 1000; count++) tally.note(count % 4 ? 'late' : 'down')
  t.strictSame(told, [{ late: 1 }])
  nowMs += 59_999
  tally.note('late')
  t.equal(told.length, 1)
  nowMs += 1
  tally.note('late')
  t.strictSame(told.slice(1), [{ late: 752, down: 250 }])
})
