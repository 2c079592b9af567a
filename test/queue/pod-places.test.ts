import { v7 } from 'uuid'
import type { Clock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import type { Leased } from '../../lib/queue/leased.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import type { Store } from '../../lib/store/open.ts'
import { insertQueueEntries } from '../../lib/store/queue-entries.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { membersOf } from '../support/members.ts'
import { insertInstallation, insertPodRow } from '../support/rows.ts'
import { rowsReadBy } from '../support/statements.ts'

/** The turns of mail in an installation that has so many pods, on a clock that stands. */
async function setUp(store: Store, concurrency: number, pods = 3) {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const queue = createQueue({ store, clock, members: membersOf(v7()), ids: { next: v7 }, random: () => 0.5 })
  const turnsOfProcess = () =>
    queue.fairTurns({ concurrency, allowanceOf: () => ({ concurrency: 1000, perMinute: 0 }) })
  const turns = turnsOfProcess()
  await store.write(async db => {
    await insertInstallation(db)
    for (let n = 1; n < pods; n++) await insertPodRow(db)
  })
  const put = (podId: string, count: number, destination?: string) =>
    store.write(db =>
      queue.put(
        db,
        Array.from({ length: count }, () => {
          const subjectId = v7()
          return {
            kind: 'delivery' as const,
            subjectId,
            destination: destination ?? `${subjectId}.example`,
            podId,
            inboxId: podId,
            expiresAt: '2026-01-06T00:00:00.000Z',
          }
        }),
      ),
    )
  const end = async (entry: Leased, isOver = true) => {
    await store.write(async db => {
      if (isOver) await queue.done(db, entry)
      else await queue.later(db, entry)
    })
    if (isOver) turns.placeOf(entry).showed('answers')
    await turns.end(entry)
  }
  /** Has a destination answer once. */
  const prove = async (destination: string) => {
    await put('somebody', 1, destination)
    for (const entry of await turns.claim()) await end(entry)
  }
  /** How many begin of each pod. */
  const begin = async () => {
    const entries: Leased[] = []
    for (let some = await turns.claim(); some.length > 0; some = await turns.claim()) entries.push(...some)
    const of = Object.fromEntries(
      [...Map.groupBy(entries, entry => entry.podId)].map(([podId, some]) => [podId, some.length]),
    )
    return { entries, of }
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { queue, turns, turnsOfProcess, put, prove, begin, end, advance }
}

onEveryDatabase(
  'a pod leaves a quarter of the places to others, and of those for who may hang',
  async (t, store) => {
    const { put, prove, begin, end } = await setUp(store, 40)
    await prove('slow.example')
    await prove('good.example')
    await put('eve', 1000, 'slow.example')
    const held = await begin()
    t.strictSame(held.of, { eve: 30 }, 'each of its servers answers, however slowly')
    await put('eve', 10)
    t.strictSame((await begin()).of, {})
    await put('gus', 5, 'good.example')
    await put('gus', 2)
    const others = await begin()
    t.strictSame(others.of, { gus: 7 }, 'proven and unknown servers, at once')
    for (const entry of [...held.entries, ...others.entries]) await end(entry)
    await store.write(db => db.deleteFrom('queueEntry').execute())

    await put('eve', 1000)
    t.strictSame((await begin()).of, { eve: 15 }, 'of the half for who may hang')
    await put('gus', 3)
    t.strictSame((await begin()).of, { gus: 3 })
  },
)

onEveryDatabase(
  'several pods that take what they may leave some, and get equal parts as theirs end',
  async (t, store) => {
    const { put, prove, begin, end } = await setUp(store, 40)
    await prove('slow.example')
    await prove('good.example')
    const under: Leased[] = []
    for (const podId of ['eve', 'mallory', 'oscar']) {
      await put(podId, 200, 'slow.example')
      under.push(...(await begin()).entries)
    }
    for (let n = 0; n < 80; n++) {
      await end(under.shift()!)
      under.push(...(await begin()).entries)
    }
    for (const some of Map.groupBy(under, entry => entry.podId).values())
      t.ok(some.length >= 12 && some.length <= 13)
    await put('gus', 3, 'good.example')
    t.strictSame((await begin()).of, { gus: 3 })
  },
)

onEveryDatabase('where there is one pod it has all of them', async (t, store) => {
  const { put, prove, begin } = await setUp(store, 40, 1)
  await prove('slow.example')
  await put('eve', 1000, 'slow.example')
  t.strictSame((await begin()).of, { eve: 40 })
})

onEveryDatabase(
  'two processes that claim at once keep to it, and none has what the other has',
  async (t, store) => {
    const { turns, turnsOfProcess, put } = await setUp(store, 8)
    await put('eve', 1000)
    await put('gus', 10)
    const both = await Promise.all([turns.claim(), turnsOfProcess().claim()])
    const ids = both.flat().map(entry => entry.id)
    t.equal(new Set(ids).size, ids.length)
    for (const some of both) {
      t.equal(some.length, 4)
      t.ok(some.filter(entry => entry.podId === 'eve').length <= 3)
    }
  },
)

onEveryDatabase(
  'what is repeated of a pod that has enough is passed over, and stays due',
  async (t, store) => {
    const { put, prove, begin, end, advance } = await setUp(store, 40)
    await prove('slow.example')
    await prove('good.example')
    const again = async (podId: string, count: number, destination: string) => {
      await put(podId, count, destination)
      for (let some = await begin(); some.entries.length > 0; some = await begin())
        for (const entry of some.entries) await end(entry, false)
    }
    await again('eve', 100, 'slow.example')
    await again('gus', 2, 'good.example')
    await put('eve', 30, 'slow.example')
    const { entries } = await begin()
    t.equal(entries.length, 30)
    advance(3_600_000)
    const others = await begin()
    t.strictSame(others.of, { gus: 2 }, 'though it is due for less long')
    for (const entry of [...entries, ...others.entries]) await end(entry)
    t.strictSame((await begin()).of, { eve: 15 }, 'three quarters of what is for repeats')
  },
)

/** Has so many mails of a pod wait to be repeated since a while. */
async function insertRepeats(store: Store, podId: string, count: number, destination: string, dueAt: string) {
  const row = { kind: 'delivery', destination, state: 'ready', dueAt, attempts: 1, podId, inboxId: podId }
  const times = { expiresAt: '2026-01-06T00:00:00.000Z', createdAt: dueAt }
  await store.write(async db => {
    for (let left = count; left > 0; left -= 500) {
      const rows = Array.from({ length: Math.min(left, 500) }, () => {
        const id = v7()
        return { ...row, ...times, id, subjectId: id, leasedBy: null, leasedUntil: null, cutOffs: 0 }
      })
      await insertQueueEntries(db, rows)
    }
  })
}

onEveryDatabase(
  'a crowd of what may not be repeated is not read at each look, and nobody is behind it',
  async (t, store) => {
    const { turns, put, prove, begin } = await setUp(store, 40)
    await prove('slow.example')
    await prove('good.example')
    await put('eve', 30, 'slow.example')
    t.strictSame((await begin()).of, { eve: 30 }, 'as many as it may')
    await insertRepeats(store, 'eve', 3_000, 'slow.example', '2025-12-31T00:00:00.000Z')
    await insertRepeats(store, 'gus', 2, 'good.example', '2025-12-31T23:00:00.000Z')
    t.strictSame((await begin()).of, { gus: 2 })
    const read = await rowsReadBy(() => turns.claim())
    t.ok(read <= 2 * limits.queueFew, `${read} rows`)

    await put('eve', 3_000, 'slow.example')
    await turns.claim()
    const readNew = await rowsReadBy(() => turns.claim())
    t.ok(readNew <= 3 * limits.queueFew, `${readNew} rows, with what is new`)
  },
)

onEveryDatabase('what is repeated begins in turns of pods, due or parked', async (t, store) => {
  const { queue, prove, begin, end, advance } = await setUp(store, 40)
  await prove('busy.example')
  await insertRepeats(store, 'eve', 1_000, 'busy.example', '2025-12-31T00:00:00.000Z')
  for (const podId of ['gus', 'ann'])
    await insertRepeats(store, podId, 3, 'busy.example', '2025-12-31T23:00:00.000Z')
  const first = await begin()
  t.match(first.of, { gus: 3, ann: 3 })
  t.ok(first.of.eve! > 6, 'and as many as others leave')
  for (const entry of first.entries) await end(entry)

  for (let n = 0; n < limits.destinationFailures; n++)
    await store.write(db => queue.note(db, 'busy.example', 'fails', 'down'))
  for (const podId of ['gus', 'ann'])
    await insertRepeats(store, podId, 3, 'busy.example', '2025-12-31T23:00:00.000Z')
  t.strictSame((await begin()).of, {}, 'all that is due is parked')
  advance(limits.probeOverMs)
  const [probe, ...more] = (await begin()).entries
  t.equal(more.length, 0)
  await store.write(db => queue.note(db, 'busy.example', 'answers', ''))
  await end(probe!)
  advance(limits.queuePollMs)
  const next = await begin()
  t.equal((next.of.gus ?? 0) + (next.of.ann ?? 0) + (probe!.podId === 'eve' ? 0 : 1), 6)
})

onEveryDatabase('who waits for its own pod has that alone pressed for its silence', async (t, store) => {
  const { turns, put, begin, advance } = await setUp(store, 40)
  await put('gus', 1)
  const [gus] = (await begin()).entries
  await put('eve', 100)
  const { entries } = await begin()
  t.equal(entries.length, 15)
  advance(limits.silentGreetingMs)
  await turns.claim()
  t.ok(entries.every(entry => turns.placeOf(entry).signal.aborted))
  t.equal(turns.placeOf(gus!).signal.aborted, false)
})

onEveryDatabase('of a pod that has enough none is the probe, and another pod finds out', async (t, store) => {
  const { queue, turns, put, prove, begin, advance } = await setUp(store, 40)
  await put('eve', 3, 'down.example')
  for (const entry of (await begin()).entries) {
    await store.write(async db => {
      await queue.note(db, 'down.example', 'fails', 'down')
      await queue.done(db, entry)
    })
    await turns.end(entry)
  }
  await put('eve', 3, 'down.example')
  t.strictSame((await begin()).of, {})
  await prove('slow.example')
  await put('eve', 1000, 'slow.example')
  t.strictSame((await begin()).of, { eve: 30 })
  advance(limits.probeOverMs)
  t.strictSame((await begin()).of, {})
  await put('gus', 1, 'down.example')
  advance(limits.queuePollMs)
  t.strictSame((await begin()).of, { gus: 1 })
})

onEveryDatabase('whose destinations all fail leaves some of the probes to another pod', async (t, store) => {
  const { queue, put, begin, advance } = await setUp(store, 40)
  const fail = (name: string) =>
    store.write(async db => {
      for (let n = 0; n < limits.destinationFailures; n++) await queue.note(db, name, 'fails', 'down')
    })
  for (let n = 0; n < 60; n++) {
    await fail(`down${n}.example`)
    await put('eve', 1, `down${n}.example`)
  }
  t.strictSame((await begin()).of, {}, 'all are parked')
  advance(limits.probeOverMs)
  t.strictSame((await begin()).of, { eve: 8 }, 'of ten')
  await fail('back.example')
  await put('gus', 1, 'back.example')
  t.strictSame((await begin()).of, {})
  advance(limits.probeOverMs)
  const of: Record<string, number> = {}
  for (let looks = 0; looks < 5 && of.gus === undefined; looks++) {
    Object.assign(of, (await begin()).of)
    advance(limits.queuePollMs)
  }
  t.strictSame(of, { gus: 1 })
})

onEveryDatabase(
  'what leads to other servers by now has no more places there than what is new',
  async (t, store) => {
    const { turns, put, prove, begin } = await setUp(store, 40)
    await prove('answers.example')
    await put('eve', 1000, 'answers.example')
    const { entries } = await begin()
    t.equal(entries.length, 30)
    let there = 0
    for (const [n, entry] of entries.entries())
      if (await turns.placeOf(entry).isTurnOf(`mx:slow${n}`, `e${n}.example`)) there++
    t.equal(there, 15, 'of the half for who may hang')
    await put('gus', 3)
    t.strictSame((await begin()).of, { gus: 3 })
  },
)

onEveryDatabase(
  'who has a place among those who may hang keeps it, whoever comes meanwhile',
  async (t, store) => {
    const { turns, put, begin } = await setUp(store, 40)
    await put('eve', 1000)
    const { entries } = await begin()
    t.equal(entries.length, 15)
    await put('gus', 3)
    t.strictSame((await begin()).of, { gus: 3 })
    for (const [n, entry] of entries.entries())
      t.equal(await turns.placeOf(entry).isTurnOf(`mx:new${n}`, `e${n}.example`), true)
  },
)
