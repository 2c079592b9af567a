import t from 'tap'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import type { WaitAnswer, Waiter } from '../../../lib/core/app/waiters.ts'
import { listInboxMessages } from '../../../lib/core/mailbox/messages.ts'
import { waitForMessages } from '../../../lib/core/mailbox/wait.ts'
import {
  createWaiters,
  streamPollMs,
  waitersAtOnce,
  waitersTurnBytes,
  waitPollMs,
  waitsPerKey,
} from '../../../lib/core/mailbox/waiters.ts'
import { pageSizeMax } from '../../../lib/model/page.ts'
import { revokeApiKey } from '../../../lib/store/api-keys.ts'
import { notice } from '../../../lib/store/dialect/notices.ts'
import { startApi } from '../../support/api-app.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { insertMessageRow, insertThreadRow, insertUnindexedRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'

const forever = new AbortController().signal

/** An App whose readings of the database are counted. */
function counting(app: App) {
  let reads = 0
  const store = Object.create(app.store, {
    read: {
      get() {
        reads++
        return app.store.read
      },
    },
  })
  const counted: App = Object.create(app, { store: { value: store } })
  return { app: counted, reads: () => reads }
}

t.test('an arrival is looked at once, however many wait for it', async t => {
  const server = await startApi(t)
  const { id: inboxId } = (await server.api.post('/v1/inboxes', {})).body
  const thread = await server.app.store.write(db => insertThreadRow(db, inboxId))
  const receive = (subject: string) =>
    server.app.store.write(async db => {
      await insertMessageRow(db, thread, { direction: 'inbound', subject })
      notice(db, 'mail', inboxId)
    })
  await receive('before')

  const readsFor = async (count: number) => {
    const { app, reads } = counting(server.app)
    const waiters = createWaiters(app)
    const all: Waiter[] = []
    const ask = (takes: (message: { subject: string }) => boolean) =>
      all.push(waiters.wait({ caller: operator, inboxId, takes, signal: forever }))
    for (let index = 0; index < count; index++) ask(({ subject }) => subject !== 'other')
    await Promise.all(all.map(waiter => waiter.ready))
    const before = reads()
    const answers: Promise<WaitAnswer>[] = all.map(waiter => waiter.arrived(60_000))
    await receive('other')
    await receive('new')
    const { result, turns } = await turnsDuring(() => Promise.all(answers))
    for (const waiter of all) waiter.end()
    t.equal(waiters.count(), 0)
    return { reads: reads() - before, result, turns }
  }
  const few = await readsFor(1)
  const many = await readsFor(waitsPerKey)
  t.equal(many.reads, few.reads)
  t.ok(many.turns >= waitsPerKey / waitersAtOnce - 1, 'they are answered in slices')
  t.equal(new Set(many.result).size, 1, 'with one answer')
  t.strictSame(
    many.result[0]!.data.map(message => message.subject),
    ['new'],
  )
})

t.test('many who wait for much text are answered in several turns, and for little in one', async t => {
  const { app, api } = await startApi(t)
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const thread = await app.store.write(db => insertThreadRow(db, inboxId))
  let turn = 0
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  // Of what is longer the beginning is shown.
  const half = waitersTurnBytes / 2
  const whole = 'x'.repeat(half)
  for (const [bodyText, bodyHtml, turns] of [
    ['', '', 1],
    [whole, '', 3],
    ['', whole, 3],
    [whole.slice(half / 2), whole.slice(half / 2), 3],
  ] as const) {
    const all = Array.from({ length: 6 }, () =>
      app.waiters.wait({ caller: operator, inboxId, takes: () => true, signal: forever }),
    )
    await Promise.all(all.map(waiter => waiter.ready))
    const answered = all.map(waiter => waiter.arrived(60_000).then(() => turn))
    await app.store.write(async db => {
      await insertMessageRow(db, thread, { direction: 'inbound', bodyText, bodyHtml })
      notice(db, 'mail', inboxId)
    })
    const seen = new Set(await Promise.all(answered))
    t.equal(seen.size, turns, `${bodyText.length} and ${bodyHtml.length} characters`)
    for (const waiter of all) waiter.end()
  }
})

t.test('what another process received and revoked is seen', async t => {
  const { app, api } = await startApi(t)
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const key = (await api.post(`/v1/inboxes/${inboxId}/api-keys`, {})).body
  const thread = await app.store.write(db => insertThreadRow(db, inboxId))
  const found = waitForMessages(app, operator, inboxId, {}, 300_000, forever)
  await until('it waits', () => app.waiters.count() === 1)
  // Nobody tells.
  await app.store.write(db => insertMessageRow(db, thread, { direction: 'inbound', subject: 's' }))
  t.equal((await found).data[0]!.subject, 's')

  const caller = { ...operator, keyId: key.id as string }
  const revoked = waitForMessages(app, caller, inboxId, {}, 300_000, forever)
  await until('it waits', () => app.waiters.count() === 1)
  await app.store.write(db => revokeApiKey(db, key.id, app.clock.now().toISOString()))
  await t.rejects(revoked, { code: 'unauthorized' })

  const second = (await api.post(`/v1/inboxes/${inboxId}/api-keys`, {})).body
  const before = waitForMessages(app, { ...operator, keyId: second.id }, inboxId, {}, 300_000, forever)
  await until('it waits', () => app.waiters.count() === 1)
  await app.store.write(async db => {
    await revokeApiKey(db, second.id, app.clock.now().toISOString())
    await insertMessageRow(db, thread, { direction: 'inbound', subject: 'secret' })
    // Of the mail alone.
    notice(db, 'mail', inboxId)
  })
  await t.rejects(before, { code: 'unauthorized' }, 'mail that comes before that is seen is not told')
})

t.test('an old message that moves up among the newest is not new', async t => {
  const { app, api } = await startApi(t, { breaks: ['inbound', 'reading', 'search'] })
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const thread = await app.store.write(db => insertThreadRow(db, inboxId))
  const ids: string[] = []
  await app.store.write(async db => {
    for (let count = 0; count <= pageSizeMax; count++) {
      ids.push((await insertMessageRow(db, thread, { direction: 'inbound', subject: 'old' })).id)
    }
  })
  const waiter = app.waiters.wait({ caller: operator, inboxId, takes: () => true, signal: forever })
  await waiter.ready
  const arrived = waiter.arrived(60_000)
  await app.store.write(async db => {
    await db.deleteFrom('message').where('id', '=', ids.at(-1)!).execute()
    notice(db, 'mail', inboxId)
  })
  await app.store.write(async db => {
    await insertMessageRow(db, thread, { direction: 'inbound', subject: 'new' })
    notice(db, 'mail', inboxId)
  })
  const { data } = await arrived
  waiter.end()
  t.strictSame(
    data.map(message => message.subject),
    ['new'],
  )
})

t.test('who goes on after the first of an answer is told of all, the oldest first', async t => {
  const { app, api } = await startApi(t, { breaks: ['inbound', 'reading', 'search', 'counts'] })
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const thread = await app.store.write(db => insertThreadRow(db, inboxId))
  const count = 2 * pageSizeMax + 50
  const dateOf = (index: number) => new Date(Date.UTC(2026, 0, 2) + index).toISOString()
  const row = (index: number) => ({
    direction: 'inbound',
    subject: `code ${index}`,
    createdAt: dateOf(index),
  })
  const told = async (filter: { subject?: string }) => {
    const subjects: string[] = []
    for (let after = dateOf(-1); subjects.length < count; ) {
      const { data } = await waitForMessages(app, operator, inboxId, { after, ...filter }, 0, forever)
      if (data.length === 0) break
      after = data[0]!.createdAt
      subjects.push(...data.map(({ subject }) => subject).reverse())
    }
    return subjects
  }
  const all = Array.from({ length: count }, (_, index) => `code ${index}`)
  await app.store.write(async db => {
    // The search knows every second one, as it does for a while after rows were moved.
    for (let index = 0; index < count; index++) {
      await (index % 2 === 0 ? insertMessageRow : insertUnindexedRow)(db, thread, row(index))
    }
  })
  t.strictSame(await told({}), all)
  t.strictSame(await told({ subject: 'code' }), all)

  const places = [true, false].map(isOther =>
    app.waiters.wait({
      caller: operator,
      inboxId,
      takes: ({ createdAt }) => !isOther || createdAt === dateOf(2 * count - 1),
      signal: forever,
    }),
  )
  const arrived = Promise.all(places.map(place => place.arrived(60_000)))
  await Promise.all(places.map(({ ready }) => ready))
  await app.store.write(async db => {
    for (let index = count; index < 2 * count; index++) await insertUnindexedRow(db, thread, row(index))
    notice(db, 'mail', inboxId)
  })
  const [late, early] = await arrived
  t.strictSame(
    early!.data.map(({ subject }) => subject).reverse(),
    Array.from({ length: pageSizeMax }, (_, index) => `code ${count + index}`),
  )
  t.match(late!.data, [{ subject: `code ${2 * count - 1}` }], 'a page further on is looked at, too')
})

t.test('what could not be told is told later', async t => {
  const server = await startApi(t)
  const { id: inboxId } = (await server.api.post('/v1/inboxes', {})).body
  const thread = await server.app.store.write(db => insertThreadRow(db, inboxId))
  let left = Number.POSITIVE_INFINITY
  const store = Object.create(server.app.store, {
    read: {
      get() {
        if (left-- <= 0) throw new Error('the database is away')
        return server.app.store.read
      },
    },
  })
  const faults: string[] = []
  const log = { error: (_: unknown, text: string) => faults.push(text) }
  const app: App = Object.create(server.app, { store: { value: store }, log: { value: log } })
  const ticks: (() => void)[] = []
  t.intercept(globalThis, 'setInterval', { value: (tick: () => void) => ticks.push(tick) })
  const waiters = createWaiters(app)
  const waiter = waiters.wait({ caller: operator, inboxId, takes: () => true, signal: forever })
  t.equal(ticks.length, 1)
  await waiter.ready
  const arrived = waiter.arrived(60_000)
  const insert = { direction: 'inbound', subject: 'first' } as const
  const lookNow = () => {
    for (let tick = 0; tick < waitPollMs / streamPollMs; tick++) ticks[0]!()
  }
  // That it is there is seen, and what it is can not be read; then not even that it is there.
  left = 1
  await server.app.store.write(async db => {
    await insertMessageRow(db, thread, insert)
    notice(db, 'mail', inboxId)
  })
  await until('it fails', () => faults.length === 1)
  left = 0
  await until('it fails again', () => {
    lookNow()
    return faults.length > 1
  })
  left = Number.POSITIVE_INFINITY
  await until('the look has ended', async () => {
    lookNow()
    return (await Promise.race([arrived, undefined])) !== undefined
  })
  t.match((await arrived).data, [insert], 'nothing was committed meanwhile')
  waiter.end()
  t.equal(waiters.count(), 0)
})

t.test('the filter finds what a search finds', async t => {
  const { app, api } = await startApi(t)
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const thread = await app.store.write(db => insertThreadRow(db, inboxId))
  const messages = [
    { subject: 'Your verification code', fromAddr: 'no-reply@a.example', addressNames: null },
    {
      subject: 'Ré: Invoice №5 (paid)',
      fromAddr: 'bob@b.example',
      addressNames: '{"bob@b.example":"Bob Ross"}',
    },
    { subject: '東京都のお知らせ', fromAddr: 'x+y@c.example', addressNames: '{"x+y@c.example":"東京"}' },
    { subject: '', fromAddr: 'nobody@d.example', addressNames: null },
  ]
  const froms = [
    'a.example',
    'bob ross',
    'BOB',
    'ross bob',
    '@b.example',
    'reply',
    '東',
    '東京',
    '"',
    'bo',
    ' ',
  ]
  const subjects = [
    'code',
    '"verification code"',
    'code verification',
    '"code verification"',
    '-code',
    'invoice -paid',
    're invoice',
    '京都',
    '都',
    'お知',
    '!!',
    '',
  ]
  const filters = [
    ...froms.map(from => ({ from })),
    ...subjects.map(subject => ({ subject })),
    ...froms.flatMap(from => subjects.slice(0, 5).map(subject => ({ from, subject }))),
  ]
  for (const message of messages) {
    const stop = new AbortController()
    const told = new Map<number, string[]>()
    const all = filters.map((filter, index) =>
      waitForMessages(app, operator, inboxId, filter, 300_000, stop.signal)
        .then(({ data }) =>
          told.set(
            index,
            data.map(one => one.id),
          ),
        )
        .catch(() => {}),
    )
    await until('they wait', () => app.waiters.count() === filters.length)
    const { id } = await app.store.write(db => {
      notice(db, 'mail', inboxId)
      return insertMessageRow(db, thread, { direction: 'inbound', ...message })
    })
    await until('all of it', () => told.has(filters.findIndex(one => 'subject' in one && one.subject === '')))
    stop.abort(new Error('enough'))
    await Promise.all(all)
    for (const [index, filter] of filters.entries()) {
      const search = { ...filter, direction: 'inbound' } as const
      const { rows } = await listInboxMessages(app, operator, inboxId, search, { limit: 100, offset: 0 })
      const isFound = rows.some(one => one.id === id)
      t.equal(told.has(index), isFound, `${JSON.stringify(filter)} of ${message.subject}`)
    }
  }
})
