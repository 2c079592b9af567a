import t from 'tap'
import { everyMinute, isDue, type Schedule } from '../../lib/base/schedule.ts'
import { until } from '../support/until.ts'

/** The minutes of a day, as "hour:minute", at which it is due. */
function dayOf(schedule: Schedule): string[] {
  const minutes = Array.from({ length: 1440 }, (_, n) => new Date(2026, 0, 15, 0, n))
  return minutes.filter(at => isDue(schedule, at)).map(at => `${at.getHours()}:${at.getMinutes()}`)
}

t.test('a schedule is due at its minutes', async t => {
  t.equal(dayOf({ everyMinutes: 1 }).length, 1440)
  t.strictSame(dayOf({ everyMinutes: 20 }).slice(0, 4), ['0:0', '0:20', '0:40', '1:0'])
  t.strictSame(dayOf({ minute: 17 }).slice(0, 3), ['0:17', '1:17', '2:17'])
  t.equal(dayOf({ minute: 17 }).length, 24)
  t.strictSame(dayOf({ minute: 57, hour: 3 }), ['3:57'])
  t.strictSame(dayOf({ minute: 5, hour: 0 }), ['0:5'])
})

t.test('each minute begins once, also those in which nothing ran', async t => {
  const start = Date.UTC(2026, 0, 15, 12, 0)
  let now = start + 59_990
  const begun: number[] = []
  let asked = 0
  const clock = {
    now() {
      asked++
      return new Date(now)
    },
  }
  const ticking = everyMinute(clock, at => begun.push((at.getTime() - start) / 60_000))
  t.teardown(() => ticking.stop())
  const go = async (to: number, count: number) => {
    now = start + to
    await until(`${count} minutes`, () => begun.length === count)
  }
  now = start + 119_990
  await until('the first', () => begun.length === 1)
  t.strictSame(begun, [1])
  await go(4 * 60_000 + 59_990, 4)
  t.strictSame(begun, [1, 2, 3, 4])
  await go(300 * 60_000 + 59_990, 64)
  t.strictSame([begun[4], begun.at(-1)], [241, 300], 'an hour of them at the most')
  now = start + 59_990
  const before = asked
  await until('a look at it', () => asked >= before + 4)
  await go(60_000 + 59_990, 65)
  t.equal(begun.at(-1), 1, 'a clock that was put back begins again')
})

t.test('after its stop none begins', async t => {
  const stopped: Date[] = []
  const others: Date[] = []
  let now = 59_990
  const clock = { now: () => new Date(now) }
  everyMinute(clock, at => stopped.push(at)).stop()
  const other = everyMinute(clock, at => others.push(at))
  t.teardown(() => other.stop())
  now = 60_000
  await until('that of another', () => others.length === 1)
  t.strictSame(stopped, [])
})
