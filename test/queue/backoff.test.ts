import t from 'tap'
import { nextAttemptAfterMs } from '../../lib/queue/backoff.ts'

const minute = 60_000

t.test('the table', async t => {
  const expected = [1, 5, 15, 30, 60, 120, 240, 480, 480, 480]
  let sinceFirst = 0
  for (const [index, minutes] of expected.entries()) {
    const attempts = index + 1
    const [least, middle, most] = [0, 0.5, 0.999_999].map(
      jitter => nextAttemptAfterMs(attempts, jitter) / minute,
    )
    sinceFirst += minutes
    t.comment(
      `after attempt ${attempts}: ${least} .. ${middle} .. ${most} min; ${sinceFirst / 60} h since the first`,
    )
    t.equal(middle, minutes)
    t.ok(Math.abs((least ?? 0) - minutes * 0.9) < 0.001 && Math.abs((most ?? 0) - minutes * 1.1) < 0.001)
  }
})

t.test('any count gives a time within the table', async t => {
  t.equal(nextAttemptAfterMs(0, 0.5), minute)
  t.equal(nextAttemptAfterMs(1e9, 0.5), 480 * minute)
})

t.test('another schedule', async t => {
  const times = [1, 2, 3, 4].map(attempts => nextAttemptAfterMs(attempts, 0.5, [5, 30, 60]))
  t.strictSame(times, [5, 30, 60, 60])
})

t.test('22 attempts fit in five days', async t => {
  let atMs = 0
  let attempts = 1
  while (atMs + nextAttemptAfterMs(attempts, 0.5) < 5 * 24 * 60 * minute)
    atMs += nextAttemptAfterMs(attempts++, 0.5)
  t.equal(attempts, 22)
})
