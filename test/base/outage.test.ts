import t from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { createOutage } from '../../lib/base/outage.ts'

function setUp(bounds: { failures?: number; lastingMs?: number; steadyMs?: number } = {}) {
  const lines: { level: string; msg: string }[] = []
  const log = createLog('info', {
    write(line) {
      const { time: _time, ...rest } = JSON.parse(line)
      lines.push(rest)
    },
  })
  let now = 0
  const clock = { monotonicMs: () => now }
  const outage = createOutage({ clock, log }, { begin: 'it began', end: 'it ended', ...bounds })
  return {
    outage,
    lines,
    wait(ms: number) {
      now += ms
    },
  }
}

t.test('once at its begin, and once at its end with how many failed', async t => {
  const { outage, lines, wait } = setUp()
  outage.worked()
  for (let count = 0; count < 100; count++) {
    outage.failed({ code: count })
    wait(10)
  }
  outage.worked()
  outage.worked()
  t.strictSame(lines, [
    { level: 'error', code: 0, msg: 'it began' },
    { level: 'warn', failed: 100, lastedMs: 1000, msg: 'it ended' },
  ])
  outage.failed({ code: 'anew' })
  t.strictSame(lines.at(-1), { level: 'error', code: 'anew', msg: 'it began' })
})

t.test('a few failures, or many at one moment, are none where that is said', async t => {
  const { outage, lines, wait } = setUp({ failures: 3, lastingMs: 50 })
  outage.failed({})
  outage.failed({})
  outage.worked()
  for (let count = 0; count < 10; count++) outage.failed({})
  t.strictSame(lines, [], 'they came together')
  wait(49)
  outage.failed({})
  t.strictSame(lines, [])
  wait(1)
  outage.failed({})
  t.match(lines, [{ msg: 'it began' }])
  outage.worked()
  t.match(lines.at(-1), { failed: 12, lastedMs: 50, msg: 'it ended' })
})

t.test('what works now and then is one outage until it works for long enough', async t => {
  const { outage, lines, wait } = setUp({ steadyMs: 50 })
  for (let count = 0; count < 10; count++) {
    outage.failed({})
    wait(10)
    outage.worked()
    wait(49)
    outage.worked()
    t.ok(outage.isTold)
  }
  t.strictSame(lines, [{ level: 'error', msg: 'it began' }])
  wait(1)
  outage.worked()
  t.notOk(outage.isTold)
  t.strictSame(lines.at(-1), { level: 'warn', failed: 10, lastedMs: 541, msg: 'it ended' })
})
