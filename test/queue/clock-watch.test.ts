import { v7 } from 'uuid'
import { createLog } from '../../lib/base/log.ts'
import type { Clock } from '../../lib/base/time.ts'
import { startClockWatch } from '../../lib/queue/clock-watch.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import { sweepRows } from '../../lib/store/sweeps.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { until } from '../support/until.ts'

const hour = 3_600_000

onEveryDatabase(
  'a clock that is set back makes nothing wait for longer: all of it, and once',
  async (t, store) => {
    let nowMs = Date.parse('2026-01-01T12:00:00.000Z')
    let looks = 0
    const clock: Clock = {
      now: () => new Date(nowMs),
      monotonicMs: () => {
        looks++
        return 0
      },
    }
    const queue = createQueue({
      store,
      clock,
      members: membersOf('one'),
      ids: { next: v7 },
      random: () => 0.5,
    })
    const dueAt = new Date(nowMs + 5 * hour).toISOString()
    const work = Array.from({ length: sweepRows + 1 }, (_, n) => ({
      ...{ kind: 'delivery' as const, subjectId: `x${n}`, destination: 'there.example' },
      ...{ dueAt, expiresAt: '2026-01-06T00:00:00.000Z' },
    }))
    await store.write(db => queue.put(db, work))
    const end = startClockWatch({
      clock,
      store,
      log: createLog('silent'),
      hold: undefined,
      nodes: { count: 1 },
    })
    t.teardown(end)
    nowMs -= hour
    const before = looks
    await until('three looks after it', () => looks >= before + 3)
    await end()
    const rows = await store.read.selectFrom('queueEntry').select('dueAt').distinct().execute()
    t.strictSame(rows, [{ dueAt: new Date(nowMs + 5 * hour).toISOString() }])
  },
)

onEveryDatabase(
  'what the clock showed while it was not that of the server of the database sets nothing back',
  async (t, store) => {
    const startMs = Date.parse('2026-01-01T12:00:00.000Z')
    let nowMs = startMs
    let looks = 0
    const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => 0 }
    const queue = createQueue({
      store,
      clock,
      members: membersOf('one'),
      ids: { next: v7 },
      random: () => 0.5,
    })
    const dueAt = new Date(nowMs + 5 * hour).toISOString()
    const one = {
      ...{ kind: 'delivery' as const, subjectId: 'x', destination: 'there.example' },
      ...{ dueAt, expiresAt: '2026-01-06T00:00:00.000Z' },
    }
    await store.write(db => queue.put(db, [one]))
    const hold = {
      async requireHeld() {
        looks++
        if (nowMs !== startMs) throw new Error('the clocks differ')
      },
    }
    const end = startClockWatch({ clock, store, log: createLog('silent'), hold, nodes: { count: 1 } })
    t.teardown(end)
    for (const shown of [startMs + 3 * hour, startMs]) {
      nowMs = shown
      const before = looks
      await until('two looks after it', () => looks >= before + 2)
    }
    await end()
    t.strictSame(await store.read.selectFrom('queueEntry').select('dueAt').execute(), [{ dueAt }])
  },
)
