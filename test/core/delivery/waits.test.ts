import t from 'tap'
import { type ReplyClass, replyClasses } from '../../../lib/base/reply.ts'
import { waitBoundsOf } from '../../../lib/core/delivery/waits.ts'
import { nextAttemptAfterMs } from '../../../lib/queue/backoff.ts'

const minute = 60_000

t.test('what was said makes the next attempt sooner or later than the schedule', async t => {
  const waits = (replyClass: ReplyClass | undefined, attempts: number) =>
    nextAttemptAfterMs(
      attempts,
      0.5,
      undefined,
      waitBoundsOf(
        { result: 'transient', text: '', durationMs: 0, ...(replyClass && { replyClass }) },
        attempts,
      ),
    ) / minute
  t.strictSame(
    [1, 2, 5, 8].map(attempt => waits(undefined, attempt)),
    [1, 5, 60, 480],
  )
  t.strictSame(
    [1, 2, 5, 8, 9].map(attempt => waits('greylist', attempt)),
    [1, 5, 15, 15, 480],
    'soon, but not for days',
  )
  t.strictSame(
    [1, 2, 5, 8].map(attempt => waits('rate', attempt)),
    [15, 15, 60, 480],
  )
  for (const later of ['full', 'reputation'] as const) {
    t.strictSame(
      [1, 2, 5, 8].map(attempt => waits(later, attempt)),
      [60, 60, 60, 480],
      later,
    )
  }
  for (const other of replyClasses.filter(one => !['greylist', 'rate', 'full', 'reputation'].includes(one))) {
    t.strictSame(waits(other, 1), 1, other)
  }
})

t.test(
  'the first attempt that finds nobody there, and one that could not be made, are repeated soon',
  async t => {
    const transient = { result: 'transient', text: '', durationMs: 0 } as const
    const after = (outcome: Parameters<typeof waitBoundsOf>[0], attempts: number) =>
      nextAttemptAfterMs(attempts, 1, undefined, waitBoundsOf(outcome, attempts))
    t.ok(after({ ...transient, showing: 'fails' }, 1) < 30_000)
    t.equal(after({ ...transient, showing: 'fails' }, 2), 5.5 * minute)
    t.equal(
      after({ ...transient, showing: 'fails', code: 554 }, 1),
      1.1 * minute,
      'a server that says no is there',
    )
    for (const attempts of [1, 2, 8])
      t.equal(after({ ...transient, triedAgainInMs: 10_000 }, attempts), 9_900)
  },
)
