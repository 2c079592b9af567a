import { createHmac } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import t, { type Test } from 'tap'
import { EventBody } from '../../../lib/model/event-body.ts'
import { LeaseLost } from '../../../lib/queue/lease.ts'
import { createRunner } from '../../../lib/queue/runner.ts'
import { deleteEventsBefore } from '../../../lib/store/events.ts'
import { insertMessageRow, insertThreadRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'
import { startWebhookApp } from '../../support/webhook-app.ts'
import { type Call, startWebhookReceiver } from '../../support/webhook-receiver.ts'

const retry = (...waits: string[]) => `[webhook]\nretry = ${JSON.stringify(waits)}`

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
const isEventBody = ajv.compile(EventBody)

/** As receivers do it, with both libraries and by hand. */
function verify(t: Test, { headers, body }: Call, secret: string): void {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  t.ok(new StandardWebhook(secret).verify(body, plain))
  t.ok(new SvixWebhook(secret).verify(body, plain))
  const signed = `${headers['x-timestamp']}.${body}`
  t.equal(headers['x-signature'], createHmac('sha256', secret).update(signed).digest('hex'))
  t.equal(headers['x-event-id'], headers['webhook-id'])
}

t.test('who has lost the lease by the call does not make it', async t => {
  const receiver = await startWebhookReceiver(t)
  const { inbox, record, claim, webhooks } = await startWebhookApp(t)
  const { id } = await inbox(receiver.url)
  await record(id)
  const [entry] = await claim()
  await t.rejects(webhooks.tell({ ...entry!, leasedBy: 'another.1' }), LeaseLost)
  t.equal(receiver.calls.length, 0)
  await webhooks.tell(entry!)
  t.equal(receiver.calls.length, 1)
})

t.test('an event is told once, signed in both forms, and logged', async t => {
  const receiver = await startWebhookReceiver(t, () => ({ status: 202, body: 'thanks\u0000' }))
  const { inbox, record, tellDue, log, app, faults } = await startWebhookApp(t)
  const { id, podId, webhookSecret } = await inbox(receiver.url)
  const message = await app.store.write(async db => {
    const thread = await insertThreadRow(db, id)
    return insertMessageRow(db, thread, { headerTo: 'ann@ours.example, team@ours.example' })
  })
  const event = await record(id, 'message.received', message.id)
  await tellDue()
  await tellDue()
  t.equal(receiver.calls.length, 1)
  const [call] = receiver.calls
  verify(t, call!, webhookSecret)
  t.equal(call!.headers['webhook-id'], event)
  t.equal(call!.headers['content-type'], 'application/json')
  t.ok(isEventBody(call!.json), JSON.stringify(isEventBody.errors))
  t.match(call!.json, {
    event: 'message.received',
    event_id: event,
    attempt: 1,
    pod_id: podId,
    inbox_id: id,
    message: {
      id: message.id,
      to: 'ann@example.com',
      header_to: ['ann@ours.example', 'team@ours.example'],
      body_text: 'Hello',
    },
  })
  t.match(await log(event), [
    {
      state: 'delivered',
      attempts: 1,
      status: 202,
      error: null,
      nextAttemptAt: null,
      log: [{ status: 202, url: receiver.url }],
    },
  ])
  t.strictSame(await app.store.read.selectFrom('queueEntry').selectAll().execute(), [])
  t.strictSame(faults, [])
})

t.test('what fails is tried again by the schedule, and then failed for good', async t => {
  const receiver = await startWebhookReceiver(t, () => ({ status: 500, body: 'no' }))
  const { inbox, record, tellDue, log, clock } = await startWebhookApp(t, { toml: retry('10s', '100s') })
  const event = await record((await inbox(receiver.url)).id)
  for (const [attempt, waitMs] of [
    [1, 10_000],
    [2, 100_000],
  ] as const) {
    await tellDue()
    t.equal(receiver.calls.length, attempt)
    const [row] = await log(event)
    t.match(row, { state: 'deferred', attempts: attempt, status: 500, error: /500/ })
    const inMs = Date.parse(row.nextAttemptAt) - Date.parse(row.updatedAt)
    t.ok(inMs >= waitMs * 0.9 - 5 && inMs <= waitMs * 1.1 + 5, `${inMs} ms`)
    clock.advance(waitMs * 0.89)
    await tellDue()
    t.equal(receiver.calls.length, attempt, 'not before its time')
    clock.advance(waitMs * 0.22)
  }
  await tellDue()
  clock.advance(86_400_000)
  await tellDue()
  t.strictSame(
    receiver.calls.map(call => [call.json.attempt, call.json.event_id]),
    [1, 2, 3].map(attempt => [attempt, event]),
  )
  t.equal(new Set(receiver.calls.map(call => call.headers['webhook-id'])).size, 1)
  const [row] = await log(event)
  t.match(row, { state: 'failed', attempts: 3, nextAttemptAt: null })
  t.match(row.log, [{ answer: 'no' }, { answer: 'no' }, { answer: 'no' }])
})

t.test('Retry-After makes the wait longer, never shorter; 410 ends it', async t => {
  const replies = [
    { status: 503, headers: { 'retry-after': '1000' } },
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 503, headers: { 'retry-after': '999999' } },
    { status: 410 },
  ]
  const receiver = await startWebhookReceiver(t, (_call, number) => replies[number - 1]!)
  const { inbox, record, tellDue, log, clock } = await startWebhookApp(t, {
    toml: retry('10s', '50s', '10s', '10s', '10s'),
  })
  const event = await record((await inbox(receiver.url)).id)
  for (const waitMs of [1_000_000, 50_000, 3_600_000]) {
    await tellDue()
    const [row] = await log(event)
    const inMs = Date.parse(row.nextAttemptAt) - Date.parse(row.updatedAt)
    t.ok(inMs >= waitMs * 0.89 && inMs <= waitMs * 1.11, `${inMs} ms, not ${waitMs}`)
    clock.advance(inMs + 1000)
  }
  await tellDue()
  t.match(await log(event), [
    { state: 'failed', attempts: 4, status: 410, error: /gone/, nextAttemptAt: null },
  ])
  clock.advance(86_400_000)
  await tellDue()
  t.equal(receiver.calls.length, 4)
})

t.test('each attempt goes to the URL that there is then, with its secret', async t => {
  const first = await startWebhookReceiver(t, () => ({ status: 500 }))
  const second = await startWebhookReceiver(t, () => ({ status: 500 }))
  const { inbox, record, tellDue, log, clock, api } = await startWebhookApp(t)
  const { id, webhookSecret } = await inbox(first.url)
  const event = await record(id)
  await tellDue()
  t.equal((await api.patch(`/v1/inboxes/${id}`, { webhookUrl: second.url })).status, 200)
  clock.advance(10_000)
  await tellDue()
  verify(t, second.calls[0]!, webhookSecret)
  const rotated = (await api.post(`/v1/inboxes/${id}/webhook/rotate-secret`)).body.webhookSecret
  clock.advance(60_000)
  await tellDue()
  verify(t, second.calls[1]!, rotated)
  t.throws(() =>
    new StandardWebhook(webhookSecret).verify(second.calls[1]!.body, second.calls[1]!.headers as never),
  )
  t.match((await log(event))[0].log, [{ url: first.url }, { url: second.url }, { url: second.url }])
  await api.patch(`/v1/inboxes/${id}`, { webhookUrl: null })
  clock.advance(600_000)
  await tellDue()
  t.match(await log(event), [{ state: 'cancelled', attempts: 3, error: /no webhook/, nextAttemptAt: null }])
  t.strictSame([first.calls.length, second.calls.length], [1, 2])
})

t.test('what is deleted between the event and the call', async t => {
  const receiver = await startWebhookReceiver(t)
  const { inbox, record, tellDue, log, api, app, faults } = await startWebhookApp(t)
  const made = await Promise.all([inbox(receiver.url), inbox(receiver.url)])
  const messages = await app.store.write(async db => {
    const rows = []
    for (const { id } of made) rows.push(await insertMessageRow(db, await insertThreadRow(db, id)))
    return rows
  })
  const [kept, gone] = [
    await record(made[0].id, 'message.received', messages[0]!.id),
    await record(made[1].id, 'message.received', messages[1]!.id),
  ]
  t.equal((await api.delete(`/v1/messages/${messages[0]!.id}`)).status, 204)
  t.equal((await api.delete(`/v1/inboxes/${made[1].id}`)).status, 204)
  await tellDue()
  t.strictSame(receiver.ids(), [kept])
  t.equal(receiver.calls[0]!.json.message, null)
  t.match(await log(kept), [{ state: 'delivered' }])
  t.match(await log(gone), [{ state: 'cancelled', attempts: 0 }])
  t.strictSame(faults, [])
})

t.test('the text of a large message is cut to fit, between characters', async t => {
  const receiver = await startWebhookReceiver(t)
  const { inbox, record, tellDue, app } = await startWebhookApp(t)
  const { id, webhookSecret } = await inbox(receiver.url)
  const message = await app.store.write(async db =>
    insertMessageRow(db, await insertThreadRow(db, id), { bodyText: '🙂é\n'.repeat(200_000) }),
  )
  await record(id, 'message.received', message.id)
  await tellDue()
  const [call] = receiver.calls
  verify(t, call!, webhookSecret)
  t.ok(Buffer.byteLength(call!.body) <= 1024 * 1024)
  t.ok(Buffer.byteLength(call!.body) > 400 * 1024, 'and no more than needed')
  t.equal(call!.json.message.truncated, true)
  t.ok(call!.json.message.body_text.isWellFormed())
  t.notMatch(call!.json.message.body_text, '\uFFFD')
})

t.test("an inbox's webhook is called in the account's place", async t => {
  const own = await startWebhookReceiver(t)
  const common = await startWebhookReceiver(t)
  const { inbox, record, tellDue, api } = await startWebhookApp(t)
  const { secret } = (await api.call('PUT', '/v1/webhook', { url: common.url })).body
  const [one, other] = [await inbox(own.url), await inbox(null)]
  const [a, b] = [await record(one.id), await record(other.id)]
  await tellDue()
  t.strictSame(own.ids(), [a])
  t.strictSame(common.ids(), [b])
  verify(t, common.calls[0]!, secret)
  await record(other.id)
  await api.delete('/v1/webhook')
  await tellDue()
  t.equal(common.calls.length, 1)
})

t.test('with events.prefer_websocket, what a stream takes is not told', async t => {
  const receiver = await startWebhookReceiver(t)
  const { inbox, record, tellDue, log, app, api } = await startWebhookApp(t, {
    toml: '[events]\nprefer_websocket = true',
  })
  const [read, unread] = [await inbox(receiver.url), await inbox(receiver.url)]
  const leave = app.readers.add(event => event.inboxId === read.id)
  const [taken, told] = [await record(read.id), await record(unread.id)]
  await tellDue()
  t.strictSame(receiver.ids(), [told])
  t.match(await log(taken), [{ state: 'cancelled', attempts: 0, error: 'told over the stream' }])
  t.equal((await api.post(`/v1/events/${taken}/redeliver`)).status, 200)
  await tellDue()
  t.strictSame(receiver.ids(), [told, taken], 'what was asked for is told')
  leave()
  const later = await record(read.id)
  await tellDue()
  t.strictSame(receiver.ids(), [told, taken, later])
})

t.test('first attempts begin in the order of the events, and one that fails holds nothing back', async t => {
  const failing = new Set<string>()
  const receiver = await startWebhookReceiver(t, call => ({
    status: failing.has(call.json.event_id) ? 500 : 200,
  }))
  const { inbox, record, tellDue, claim, webhooks, clock, log } = await startWebhookApp(t)
  const { id } = await inbox(receiver.url)
  const events: string[] = []
  for (let n = 0; n < 12; n++) events.push(await record(id))
  failing.add(events[0]!)
  const claimed = await claim()
  t.equal(claimed.length, 12)
  await Promise.all(claimed.toReversed().map(webhooks.tell))
  t.strictSame(receiver.ids(), events)
  failing.clear()
  clock.advance(6_000)
  await tellDue()
  t.strictSame(receiver.ids(), [...events, events[0]])
  t.match(await log(events[0]!), [{ state: 'delivered', attempts: 2 }])
})

t.test('a dead webhook delays no other', async t => {
  const dead = await startWebhookReceiver(t, () => new Promise(() => {}))
  const live = await startWebhookReceiver(t)
  const { inbox, record, app, webhooks, claim } = await startWebhookApp(t, {
    toml: '[webhook]\ntimeout = "1s"\nconcurrency = 4\nconcurrency_per_endpoint = 3',
  })
  const [a, b] = [await inbox(dead.url), await inbox(live.url)]
  for (let n = 0; n < 3; n++) await record(a.id)
  // Three that fail, one after the other being given up.
  await Promise.all((await claim()).map(webhooks.tell))
  t.equal(webhooks.concurrencyOf(dead.url), 1)
  t.equal(webhooks.concurrencyOf(live.url), 3)
  for (let n = 0; n < 30; n++) await record(a.id)
  const told: string[] = []
  for (let n = 0; n < 30; n++) told.push(await record(b.id))
  const runner = createRunner({
    queue: app.queue,
    kind: 'webhook',
    scheduler: app.queue.scheduler({
      kind: 'webhook',
      concurrency: 4,
      allowanceOf: url => ({ concurrency: webhooks.concurrencyOf(url), perMinute: 0 }),
    }),
    perform: webhooks.tell,
    log: app.log,
  })
  const before = dead.calls.length
  runner.start()
  await until('all of the live one', () => live.calls.length === 30)
  t.strictSame(live.ids(), told)
  t.ok(dead.calls.length - before < 30, `${dead.calls.length - before} of the dead one meanwhile`)
  webhooks.stop()
  await runner.stop()
})

t.test('a stop breaks calls off, and they are made again', async t => {
  const held = await startWebhookReceiver(t, () => new Promise(() => {}))
  const { inbox, record, webhooks, claim, log } = await startWebhookApp(t)
  const event = await record((await inbox(held.url)).id)
  const telling = Promise.all((await claim()).map(webhooks.tell))
  await until('the call', () => held.calls.length === 1)
  webhooks.stop()
  await telling
  t.match(await log(event), [{ state: 'queued', attempts: 0, log: [] }])
  t.match(await claim(), [{ attempts: 2 }], 'due at once')
})

t.test('events that go take their deliveries, their log and what is queued of them along', async t => {
  const receiver = await startWebhookReceiver(t, () => ({ status: 500 }))
  const { inbox, record, tellDue, claim, webhooks, clock, app, faults } = await startWebhookApp(t)
  const { id } = await inbox(receiver.url)
  await record(id)
  await tellDue()
  await record(id)
  const leased = await claim()
  clock.advance(1000)
  const kept = await record(id)
  const before = (await app.store.read.selectFrom('event').selectAll().where('id', '=', kept).execute())[0]!
    .createdAt
  t.equal(await app.store.write(db => deleteEventsBefore(db, before, 100)), 2)
  await Promise.all(leased.map(webhooks.tell))
  const rows = async (table: 'webhookDelivery' | 'webhookAttempt' | 'queueEntry' | 'event') =>
    (await app.store.read.selectFrom(table).select('id').execute()).length
  t.strictSame(
    await Promise.all((['event', 'webhookDelivery', 'webhookAttempt', 'queueEntry'] as const).map(rows)),
    [1, 1, 0, 1],
  )
  t.equal(receiver.calls.length, 1)
  t.strictSame(faults, [])
})

t.test(
  'what is asked for again while it is told is told twice, and its log is that of the new one',
  async t => {
    let answer = () => {}
    const receiver = await startWebhookReceiver(t, async (_call, number) => {
      if (number === 1)
        await new Promise<void>(resolve => {
          answer = resolve
        })
      return { status: 200 }
    })
    const { inbox, record, webhooks, claim, tellDue, log, api, faults } = await startWebhookApp(t)
    const event = await record((await inbox(receiver.url)).id)
    const telling = Promise.all((await claim()).map(webhooks.tell))
    await until('the call', () => receiver.calls.length === 1)
    const { deliveryId } = (await api.post(`/v1/events/${event}/redeliver`)).body
    answer()
    await telling
    await tellDue()
    t.match(await log(event), [
      { state: 'cancelled', attempts: 0, error: 'asked for again', log: [] },
      { id: deliveryId, state: 'delivered', attempts: 1 },
    ])
    t.strictSame(receiver.ids(), [event, event])
    t.strictSame(faults, [])
  },
)
