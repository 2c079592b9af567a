import t from 'tap'
import { createThrottle } from '../../lib/base/concurrency.ts'

t.test('as many a minute as are allowed, and after a long rest not more', t => {
  let ms = 0
  const throttle = createThrottle({ now: () => new Date(ms), monotonicMs: () => ms }, 6)
  const taken = (name: string) => {
    let count = 0
    while (count < 100 && throttle.take(name) === 0) count++
    return count
  }
  t.equal(taken('ann'), 6)
  t.equal(throttle.take('ann'), 10, 'seconds until the next')
  t.equal(taken('bea'), 6, 'another name has its own')
  ms += 9_999
  t.equal(taken('ann'), 0, 'not a millisecond before')
  ms += 1
  t.equal(taken('ann'), 1)
  ms += 3_600_000
  t.equal(taken('ann'), 6, 'it does not fill beyond what it holds')
  t.end()
})

t.test('who comes after as long as he was told gets his, whatever the clock shows', t => {
  for (const perMinute of [5, 7, 60, 600])
    for (let begun = 0; begun < 50; begun++) {
      let ms = 1000 * begun + 1 / (begun + 3)
      const throttle = createThrottle({ now: () => new Date(ms), monotonicMs: () => ms }, perMinute)
      while (throttle.take('ann') === 0);
      ms += 1000 * throttle.take('ann')
      if (throttle.take('ann') !== 0) t.fail(`${perMinute} a minute, from ${begun}`)
    }
  t.pass()
  t.end()
})

t.test('of several nodes each gives its share, which changes as they come and go', t => {
  let ms = 0
  let nodes = 3
  const clock = { now: () => new Date(ms), monotonicMs: () => ms }
  const all = Array.from({ length: 3 }, () => createThrottle(clock, 60, () => nodes))
  const taken = (some: typeof all) => {
    let count = 0
    for (const throttle of some) while (count < 1000 && throttle.take('ann') === 0) count++
    return count
  }
  t.equal(taken(all), 60)
  ms += 10_000
  // Each is refilled evenly: a third of a token is left over at most.
  t.ok([8, 9, 10].includes(taken(all)))
  nodes = 1
  ms += 60_000
  t.equal(taken(all.slice(0, 1)), 60, 'who is alone gives all')
  nodes = 2
  ms += 3_600_000
  t.equal(taken(all.slice(0, 2)), 60)
  nodes = 1000
  ms += 60_000
  t.equal(taken(all.slice(0, 1)), 1, 'one is never too many')
  t.end()
})
