import { statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { insertRow } from '../../lib/store/dialect/insert.ts'
import { deleteEventsBefore, findLastEventId } from '../../lib/store/events.ts'
import { openStore } from '../../lib/store/open.ts'

const event = (id: string) => ({
  ...{ id, type: 'webhook.test', podId: null, inboxId: null, threadId: null, messageId: null },
  ...{ payload: '{}', createdAt: '2026-01-01T00:00:00.000Z' },
})

t.test('who was promised a write reads it, in the same turn of the event loop', async t => {
  const store = await openStore(`${t.testdir({})}/reader.sqlite`, systemClock)
  t.teardown(() => store.close())
  for (let n = 10; n < 60; n++) {
    const id = `01890000-0000-7000-8000-0000000000${n}`
    // Something was read just before, and is read in between.
    await findLastEventId(store.read)
    const written = store.write(db => insertRow(db, 'event', event(id)))
    const before = store.version()
    await findLastEventId(store.read)
    await written
    t.equal(await findLastEventId(store.read), id)
    t.not(store.version(), before)
  }
})

t.test('what is read while something is written sees nothing of it, and may not write', async t => {
  const store = await openStore(`${t.testdir({})}/reader.sqlite`, systemClock)
  t.teardown(() => store.close())
  const id = '01890000-0000-7000-8000-000000000001'
  const versions = new Set([store.version()])
  const seen: (string | undefined)[] = []
  const written = store.write(async db => {
    await insertRow(db, 'event', event(id))
    seen.push(await findLastEventId(store.read))
    versions.add(store.version())
    seen.push(await findLastEventId(db))
    throw new Error('undone')
  })
  await t.rejects(written, { message: 'undone' })
  t.same(seen, [undefined, id])
  t.equal(await findLastEventId(store.read), undefined)
  await t.rejects(insertRow(store.read as WriteDb, 'event', event(id)), { message: /does not read/ })
  await store.write(async db => {
    await t.rejects(insertRow(store.read as WriteDb, 'event', event(id)), { message: /readonly/ })
    await insertRow(db, 'event', event(id))
  })
  t.equal(await findLastEventId(store.read), id)
  t.notOk(versions.has(store.version()))
})

t.test('what another process commits is seen from the next turn on', async t => {
  const path = `${t.testdir({})}/reader.sqlite`
  const store = await openStore(path, systemClock)
  const other = await openStore(path, systemClock)
  t.teardown(() => Promise.all([store.close(), other.close()]))
  const id = '01890000-0000-7000-8000-000000000001'
  t.equal(await findLastEventId(store.read), undefined)
  const before = store.version()
  await other.write(db => insertRow(db, 'event', event(id)))
  await nextTurn()
  t.equal(await findLastEventId(store.read), id)
  t.not(store.version(), before)
  await other.write(db => deleteEventsBefore(db, '2100-01-01T00:00:00.000Z', 10))
  await nextTurn()
  t.equal(await findLastEventId(store.read), undefined)
})

t.test('a transaction that SQLite ended itself is no fault, and is followed by another', async t => {
  const store = await openStore(`${t.testdir({})}/reader.sqlite`, systemClock)
  t.teardown(() => store.close())
  await findLastEventId(store.read)
  await sql`rollback`.execute(store.read)
  await store.write(db => insertRow(db, 'event', event('01890000-0000-7000-8000-000000000001')))
  t.equal(await findLastEventId(store.read), '01890000-0000-7000-8000-000000000001')
  await sql`rollback`.execute(store.read)
  await nextTurn()
  t.equal(await findLastEventId(store.read), '01890000-0000-7000-8000-000000000001')
})

t.test('a reader that is used all the time does not keep the log from being taken into the file', async t => {
  const dir = t.testdir({})
  const store = await openStore(`${dir}/reader.sqlite`, systemClock)
  t.teardown(() => store.close())
  let isWriting = true
  const reading = (async () => {
    while (isWriting) {
      await findLastEventId(store.read)
      await nextTurn()
    }
  })()
  const text = 'x'.repeat(100_000)
  for (let n = 0; n < 600; n++) {
    const id = `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`
    await store.write(db => insertRow(db, 'event', { ...event(id), payload: text }))
  }
  isWriting = false
  await reading
  const { size } = statSync(`${dir}/reader.sqlite-wal`)
  t.ok(size < 40_000_000, `60 MB were written, and the log is ${size} bytes`)
})
