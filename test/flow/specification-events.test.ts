/**
 * What the specification says of events, webhooks and streams, one assertion for each sentence, against a daemon and over
 * its doors alone. It is written from the specification and its decisions (sections 9 and 10), not from the code.
 */
import { createHmac } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import t, { type Test } from 'tap'
import { type Api, apiOf } from '../support/api.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { submit } from '../support/smtp-client.ts'
import { openSocket } from '../support/socket-client.ts'
import { until } from '../support/until.ts'
import { type Call, type Reply, startWebhookReceiver } from '../support/webhook-receiver.ts'

const allowed = 'allow_http = true\nallow_networks = ["127.0.0.0/8"]'

async function start(t: Test, webhook = `${allowed}\nretry = ["2s", "10ms"]`) {
  const daemon = await startDaemon(t, { toml: `[webhook]\n${webhook}` })
  const { token } = await daemon.ctl('key', 'create')
  return { daemon, token: String(token), api: apiOf(daemon.baseUrl, String(token)) }
}

const boundary = (type: string, content: string) => `--b\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`
/** A reply with a quote, HTML with a link, a code and a file. */
function mail(daemon: TestDaemon, to: string) {
  const text = 'Your code is 482910.'
  const html = '<a href="https://a.example/x">Go</a>'
  const raw = [
    'From: Bob <bob@example.net>\r\nTo: team@example.net\r\nCc: ',
    `${to}\r\nMessage-ID: <m1@example.net>\r\nSubject: Your code\r\nMIME-Version: 1.0\r\n`,
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n',
    `--c\r\nContent-Type: text/plain\r\n\r\n${text}\r\n\r\nOn Mon, Nov 2, 2026 at 10:00 AM Ann <ann@example.com> wrote:\r\n> Old\r\n`,
    `--c\r\nContent-Type: text/html\r\n\r\n${html}\r\n--c--\r\n`,
    boundary('text/csv; name=a.csv\r\nContent-Disposition: attachment; filename=a.csv', 'a,b'),
    '--b--\r\n',
  ].join('')
  return submit('127.0.0.1', daemon.smtpPort, { from: 'bob@example.net', to: [to], raw: Buffer.from(raw) })
}

const plain = ({ headers }: Call) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
/** An event without what differs each time that it is told. */
function same(event: Record<string, unknown>) {
  const { delivered_at, attempt, message, ...rest } = event as {
    message: { attachments: { url: string }[] }
  } & typeof event
  const attachments = message?.attachments.map(({ url, ...file }) => ({ ...file, url: url.split('?')[0] }))
  return { ...rest, message: message && { ...message, attachments } }
}

t.test('webhooks', async t => {
  let reply: Reply | ((call: Call) => Reply) = { status: 200 }
  const receiver = await startWebhookReceiver(t, call => (typeof reply === 'function' ? reply(call) : reply))
  const { daemon, api } = await start(t)
  const inbox = (await api.post('/v1/inboxes', { mailboxName: 'agent', webhookUrl: receiver.url })).body
  const pod = (await api.post('/v1/pods', {})).body
  const podApi = apiOf(daemon.baseUrl, (await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token)
  await mail(daemon, inbox.address)
  const call = await until('the call', () => receiver.calls[0])
  const event = call.json
  const secret = inbox.webhookSecret

  await t.test('the secret', async t => {
    const bytes = /^whsec_(.+)$/.exec(secret)?.[1] ?? ''
    t.equal(Buffer.from(bytes, 'base64').length, 32, 'whsec_ and base64 of 32 bytes')
    t.notOk('webhookSecret' in (await api.get(`/v1/inboxes/${inbox.id}`)).body, 'only when it was just made')
  })
  await t.test('both forms of headers on every call', async t => {
    t.ok(new StandardWebhook(secret).verify(call.body, plain(call)), 'standardwebhooks takes it')
    t.ok(new SvixWebhook(secret).verify(call.body, plain(call)), 'svix takes it')
    t.throws(() => new SvixWebhook(secret).verify(`${call.body} `, plain(call)), 'and nothing else')
    t.equal(call.headers['webhook-id'], event.event_id)
    t.equal(call.headers['x-event-id'], event.event_id)
    const signed = createHmac('sha256', secret).update(`${call.headers['x-timestamp']}.${call.body}`)
    t.equal(call.headers['x-signature'], signed.digest('hex'), 'hex HMAC with the secret as it stands')
    t.ok(
      Math.abs(Number(call.headers['x-timestamp']) - Date.parse(event.delivered_at) / 1000) < 10,
      'unix seconds',
    )
  })
  await t.test('the body', async t => {
    t.equal(call.body, JSON.stringify(event), 'compact JSON')
    const envelope = [
      'event',
      'event_id',
      'occurred_at',
      'delivered_at',
      'attempt',
      'inbox_id',
      'inbox_address',
      'thread_id',
    ]
    for (const name of envelope) t.ok(name in event, name)
    t.match(event, {
      event: 'message.received',
      attempt: 1,
      inbox_id: inbox.id,
      inbox_address: inbox.address,
    })
    const { message } = event
    t.equal(message.rfc_message_id, '<m1@example.net>')
    t.equal(message.direction, 'inbound')
    t.equal(message.from, 'bob@example.net')
    t.equal(message.to, inbox.address, "to is one string: the inbox's address")
    t.strictSame(message.header_to, ['team@example.net'], 'header_to is a list')
    t.strictSame(message.cc, [inbox.address])
    t.equal(message.delivery_role, 'cc')
    t.equal(message.subject, 'Your code')
    t.match(message.body_text, /482910[\s\S]*> Old/)
    t.match(message.body_html, /<a href/)
    t.equal(message.reply_text, 'Your code is 482910.')
    t.equal(message.otp, '482910')
    t.match(message.links, [{ url: 'https://a.example/x', text: 'Go' }])
    t.match(message.attachments, [{ filename: 'a.csv', contentType: 'text/csv', sizeBytes: 3, url: /^http/ }])
    t.equal(await (await fetch(message.attachments[0].url)).text(), 'a,b', 'the URL needs no key')
    t.match(message.received_at, /^\d{4}-.*\.\d{3}Z$/)
    t.type(message.category, 'string')
    t.type(message.auto_replyable, 'boolean')
    t.equal(message.verdict, 'clean')
  })
  await t.test('one shape of an event everywhere', async t => {
    const { body } = await api.get(`/v1/events?inboxId=${inbox.id}&type=message.received`)
    t.strictSame(body.data.map(same), [same(event)])
  })
  await t.test('outbound, the recipients in one string', async t => {
    const other = (await api.post('/v1/inboxes', {})).body
    await api.send(inbox.id, { to: other.address, cc: ['b@example.net'], subject: 's', body: 'b' })
    const told = await until('it', () => receiver.calls.find(one => one.json.event === 'message.delivered'))
    t.equal(told.json.message.to, other.address)
    t.match(told.json.message.sent_at, /Z$/)
    t.notOk('received_at' in told.json.message)
    t.match(told.json.data, { recipient: other.address }, 'data, in snake_case')
    t.match(Object.keys(told.json.data).join(), /^[a-z_,]+$/)
  })
  await t.test('attempts', async t => {
    const toldOf = (id: string) => receiver.calls.filter(one => one.json.event_id === id)
    reply = ({ json }) => ({ status: json.attempt < 3 ? 500 : 299 })
    const known = new Set(receiver.ids())
    await mail(daemon, inbox.address)
    const isNew = ({ json }: Call) => json.event === 'message.received' && !known.has(json.event_id)
    const calls = await until('three', () => {
      const made = receiver.calls.filter(isNew)
      return made.length === 3 && made
    })
    t.strictSame(
      calls.map(one => one.json.attempt),
      [1, 2, 3],
    )
    const urls = calls.map(one => one.json.message.attachments[0].url)
    const isFresh = calls.map(({ json }, n) => {
      const expires = Number(new URL(urls[n]).searchParams.get('expires'))
      return expires >= Date.parse(json.delivered_at) / 1000 + 3600
    })
    t.strictSame(isFresh, [true, true, true], 'signed URLs are made at each attempt')
    for (const url of urls) t.equal((await fetch(url)).status, 200)
    t.equal(new Set(calls.map(one => one.headers['webhook-id'])).size, 1)
    const { event_id } = calls[0]!.json
    const deliveries = () => api.get(`/v1/events/${event_id}/deliveries`).then(({ body }) => body.data)
    t.match(
      await until('the log', async () => {
        const all = await deliveries()
        return all[0].state === 'delivered' && all
      }),
      [{ state: 'delivered', attempts: 3, log: [{ status: 500 }, { status: 500 }, { status: 299 }] }],
      'any 2xx takes it',
    )

    reply = { status: 302, headers: { location: `${receiver.url}/elsewhere` } }
    t.equal((await api.post(`/v1/events/${event_id}/redeliver`)).status, 200)
    await until('exhausted', async () => (await deliveries()).at(-1).state === 'failed')
    t.equal((await deliveries()).at(-1).attempts, 3, 'a redirect is a failure')
    t.notOk(
      receiver.calls.some(one => one.path.endsWith('elsewhere')),
      'and is not followed',
    )

    reply = { status: 410 }
    await api.post(`/v1/events/${event_id}/redeliver`)
    await until('gone', async () => (await deliveries()).at(-1).status === 410)
    t.match((await deliveries()).at(-1), { state: 'failed', attempts: 1 }, '410 stops its retries')
    reply = { status: 200 }
    await api.post(`/v1/events/${event_id}/redeliver`)
    await until('told', async () => (await deliveries()).at(-1).state === 'delivered')
    t.equal(toldOf(event_id).length, 3 + 3 + 1 + 1, 'kept and replayable')
  })
  await t.test('a test, and another secret', async t => {
    const bare = (await api.post('/v1/inboxes', {})).body
    const post = (path: string, as: Api = api) => as.post(`/v1/inboxes/${path}`)
    t.match(await post(`${inbox.id}/webhook/test`), { status: 200, body: { ok: true, message: String } })
    t.match(await post(`${bare.id}/webhook/test`), { status: 400, body: { error: 'no_webhook_url' } })
    reply = { status: 500 }
    t.match(await post(`${inbox.id}/webhook/test`), { status: 502, body: { error: 'webhook_failed' } })
    reply = { status: 200 }
    const rotated = await post(`${inbox.id}/webhook/rotate-secret`)
    t.match(rotated, { status: 200, body: { webhookSecret: /^whsec_/ } })
    t.match(await post(`${bare.id}/webhook/rotate-secret`), {
      status: 400,
      body: { error: 'no_webhook_url' },
    })
    await post(`${inbox.id}/webhook/test`)
    const last = receiver.calls.at(-1)!
    t.equal(last.json.event, 'webhook.test')
    t.ok(new SvixWebhook(rotated.body.webhookSecret).verify(last.body, plain(last)))
    t.throws(() => new SvixWebhook(secret).verify(last.body, plain(last)), 'the former is worth nothing')
    const mine = (await api.post('/v1/inboxes', { podId: pod.id })).body
    t.equal((await post(`${mine.id}/webhook/rotate-secret`, podApi)).status, 403, 'an account key only')
  })
  await t.test("the account's webhook", async t => {
    t.equal((await podApi.get('/v1/webhook')).status, 403, 'an account key only')
    const set = await api.call('PUT', '/v1/webhook', { url: receiver.url })
    t.match(set, { status: 200, body: { url: receiver.url, secret: /^whsec_/ } })
    t.notOk((await api.get('/v1/webhook')).body.secret, 'the secret once')
    t.match(await api.post('/v1/webhook/rotate-secret'), { status: 200, body: { secret: /^whsec_/ } })
    t.equal((await api.delete('/v1/webhook')).status, 204)
  })
  t.equal(await daemon.end('SIGTERM'), 0)
})

t.test('where a webhook may lead to', async t => {
  const { daemon, api } = await start(t, '')
  for (const webhookUrl of [
    'http://agent.example.net/',
    'ftp://agent.example.net/',
    'https://user:pass@agent.example.net/',
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://224.0.0.1/',
    'x',
  ]) {
    const { status, body } = await api.post('/v1/inboxes', { webhookUrl })
    t.match([status, body.error], [422, 'invalid_webhook_url'], webhookUrl)
  }
  t.equal(await daemon.end('SIGTERM'), 0)
})

t.test('the WebSocket', async t => {
  const { daemon, api, token } = await start(t)
  const pod = (await api.post('/v1/pods', {})).body
  const podToken = (await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token
  const ann = (await api.post('/v1/inboxes', { podId: pod.id })).body
  const bea = (await api.post('/v1/inboxes', {})).body
  const inboxToken = (await api.post(`/v1/inboxes/${ann.id}/api-keys`, {})).body.token
  const { baseUrl } = daemon

  const account = await openSocket(t, baseUrl, token)
  const ofPod = await openSocket(t, baseUrl, undefined, { query: `?token=${podToken}` })
  const ofInbox = await openSocket(t, baseUrl, inboxToken)
  t.strictSame(await account.ask({ type: 'ping' }), { type: 'pong' })
  const subscribed = (inbox_ids: string[], event_types: string[] = []) => ({
    ...{ type: 'subscribed', inbox_ids, event_types },
  })
  t.strictSame(
    await account.ask({ type: 'subscribe' }),
    subscribed([]),
    "an empty list for an account key's all",
  )
  t.strictSame(
    await ofPod.ask({ type: 'subscribe', inbox_ids: [] }),
    subscribed([ann.id]),
    'all of its reach',
  )
  t.strictSame(await ofInbox.ask({ type: 'subscribe', event_types: [] }), subscribed([ann.id]))
  await mail(daemon, ann.address)
  await mail(daemon, bea.address)
  await account.told(2)
  await ofPod.told(1)
  await ofInbox.told(1)
  const late = (await api.post('/v1/inboxes', { podId: pod.id })).body
  await mail(daemon, late.address)
  await ofPod.told(2)
  const addressesOf = (events: readonly { readonly [name: string]: unknown }[]) =>
    events.map(one => one.inbox_address)
  t.strictSame(
    addressesOf(ofPod.events),
    [ann.address, late.address],
    'a pod key: inboxes made later included',
  )
  t.strictSame(addressesOf(ofInbox.events), [ann.address], 'an inbox key: its inbox')
  t.notOk('type' in account.events[0]!, 'events have event and no type')
  const listed = (await api.get('/v1/events?type=message.received')).body.data
  t.strictSame(account.events.map(same), listed.map(same), 'events are equal to those of webhooks and lists')

  await t.test('what can not be had', async t => {
    const client = await openSocket(t, baseUrl, podToken)
    const foreign = account.events[1]!.event_id
    const error = await client.ask({
      ...{ type: 'subscribe', event_types: ['message.unheard', 'message.received'] },
      ...{ inbox_ids: [bea.id, ann.id], last_event_id: foreign },
    })
    t.equal(error.type, 'error')
    t.strictSame(
      error.details.map((fault: { path: string }) => fault.path),
      ['/inbox_ids/0', '/event_types/0', '/last_event_id'],
      'unknown types are named, and a foreign last_event_id gives an error',
    )
    await until('it to be subscribed', () => client.said.length === 2)
    t.strictSame(client.said[1], subscribed([ann.id], ['message.received']), 'the rest goes on')
    await client.ask({ type: 'ping' })
    t.equal(client.events.length, 0, 'from now')
    t.match(await client.ask({ type: 'nothing' }), { type: 'error', message: String })
    const none = await openSocket(t, baseUrl, podToken)
    none.say({ type: 'subscribe', inbox_ids: [bea.id] })
    t.equal((await none.closed).code, 4003, 'forbidden')
  })
  await t.test('last_event_id replays what came later, in order, all of it', async t => {
    const client = await openSocket(t, baseUrl, token)
    await client.ask({ type: 'subscribe', last_event_id: account.events[0]!.event_id })
    await client.told(2)
    t.strictSame(addressesOf(client.events), [bea.address, late.address])
  })
  await t.test('unsubscribed', async t => {
    t.strictSame(await account.ask({ type: 'unsubscribe' }), { type: 'unsubscribed', inbox_ids: [] })
    await account.ask({ type: 'subscribe', inbox_ids: [bea.id] })
    t.strictSame(
      await account.ask({ type: 'subscribe', inbox_ids: [ann.address] }),
      subscribed([ann.id]),
      'subscriptions add up, and an inbox may be named by its address',
    )
    t.strictSame(await account.ask({ type: 'unsubscribe', inbox_ids: [bea.id] }), {
      ...{ type: 'unsubscribed', inbox_ids: [bea.id] },
    })
    const before = account.events.length
    await mail(daemon, bea.address)
    await mail(daemon, ann.address)
    await account.told(before + 1)
    t.strictSame(addressesOf(account.events.slice(before)), [ann.address])
  })
  await t.test('close codes', async t => {
    t.equal(
      (await (await openSocket(t, baseUrl, 'mbx_wrong')).closed).code,
      4001,
      'a bad key is accepted and closed',
    )
    const many = await Promise.all(
      Array.from({ length: 10 }, () => openSocket(t, baseUrl, inboxToken).catch(() => undefined)),
    )
    const eleventh = await openSocket(t, baseUrl, inboxToken)
    t.equal((await eleventh.closed).code, 4008, 'too many connections')
    for (const one of many) one?.socket.terminate()
    const flooding = await openSocket(t, baseUrl, token)
    for (let n = 0; n < 31; n++) flooding.say({ type: 'ping' })
    t.equal((await flooding.closed).code, 4029, 'too many messages')
    await api.delete(
      `/v1/pods/${pod.id}/api-keys/${(await api.get(`/v1/pods/${pod.id}/api-keys`)).body.data[0].id}`,
    )
    t.equal((await ofPod.closed).code, 4001, 'revocation closes open sockets at once')
    const stopped = daemon.end('SIGTERM')
    t.equal((await account.closed).code, 1001, 'stopping')
    t.equal(await stopped, 0)
  })
})
