import { createServer } from 'node:http'
import t from 'tap'
import { startSpecified } from '../support/specified.ts'
import { until } from '../support/until.ts'
import { type Reply, startWebhookReceiver } from '../support/webhook-receiver.ts'

/** What each path of the receiver answers, call by call; the last one from then on. */
const answers = new Map<string, Reply[]>()
const receiver = await startWebhookReceiver(t, call => {
  const list = answers.get(call.path) ?? [{ status: 200 }]
  return list.length > 1 ? list.shift()! : list[0]!
})
const it = await startSpecified(t, {
  toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]\nretry = ["10ms", "10ms"]\ntimeout = "2s"\n',
})
const { api } = it
const base = new URL(receiver.url).origin

const inboxAt = (path: string, list: Reply[] = [{ status: 200 }]) => {
  answers.set(path, list)
  return it.inbox({ webhookUrl: `${base}${path}` })
}
const callsAt = (path: string) => receiver.calls.filter(call => call.path === path)
const calls = (path: string, count: number) =>
  until(`${count} calls of ${path}`, () => (callsAt(path).length >= count ? callsAt(path) : undefined))
const deliveryOf = (eventId: string, state?: string) =>
  until(`the delivery ${state ?? ''}`, async () => {
    const { data } = (await api.get(`/v1/events/${eventId}/deliveries`)).body
    return data.find((one: { state: string }) => state === undefined || one.state === state)
  })
const eventOf = (inboxId: string) =>
  until(
    'the event',
    async () => (await api.get(`/v1/events?inboxId=${inboxId}&type=message.received`)).body.data[0],
  )

t.test('when a call is tried again', async t => {
  const well = await inboxAt('/well', [{ status: 299 }])
  await it.arrive(well.id, { to: well.address })
  t.match(
    await deliveryOf((await eventOf(well.id)).event_id, 'delivered'),
    { attempts: 1, status: 299 },
    'Success is any 2xx',
  )

  const late = await inboxAt('/late', [{ status: 500 }, { status: 404 }, { status: 200 }])
  await it.arrive(late.id, { to: late.address })
  const tried = await calls('/late', 3)
  t.strictSame(
    tried.map(call => call.json.attempt),
    [1, 2, 3],
    'attempt',
  )
  t.equal(new Set(tried.map(call => call.json.event_id)).size, 1, '`event_id` stays the same')
  t.equal(new Set(tried.map(call => call.headers['webhook-id'])).size, 1, '`webhook-id`')
  t.match(await deliveryOf(tried[0]!.json.event_id, 'delivered'), { attempts: 3 })

  const moved = await inboxAt('/moved', [{ status: 302, headers: { location: `${base}/elsewhere` } }])
  await it.arrive(moved.id, { to: moved.address })
  t.match(
    await deliveryOf((await eventOf(moved.id)).event_id, 'failed'),
    { attempts: 3, status: 302 },
    'A redirect is a failure; exhausted: state `failed`',
  )
  t.strictSame(callsAt('/elsewhere'), [], '… and is not followed')

  const gone = await inboxAt('/gone', [{ status: 410 }])
  await it.arrive(gone.id, { to: gone.address })
  t.match(
    await deliveryOf((await eventOf(gone.id)).event_id, 'failed'),
    { attempts: 1, status: 410 },
    "410 stops that event's retries",
  )
  answers.set('/gone', [{ status: 200 }])
  await it.arrive(gone.id, { to: gone.address, text: 'Another' })
  t.match(
    (await calls('/gone', 2))[1]!.json,
    { message: { body_text: /Another/ } },
    "… that event's, and no other's",
  )

  const busy = await inboxAt('/busy', [{ status: 503, headers: { 'retry-after': '1800' } }])
  await it.arrive(busy.id, { to: busy.address })
  const waiting = await deliveryOf((await eventOf(busy.id)).event_id, 'deferred')
  const waits = Date.parse(waiting.nextAttemptAt) - Date.parse(waiting.updatedAt)
  t.ok(waits >= 1_790_000 && waits <= 1_990_000, `\`Retry-After\` is honoured (${waits})`)
  const lazy = await inboxAt('/lazy', [{ status: 503, headers: { 'retry-after': '86400' } }])
  await it.arrive(lazy.id, { to: lazy.address })
  const asked = await deliveryOf((await eventOf(lazy.id)).event_id, 'deferred')
  t.ok(Date.parse(asked.nextAttemptAt) - Date.parse(asked.updatedAt) <= 3_970_000, '… up to one hour')

  const order = await inboxAt('/order', [{ status: 500 }, { status: 500 }, { status: 500 }, { status: 200 }])
  for (const text of ['first', 'second', 'third']) await it.arrive(order.id, { to: order.address, text })
  await until('all to be told', () =>
    ['first', 'second', 'third'].every(text =>
      callsAt('/order').some(call => call.json.message.body_text.includes(text)),
    ),
  )
  t.strictSame(
    callsAt('/order')
      .filter(call => call.json.attempt === 1)
      .map(call => call.json.message.body_text.trim()),
    ['first', 'second', 'third'],
    'Order per inbox is by occurrence on the first attempt; a failing event does not hold back later ones',
  )
})

t.test('what failed can be told again', async t => {
  const inbox = await inboxAt('/mended', [{ status: 500 }])
  await it.arrive(inbox.id, {
    to: inbox.address,
    headers: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'],
    text: [
      '--b',
      '',
      'See the note',
      '--b',
      'Content-Type: text/plain',
      'Content-Disposition: attachment; filename=note.txt',
      '',
      'A note',
      '--b--',
    ].join('\r\n'),
  })
  const { event_id } = await eventOf(inbox.id)
  t.match(await deliveryOf(event_id, 'failed'), { attempts: 3 }, 'Exhausted: state `failed`')
  t.equal(callsAt('/mended').length, 3, 'Attempts: at once, then after each wait of `webhook.retry`')
  const urls = callsAt('/mended').map(call => call.json.message.attachments[0].url)
  for (const url of urls) t.equal((await fetch(url)).status, 200, 'attachments: url')
  answers.set('/mended', [{ status: 200 }])
  t.match(
    await api.post(`/v1/events/${event_id}/redeliver`),
    { status: 200 },
    'kept and replayable: `POST /v1/events/{id}/redeliver`',
  )
  const again = (await calls('/mended', 4))[3]!
  t.equal(again.json.event_id, event_id)
  await deliveryOf(event_id, 'delivered')
})

t.test('what is too large', async t => {
  const inbox = await inboxAt('/large')
  const html = `<p>${'Many words. '.repeat(60_000)}</p>`
  const text = 'Plain words. '.repeat(40_000)
  const message = await it.arrive(inbox.id, {
    to: inbox.address,
    headers: ['MIME-Version: 1.0', 'Content-Type: multipart/alternative; boundary=b'],
    text: [
      '--b',
      'Content-Type: text/plain',
      '',
      text.replaceAll(/(.{900}) /g, '$1\r\n'),
      '--b',
      'Content-Type: text/html',
      '',
      html.replaceAll(/(.{900}) /g, '$1\r\n'),
      '--b--',
    ].join('\r\n'),
  })
  const [call] = await calls('/large', 1)
  t.ok(Buffer.byteLength(call!.body) <= 1024 * 1024, 'Above 1 MB …')
  t.equal(call!.json.message.truncated, true, '… `truncated: true` is set')
  t.match(call!.json.message.truncated_fields, ['body_html'], '… the HTML is cut first')
  t.match(call!.json.message.body_text, /Plain words\. Plain/, '… then the text')
  const whole = (await api.get(`/v1/messages/${message.id}`)).body
  t.ok(whole.bodyHtml.length > 600_000 && whole.bodyText.length > 400_000, 'the message itself has all')
  const listed = (await api.get(`/v1/events?inboxId=${inbox.id}`)).body.data[0]
  t.equal(listed.message.truncated, true, '`GET /v1/events`: the same object')
})

t.test('a webhook that gives no answer', async t => {
  const silent = createServer(() => {})
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { port } = silent.address() as { port: number }
  const inbox = await it.inbox({ webhookUrl: `http://127.0.0.1:${port}/` })
  t.match(
    await api.post(`/v1/inboxes/${inbox.id}/webhook/test`),
    { status: 502, body: { error: 'webhook_failed' } },
    '502 `webhook_failed`',
  )
  t.match(
    await api.post(`/v1/inboxes/${(await it.inbox()).id}/webhook/test`),
    { status: 400, body: { error: 'no_webhook_url' } },
    '400 `no_webhook_url`',
  )
  const well = await inboxAt('/tested')
  t.match(
    await api.post(`/v1/inboxes/${well.id}/webhook/test`),
    { status: 200, body: { ok: true, message: /./ } },
    '200 `{ok, message}`',
  )
  t.match(callsAt('/tested')[0]!.json, { event: 'webhook.test' })
})

t.test('the webhook of the account', async t => {
  t.match(
    await api.call('PUT', '/v1/webhook', { url: `${base}/account` }),
    { status: 200, body: { url: `${base}/account`, secret: /^whsec_/ } },
    '`GET|PUT|DELETE /v1/webhook` `{url, secret once}`',
  )
  t.strictSame((await api.get('/v1/webhook')).body, { url: `${base}/account` }, 'secret once')
  const plain = await it.inbox()
  const own = await inboxAt('/own')
  await it.arrive(own.id, { to: own.address })
  await it.arrive(plain.id, { to: plain.address })
  await calls('/account', 1)
  await calls('/own', 1)
  t.strictSame(
    callsAt('/account').map(call => call.json.inbox_id),
    [plain.id],
    'overrides the account-level webhook for this inbox only',
  )
  const { body } = await api.post('/v1/webhook/rotate-secret')
  t.match(body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/, 'Secret: `whsec_` + base64 of 32 random bytes')
  t.match(
    (await api.patch(`/v1/inboxes/${own.id}`, { webhookUrl: null })).body,
    { webhookUrl: null },
    'null clears and reverts to the account-level webhook',
  )
  await it.arrive(own.id, { to: own.address })
  t.match((await calls('/account', 2))[1]!.json, { inbox_id: own.id })
  t.equal((await api.delete('/v1/webhook')).status, 204)
})
