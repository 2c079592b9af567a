import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { v7 } from 'uuid'
import { systemClock } from '../../lib/base/time.ts'
import { addToDay, listDay } from '../../lib/store/daily-usage.ts'
import { addRowsTo, insertRow, insertRowOnce, insertRows, putRow } from '../../lib/store/dialect/insert.ts'
import { leaveEvent, listEvents } from '../../lib/store/events.ts'
import { openStore } from '../../lib/store/open.ts'
import { findPod, insertPod } from '../../lib/store/pods.ts'
import { leaveUnindexed } from '../../lib/store/unindexed-bodies.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { destinationRow, insertInstallation, insertPodRow } from '../support/rows.ts'

onEveryDatabase('many writes at once: each succeeds or fails alone', async (t, store) => {
  await store.write(insertInstallation)
  const ids = Array.from({ length: 300 }, () => v7())
  const results = await Promise.allSettled(
    ids.map((id, index) =>
      store.write(async db => {
        await insertPodRow(db, { id })
        if (index % 3 === 0) throw new Error(`write ${index} gives up`)
        return index
      }),
    ),
  )
  for (const [index, result] of results.entries()) {
    const isThere = (await findPod(store.read, ids[index]!)) !== undefined
    if (index % 3 === 0) {
      if (result.status !== 'rejected' || isThere) t.fail(`write ${index} should have left nothing`)
    } else if (result.status !== 'fulfilled' || result.value !== index || !isThere) {
      t.fail(`write ${index} should be there`)
    }
  }
  const { podCount } = await store.read.selectFrom('account').select('podCount').executeTakeFirstOrThrow()
  t.equal(podCount, 201, 'the counter agrees with what was committed')
})

onEveryDatabase(
  'what writes leave is there with them, and none fails for what another left',
  async (t, store) => {
    const { inbox } = await store.write(insertInstallation)
    const event = (n: number) => ({
      ...{ id: v7(), type: `n${n}`, podId: inbox.podId, inboxId: inbox.id, threadId: null, messageId: null },
      ...{ payload: '{}', createdAt: '2026-01-02T03:04:05.678Z' },
    })
    const results = await Promise.allSettled(
      Array.from({ length: 9 }, (_, n) =>
        store.write(async db => {
          leaveEvent(db, event(n))
          addToDay(db, inbox, '2026-01-02T03:04:05.678Z', { delivered: 1 })
          if (n === 3) leaveUnindexed(db, [v7()])
          if (n === 6) throw new Error('undone')
          return n
        }),
      ),
    )
    await store.placed()
    const done = [0, 1, 2, 4, 5, 7, 8]
    t.strictSame(
      results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : [])),
      done,
      'no message is there to be indexed',
    )
    const all = { podId: null, inboxId: null, type: undefined, after: undefined }
    const types = (await listEvents(store.read, all, 10)).map(({ type }) => type)
    t.strictSame(
      types.sort(),
      done.map(n => `n${n}`),
    )
    const day = '2026-01-02'
    t.match(await listDay(store.read, { day, podId: null, after: '' }, 10), [{ delivered: done.length }])
  },
)

onEveryDatabase('a failed statement inside a write rolls that write back', async (t, store) => {
  const { pod } = await store.write(insertInstallation)
  const id = v7()
  await t.rejects(
    store.write(async db => {
      await insertPodRow(db, { id })
      await insertPod(db, pod)
    }),
  )
  t.equal(await findPod(store.read, id), undefined)
})

onEveryDatabase('a row is inserted, inserted once or put, each as it is asked', async (t, store) => {
  const key = ['inboxId', 'key'] as const
  const row = (body: string, name = 'k') => ({
    inboxId: 'i',
    podId: 'p',
    key: name,
    requestHash: 'h',
    status: 200,
    body,
    createdAt: '2026-11-21T12:00:00.000Z',
  })
  const bodies = async () =>
    (await store.read.selectFrom('idempotency').select('body').orderBy('body').execute()).map(
      ({ body }) => body,
    )
  await store.write(db => insertRow(db, 'idempotency', row('1')))
  t.equal(await store.write(db => insertRowOnce(db, 'idempotency', row('2'), key)), false)
  t.strictSame(await bodies(), ['1'])
  await store.write(db => putRow(db, 'idempotency', row('3'), key))
  t.strictSame(await bodies(), ['3'])
  await t.rejects(store.write(db => insertRow(db, 'idempotency', row('4'))))
  t.equal(await store.write(db => insertRowOnce(db, 'idempotency', row('5', 'other'), key)), true)
  t.strictSame(await bodies(), ['3', '5'])
})

onEveryDatabase('rows of one kind are inserted, or added to, all of them or none', async (t, store) => {
  const updatedAt = '2026-01-02T03:04:05.678Z'
  const rowsOf = (count: number) =>
    Array.from({ length: count }, (_, n) => destinationRow(`d${n}.example`, updatedAt, n))
  const failures = async () => {
    const rows = await store.read.selectFrom('destination').select(['name', 'failures']).execute()
    return rows.map(row => [row.name, row.failures]).sort()
  }
  const expected = (count: number, times: number) =>
    rowsOf(count)
      .map(row => [row.name, row.failures * times])
      .sort()
  const more = { failures: sql`"destination"."failures" + excluded."failures"` }
  for (const count of [...Array(19).keys(), 31, 32, 33, 63, 64, 65, 80, 81, 96, 127, 128, 129, 200]) {
    const rows = rowsOf(count)
    const broken = [...rows.slice(1), ...rows.slice(-1)]
    if (broken.length > 1)
      await t.rejects(
        store.write(db => insertRows(db, 'destination', broken)),
        `${count}, one of them twice`,
      )
    t.strictSame(await failures(), [], `nothing of ${count} is left`)
    await store.write(db => insertRows(db, 'destination', rows))
    t.strictSame(await failures(), expected(count, 1), `${count} rows`)
    await store.write(db => insertRows(db, 'destination', rowsOf(count + 1), ['name']))
    t.strictSame(await failures(), expected(count + 1, 1), `those of ${count + 1} that are not there`)
    await store.write(db => addRowsTo(db, 'destination', rowsOf(count + 1), ['name'], more))
    t.strictSame(await failures(), expected(count + 1, 2), `${count + 1} that are added to`)
    await store.write(db => db.deleteFrom('destination').execute())
  }
})

onEveryDatabase('nobody sees what is not committed, and everybody sees what is', async (t, store) => {
  await store.write(insertInstallation)
  const id = v7()
  await store.write(async db => {
    await insertPodRow(db, { id })
    t.equal(await findPod(store.read, id), undefined, 'not yet for others')
    t.ok(await findPod(db, id), 'but for the write itself')
  })
  t.ok(await findPod(store.read, id))
})

t.test('writes of two processes (here: two stores) on one file take turns', async t => {
  const path = `${t.testdir({})}/shared.sqlite`
  const one = await openStore(path, systemClock)
  const two = await openStore(path, systemClock)
  t.teardown(() => Promise.all([one.close(), two.close()]))
  await one.write(insertInstallation)
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 ? one : two).write(db => insertPodRow(db))),
  )
  const { podCount } = await two.read.selectFrom('account').select('podCount').executeTakeFirstOrThrow()
  t.equal(podCount, 101)
})

t.test('on a file, what is committed is settled when its fsync has ended', async t => {
  const store = await openStore(`${t.testdir({})}/settled.sqlite`, systemClock)
  t.teardown(() => store.close())
  t.equal(store.settled(), undefined)
  const written = store.write(insertInstallation)
  // Behind the turn in which it is committed; the end of an fsync comes in a later one.
  await setImmediate()
  t.equal((await store.read.selectFrom('pod').select('id').execute()).length, 1)
  const settled = store.settled()
  t.ok(settled)
  await settled
  await written
  t.equal(store.settled(), undefined)
})

t.test('close waits for the writes under way', async t => {
  const path = `${t.testdir({})}/closing.sqlite`
  const store = await openStore(path, systemClock)
  await store.write(insertInstallation)
  const writes = Array.from({ length: 200 }, () => store.write(db => insertPodRow(db)))
  await store.close()
  await Promise.all(writes)
  const again = await openStore(path, systemClock)
  const { podCount } = await again.read.selectFrom('account').select('podCount').executeTakeFirstOrThrow()
  await again.close()
  t.equal(podCount, 201)
})
