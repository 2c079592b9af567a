import { noteShowing } from '../../lib/queue/standing.ts'
import { findDestination, hurryDestinationsThatSaid } from '../../lib/store/destinations.ts'
import { onEveryDatabase } from '../support/databases.ts'

onEveryDatabase('attempts that fail together are one failure, and probes come soon', async (t, store) => {
  let nowMs = Date.parse('2026-01-02T03:04:05.678Z')
  const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const fail = (startedMs: number, name = 'mx:there', said = 'down') =>
    store.write(db =>
      noteShowing(db, { clock, random: () => 0.999 }, name, 'fails', said, new Date(startedMs)),
    )
  const standing = async (name = 'mx:there') => {
    const row = await findDestination(store.read, name)
    return [row?.failures, row?.isFailing === 1, row?.probeAt ? Date.parse(row.probeAt) - nowMs : null]
  }
  const start = nowMs
  for (let attempt = 0; attempt < 20; attempt++) {
    nowMs += 5
    await fail(start)
  }
  t.strictSame(await standing(), [1, false, null], 'a wave')
  nowMs += 30_000
  for (const startedMs of [nowMs - 5, nowMs - 5, nowMs]) await fail(startedMs)
  t.strictSame(await standing(), [3, true, (await standing())[2]])
  t.ok(Number((await standing())[2]) <= 30_000, 'the first probe')
  nowMs += 30_000
  await fail(start)
  const [failures, isFailing, probeMs] = await standing()
  t.strictSame([failures, isFailing], [3, true], 'one of an old wave counts for nothing')
  t.ok(Number(probeMs) <= 30_000)
  for (let probe = 0; probe < 12; probe++) {
    nowMs += 120_000
    await fail(nowMs - 10)
  }
  const [, , later] = await standing()
  t.ok(Number(later) > 60_000 && Number(later) <= 120_000, 'every further one')

  for (let attempt = 0; attempt < 3; attempt++) await fail(nowMs, 'silent.example', 'no resolver')
  t.equal(
    await store.write(db => hurryDestinationsThatSaid(db, 'no resolver', clock.now().toISOString())),
    true,
  )
  t.strictSame(await standing('silent.example'), [3, true, 0], 'the reason is gone')
  t.ok(Number((await standing())[2]) > 0, 'another reason is not')
  await store.write(db => noteShowing(db, { clock, random: () => 0 }, 'silent.example', 'answers', ''))
  t.equal(
    await store.write(db => hurryDestinationsThatSaid(db, 'no resolver', clock.now().toISOString())),
    false,
  )
})
