import t from 'tap'
import type { Clock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import { Pace } from '../../lib/queue/pace.ts'

const there = 'there.example'

/** The pace of a destination, on a clock that stands. */
function paceOf(concurrency: number, perMinute = 0) {
  let nowMs = 0
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const pace = new Pace(clock, () => ({ concurrency, perMinute }))
  /** How many begin, one after the other, until it gets no more. */
  const beginAll = () => {
    let count = 0
    for (; pace.most(there, 0) > 0; count++) pace.began(there)
    return count
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { pace, beginAll, advance }
}

t.test('who says again and again that it is too much gets one at once, and all again in time', async t => {
  for (const concurrency of [1, 4]) {
    const { pace } = paceOf(concurrency)
    for (let n = 0; n < 20; n++) pace.slowDown(there)
    t.equal(pace.most(there, 0), 1)
    t.equal(pace.concurrency(there), 1)
    for (let n = 0; n < concurrency / limits.paceStep; n++) pace.answered(there)
    t.equal(pace.most(there, 0), concurrency)
  }
})

t.test('a rate of less than one in ten seconds lets one begin, and the next in its time', async t => {
  const { beginAll, advance } = paceOf(5, 1)
  t.equal(beginAll(), 1)
  advance(59_999)
  t.equal(beginAll(), 0)
  advance(1)
  t.equal(beginAll(), 1)
})

t.test("after hours without mail ten seconds' worth begins at once, as ever", async t => {
  const { beginAll, advance } = paceOf(5, 60)
  t.equal(beginAll(), 10)
  advance(3_600_000)
  t.equal(beginAll(), 10)
})

t.test('what began there and went elsewhere is given back, and no more than that', async t => {
  const { pace, beginAll } = paceOf(5, 60)
  pace.began(there)
  pace.returned(there)
  t.equal(beginAll(), 10)
  pace.returned(there)
  t.equal(beginAll(), 1)
})

t.test(
  'what nothing is known of begins with few, and gets one step more with each that it answers',
  async t => {
    const clock: Clock = { now: () => new Date(0), monotonicMs: () => 0 }
    const pace = new Pace(clock, () => ({ concurrency: 8, perMinute: 0, first: 5 }))
    t.equal(pace.most(there, 0), 5)
    for (let n = 0; n < 2 / limits.paceStep; n++) pace.answered(there)
    t.equal(pace.concurrency(there), 7)
    for (let n = 0; n < 9 / limits.paceStep; n++) pace.answered(there)
    t.equal(pace.concurrency(there), 8, 'and never more than it may')
    pace.failed(there)
    t.equal(pace.concurrency(there), 5, 'who fails begins anew')
    pace.slowDown(there)
    pace.failed(there)
    t.equal(pace.concurrency(there), 2, 'with no more than it asked for')
  },
)
