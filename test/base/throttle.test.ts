import t from 'tap'
import { createThrottle } from '../../lib/base/throttle.ts'

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
  ms += 10_000
  t.equal(taken('ann'), 1)
  ms += 3_600_000
  t.equal(taken('ann'), 6, 'it does not fill beyond what it holds')
  t.end()
})
