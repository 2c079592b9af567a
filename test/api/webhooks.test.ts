import t from 'tap'
import type { Api } from '../support/api.ts'
import { until } from '../support/until.ts'
import { startWebhookApp } from '../support/webhook-app.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const secretForm = /^whsec_[A-Za-z0-9+/]{43}=$/
const url = 'https://hooks.example.net/a'

t.test("an inbox's webhook: its secret is shown when it is made, and never again", async t => {
  const { api, faults } = await startWebhookApp(t)
  const made = await api.post('/v1/inboxes', { webhookUrl: url })
  t.equal(made.status, 201)
  t.equal(made.body.webhookUrl, url)
  t.match(made.body.webhookSecret, secretForm)
  const at = `/v1/inboxes/${made.body.id}`
  const seen = async () => [
    (await api.get(at)).bytes.toString(),
    (await api.get('/v1/inboxes')).bytes.toString(),
    (await api.patch(at, { displayName: 'x' })).bytes.toString(),
    (await api.patch(at, { webhookUrl: `${url}2` })).bytes.toString(),
    (await api.patch(at, { webhookUrl: null })).bytes.toString(),
    (await api.patch(at, { webhookUrl: url })).bytes.toString(),
  ]
  for (const text of await seen()) t.notMatch(text, 'ecret', 'the first URL alone makes one')
  const rotated = await api.post(`${at}/webhook/rotate-secret`)
  t.equal(rotated.status, 200)
  t.match(rotated.body.webhookSecret, secretForm)
  t.not(rotated.body.webhookSecret, made.body.webhookSecret)

  for (const none of [{}, { webhookUrl: '' }, { webhookUrl: null }]) {
    const { body } = await api.post('/v1/inboxes', none)
    t.equal(body.webhookUrl, null)
    t.notOk('webhookSecret' in body)
    const set = await api.patch(`/v1/inboxes/${body.id}`, { webhookUrl: url, displayName: 'both' })
    t.match(set.body, { webhookUrl: url, webhookSecret: secretForm, displayName: 'both' })
    const cleared = await api.patch(`/v1/inboxes/${body.id}`, { webhookUrl: '' })
    t.equal(cleared.body.webhookUrl, null)
    for (const action of ['rotate-secret', 'test']) {
      const answer = await api.post(`/v1/inboxes/${body.id}/webhook/${action}`)
      t.strictSame([answer.status, answer.body.error], [400, 'no_webhook_url'])
    }
  }
  t.strictSame(faults, [])
})

t.test('a URL that will not do is refused, and what is wrong with it is said', async t => {
  const { api } = await startWebhookApp(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const before = (await api.get('/v1/inboxes')).body.total
  for (const [wrong, says] of [
    ['x', /https:\/\//],
    ['ftp://hooks.example.net/', /https:\/\//],
    ['https://user:pass@hooks.example.net/', /user name/],
    ['https://10.0.0.1/', /private network/],
    ['https://169.254.169.254/latest', /link-local/],
    ['https://[::ffff:10.0.0.1]/', /^The webhook URL /],
    [`https://hooks.example.net/${'x'.repeat(2048)}`, /longer than 2048/],
  ] as const) {
    for (const answer of [
      await api.post('/v1/inboxes', { webhookUrl: wrong }),
      await api.patch(`/v1/inboxes/${id}`, { webhookUrl: wrong }),
      await api.call('PUT', '/v1/webhook', { url: wrong }),
    ]) {
      t.strictSame([answer.status, answer.body.error], [422, 'invalid_webhook_url'], wrong.slice(0, 50))
      t.match(answer.body.message, says)
    }
  }
  t.equal((await api.get('/v1/inboxes')).body.total, before)
  t.strictSame((await api.get('/v1/webhook')).body, { url: null })
})

t.test("the webhook is the account's to set", async t => {
  const { api, apiWith } = await startWebhookApp(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  const { id } = (await api.post('/v1/inboxes', { podId: pod, webhookUrl: url })).body
  const foreign = (await api.post('/v1/inboxes', {})).body.id
  for (const webhookUrl of [url, 'nonsense', '', null]) {
    for (const answer of [
      await podApi.patch(`/v1/inboxes/${id}`, { webhookUrl, displayName: 'x' }),
      await podApi.patch(`/v1/inboxes/${foreign}`, { webhookUrl }),
      // Null says nothing in what is made anew.
      ...(webhookUrl === null ? [] : [await podApi.post('/v1/inboxes', { webhookUrl })]),
    ]) {
      t.strictSame([answer.status, answer.body.error], [403, 'forbidden'])
    }
  }
  t.match((await podApi.get(`/v1/inboxes/${id}`)).body, { webhookUrl: url, displayName: null })
  t.equal((await podApi.patch(`/v1/inboxes/${id}`, { displayName: 'x' })).status, 200)
  t.equal((await podApi.patch(`/v1/inboxes/${id}`, { webhookSecret: 'x' })).status, 400)
})

t.test("the account's webhook", async t => {
  const { api } = await startWebhookApp(t)
  const put = (to: string) => api.call('PUT', '/v1/webhook', { url: to })
  t.strictSame((await api.get('/v1/webhook')).body, { url: null })
  t.equal((await api.post('/v1/webhook/rotate-secret')).body.error, 'no_webhook_url')
  const first = (await put(url)).body
  t.match(first, { url, secret: secretForm })
  t.strictSame((await put(`${url}2`)).body, { url: `${url}2` })
  t.strictSame((await api.get('/v1/webhook')).body, { url: `${url}2` })
  const rotated = (await api.post('/v1/webhook/rotate-secret')).body
  t.match(rotated, { url: `${url}2`, secret: secretForm })
  t.not(rotated.secret, first.secret)
  t.equal((await api.delete('/v1/webhook')).status, 204)
  t.equal((await api.delete('/v1/webhook')).status, 204)
  t.strictSame((await api.get('/v1/webhook')).body, { url: null })
  const again = (await put(url)).body
  t.match(again, { secret: secretForm })
  t.not(again.secret, rotated.secret)
})

t.test('the test of a webhook is a real call, at once and once', async t => {
  let status = 200
  const receiver = await startWebhookReceiver(t, () => ({ status, body: 'said' }))
  const { api, inbox, claim, faults } = await startWebhookApp(t)
  const { id } = await inbox(receiver.url)
  const good = await api.post(`/v1/inboxes/${id}/webhook/test`)
  t.strictSame([good.status, good.body.ok], [200, true])
  t.match(good.body.message, /200/)
  t.match(receiver.calls[0]!.json, { event: 'webhook.test', inbox_id: id, attempt: 1, message: null })
  status = 500
  const bad = await api.post(`/v1/inboxes/${id}/webhook/test`)
  t.strictSame([bad.status, bad.body.error], [502, 'webhook_failed'])
  t.match(bad.body.message, /500/)
  t.strictSame(await claim(), [], 'it is not tried again')
  const events = (await api.get(`/v1/events?type=webhook.test&inboxId=${id}`)).body.data
  t.strictSame(
    events.map((event: { event_id: string }) => event.event_id),
    receiver.ids(),
  )
  const logs = await Promise.all(
    receiver.ids().map(async event => (await api.get(`/v1/events/${event}/deliveries`)).body.data),
  )
  t.match(logs, [
    [{ inboxId: id, url: receiver.url, state: 'delivered', attempts: 1, status: 200, nextAttemptAt: null }],
    [{ state: 'failed', log: [{ status: 500, answer: 'said', url: receiver.url, error: /500/ }] }],
  ])
  await api.patch(`/v1/inboxes/${id}`, { webhookUrl: 'http://127.0.0.1:1/' })
  const closed = await api.post(`/v1/inboxes/${id}/webhook/test`)
  t.equal(closed.body.error, 'webhook_failed')
  t.strictSame(faults, [])
})

t.test('a stop does not wait for the test of a webhook', async t => {
  const receiver = await startWebhookReceiver(t, () => new Promise(() => {}))
  const { api, inbox, door, faults, log } = await startWebhookApp(t)
  const { id } = await inbox(receiver.url)
  const answer = api.post(`/v1/inboxes/${id}/webhook/test`)
  await until('the call', () => receiver.calls.length === 1)
  await door.stop()
  const { status, body } = await answer
  t.strictSame([status, body.error], [503, 'unavailable'])
  t.match(await log(receiver.ids()[0]!), [{ state: 'failed', attempts: 1, status: null }])
  t.strictSame(faults, [])
})

t.test('the log of an event, and telling it again', async t => {
  const receiver = await startWebhookReceiver(t)
  const common = await startWebhookReceiver(t)
  const { api, apiWith, inbox, record, tellDue, app, log, faults } = await startWebhookApp(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const keyOf = async (path: string) => apiWith((await api.post(`${path}/api-keys`, {})).body.token)
  const own = (await api.post('/v1/inboxes', { podId: pod, webhookUrl: receiver.url })).body
  const plain = (await api.post('/v1/inboxes', { podId: pod })).body
  const secret = (await api.call('PUT', '/v1/webhook', { url: common.url })).body.secret
  const [podKey, inboxKey, foreignKey] = [
    await keyOf(`/v1/pods/${pod}`),
    await keyOf(`/v1/inboxes/${own.id}`),
    await keyOf(`/v1/inboxes/${(await inbox(null)).id}`),
  ]
  const [a, b] = [await record(own.id), await record(plain.id)]
  await tellDue()
  const at = (event: string) => `/v1/events/${event}/deliveries`
  for (const key of [api, podKey]) {
    const { body, bytes } = await key.get(at(a))
    t.match(body.data, [{ inboxId: own.id, state: 'delivered', log: [{ status: 200 }] }])
    t.notMatch(bytes.toString(), own.webhookSecret)
  }
  const ofAccount = await api.get(at(b))
  t.match(ofAccount.body.data, [{ inboxId: null, url: common.url, state: 'delivered' }])
  t.notMatch(ofAccount.bytes.toString(), secret)
  t.strictSame((await podKey.get(at(b))).body.data, [], "the account's webhook is no tenant's business")
  for (const [key, event] of [
    [foreignKey, a],
    [inboxKey, b],
    [api, 'x'],
    [api, own.id],
  ] as [Api, string][]) {
    t.equal((await key.get(at(event))).body.error, key === api || key === podKey ? 'not_found' : 'forbidden')
  }

  t.equal((await inboxKey.post(`/v1/events/${a}/redeliver`)).body.error, 'forbidden')
  t.equal((await podKey.post(`/v1/events/${own.id}/redeliver`)).body.error, 'not_found')
  const again = await podKey.post(`/v1/events/${a.toUpperCase()}/redeliver`)
  t.match(again.body, { ok: true, deliveryId: String })
  await tellDue()
  t.strictSame(receiver.ids(), [a, a])
  t.match(receiver.calls[1]!.json, { event_id: a, attempt: 1 })
  t.match((await api.get(at(a))).body.data, [{}, { id: again.body.deliveryId, state: 'delivered' }])
  for (let n = 0; n < 25; n++) await api.post(`/v1/events/${a}/redeliver`)
  t.equal((await log(a)).length, 20, 'the newest are kept')
  await tellDue()
  t.equal(receiver.calls.length, 3, 'what was not told yet is told once')
  await api.delete('/v1/webhook')
  const none = await api.post(`/v1/events/${b}/redeliver`)
  t.strictSame([none.status, none.body.error], [400, 'no_webhook_url'])
  t.strictSame(await app.store.read.selectFrom('queueEntry').selectAll().execute(), [])
  t.strictSame(faults, [])
})
