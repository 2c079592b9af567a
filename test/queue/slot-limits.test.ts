import t from 'tap'
import type { Clock } from '../../lib/base/time.ts'
import { type Allowance, SlotLimits } from '../../lib/queue/slot-limits.ts'

function paced(allowance: Allowance) {
  let nowMs = 0
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const limitsOf = new SlotLimits(clock, () => allowance)
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { limitsOf, advance, most: (underWay = 0) => limitsOf.most('there.example', underWay) }
}

t.test(
  'a server that says again and again that it is too much gets one at once, and all again in time',
  async t => {
    const { limitsOf, most } = paced({ concurrency: 20, perMinute: 0 })
    const sizes = []
    for (let n = 0; n < 7; n++) {
      limitsOf.showed('there.example', 'slows')
      sizes.push(most())
    }
    t.strictSame(sizes, [10, 5, 2, 1, 1, 1, 1])
    for (let n = 0; n < 100; n++) limitsOf.showed('there.example', 'answers')
    t.equal(most(), 20)
  },
)

t.test('a destination of which nothing is known begins with few, and gets more with each answer', async t => {
  const { limitsOf, most } = paced({ concurrency: 8, perMinute: 0, first: 5 })
  const sizes = [most()]
  for (let n = 0; n < 16; n++) {
    limitsOf.showed('there.example', 'answers')
    if (n % 4 === 3) sizes.push(most())
  }
  t.strictSame(sizes, [5, 6, 7, 8, 8])
  limitsOf.showed('there.example', 'fails')
  t.equal(most(), 5, 'one that fails begins again')
})

t.test('a provider gets no more a minute than it takes, ten seconds of it at once', async t => {
  const { limitsOf, advance, most } = paced({ concurrency: 50, perMinute: 60 })
  t.equal(most(), 10)
  for (let n = 0; n < 10; n++) limitsOf.began('there.example')
  t.strictSame([most(10), limitsOf.exhausted()], [10, ['there.example']])
  advance(5_000)
  t.strictSame([most(10), limitsOf.exhausted()], [15, []])
  limitsOf.began('there.example', -1)
  t.equal(most(10), 16, 'what went elsewhere is given back')
  advance(600_000)
  t.equal(most(), 10)
})

t.test('a rate of less than one in ten seconds lets one begin, and the next in its time', async t => {
  const { limitsOf, advance, most } = paced({ concurrency: 5, perMinute: 2 })
  t.equal(most(), 1)
  limitsOf.began('there.example')
  advance(29_999)
  t.equal(most(), 0)
  advance(1)
  t.equal(most(), 1)
})
