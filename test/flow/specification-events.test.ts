import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { openSocket } from '../support/socket-client.ts'
import { startSpecified, unlike } from '../support/specified.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const receiver = await startWebhookReceiver(t)
const it = await startSpecified(t, {
  toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]',
})
const { api } = it
const base = it.daemon.baseUrl
const agent = await it.inbox({ mailboxName: 'agent', webhookUrl: receiver.url })
const quiet = await it.inbox({ mailboxName: 'quiet' })
const agentKey = (await api.post(`/v1/inboxes/${agent.id}/api-keys`, { name: 'k' })).body

const envelope = [
  'event',
  'event_id',
  'occurred_at',
  'delivered_at',
  'attempt',
  'inbox_id',
  'inbox_address',
  'thread_id',
  'message',
]
const boundary = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  'From: Ann <ann@theirs.example>',
  `To: Agent <${agent.address}>, bob@theirs.example`,
  'Cc: carol@theirs.example',
  'Subject: Your sign-in code',
  'In-Reply-To: <before@ours.example>',
]
const parts = [
  '--b',
  'Content-Type: multipart/alternative; boundary=c',
  '',
  '--c',
  'Content-Type: text/plain',
  '',
  'Your code is 482913. See https://theirs.example/confirm',
  '',
  'On Friday, Agent wrote:',
  '> What is it?',
  '--c',
  'Content-Type: text/html',
  '',
  '<p>Your code is <b>482913</b>. <a href="https://theirs.example/confirm">See</a></p>',
  '--c--',
  '--b',
  'Content-Type: text/plain; name=note.txt',
  'Content-Disposition: attachment; filename=note.txt',
  '',
  'A note',
  '--b--',
].join('\r\n')

t.test('one shape of an event everywhere', async t => {
  const socket = await openSocket(t, base, it.token)
  t.match(
    await socket.ask({ type: 'subscribe' }),
    { type: 'subscribed', inbox_ids: [], event_types: [] },
    "`subscribed`: an empty list for an account key's all; event types (empty: all)",
  )
  const arrived = await it.arrive(agent.id, {
    from: 'ann@theirs.example',
    to: agent.address,
    headers: boundary,
    text: parts,
  })
  const call = await until('the call', () => receiver.calls[0])
  const { json } = call
  t.strictSame(
    envelope.filter(name => !(name in json)),
    [],
    'snake_case envelope: event, event_id, occurred_at, delivered_at, attempt, inbox_id, inbox_address, thread_id, message',
  )
  t.match(
    json,
    {
      event: 'message.received',
      inbox_id: agent.id,
      inbox_address: agent.address,
      thread_id: arrived.threadId,
      attempt: 1,
    },
    'what it tells of',
  )
  const { message } = json
  t.strictSame(
    [
      'id',
      'rfc_message_id',
      'direction',
      'from',
      'to',
      'header_to',
      'cc',
      'delivery_role',
      'subject',
      'body_text',
      'body_html',
      'reply_text',
      'otp',
      'links',
      'attachments',
      'received_at',
      'category',
      'auto_replyable',
      'verdict',
    ].filter(name => !(name in message)),
    [],
    'message: all its fields',
  )
  t.notOk('sent_at' in message, 'received_at (inbound) or sent_at (outbound)')
  t.equal(message.to, agent.address, "`to` is one string: the inbox's address for inbound mail")
  t.strictSame(message.header_to, [agent.address, 'bob@theirs.example'], '`header_to` has the list')
  t.strictSame(message.cc, ['carol@theirs.example'], 'cc[]')
  t.match(
    message,
    {
      id: arrived.id,
      direction: 'inbound',
      delivery_role: 'to',
      subject: 'Your sign-in code',
      verdict: 'clean',
    },
    'the message',
  )
  t.match(message.from, /ann@theirs\.example/, 'from')
  t.equal(message.otp, '482913', '`otp` is in it')
  t.match(JSON.stringify(message.links), /https:\/\/theirs\.example\/confirm/, '`links` are in it')
  t.match(message.body_html, /<b>482913<\/b>/, '`body_html` is in it')
  t.match(message.reply_text, /Your code is 482913/, '`reply_text` is in it')
  t.notMatch(message.reply_text, /What is it/, 'without what is quoted')
  t.match(
    message,
    { auto_replyable: true, auto_reply_reason: 'person', from_proven: null, reply_to: null, warnings: [] },
    'a code alone does not say that a program wrote it',
  )
  t.strictSame(
    unlike(message.attachments[0], ['filename', 'contentType', 'sizeBytes', 'url']),
    [],
    'attachments: [{filename, contentType, sizeBytes, url}]',
  )
  t.equal(
    await (await fetch(message.attachments[0].url)).text(),
    'A note',
    'so that an agent needs no second request: the signed URL',
  )
  const [streamed] = await socket.told(1)
  const told = (event: object) => ({
    ...event,
    delivered_at: 0,
    attempt: 0,
    message: { ...(event as typeof json).message, attachments: 0 },
  })
  t.strictSame(told(streamed!), told(json), 'event objects equal to the webhook body')
  t.notOk('type' in streamed!, 'they have `event` and no `type`')
  const { body: list } = await api.get(`/v1/events?inboxId=${agent.id}&type=message.received`)
  t.strictSame(told(list.data[0]), told(json), '`GET /v1/events` gives the same object')
  t.equal(list.data.length, 1, '`GET /v1/events?inboxId&type`')
  t.equal(
    (await api.get(`/v1/events?after=${list.data[0].event_id}&inboxId=${agent.id}`)).body.data.length,
    0,
    '`after`',
  )

  t.test('how a call is signed', async t => {
    t.equal(call.body, JSON.stringify(json), 'Body: compact JSON')
    t.ok(
      new Webhook(agent.webhookSecret).verify(call.body, call.headers as Record<string, string>),
      'Standard Webhooks 1.0',
    )
    t.equal(call.headers['webhook-id'], json.event_id, '`webhook-id`')
    t.match(call.headers['webhook-timestamp'], /^\d{10}$/, '`webhook-timestamp`: unix seconds')
    t.equal(call.headers['x-event-id'], json.event_id, '`X-Event-Id`')
    t.equal(
      call.headers['x-signature'],
      createHmac('sha256', agent.webhookSecret)
        .update(`${call.headers['x-timestamp']}.${call.body}`)
        .digest('hex'),
      '`X-Signature`: hex HMAC-SHA256 of "timestamp.body" with the secret string as it stands',
    )
    t.match(agent.webhookSecret, /^whsec_[A-Za-z0-9+/]{43}=$/, 'Secret: `whsec_` + base64 of 32 random bytes')
    t.equal(
      (await api.get(`/v1/inboxes/${agent.id}`)).body.webhookSecret,
      undefined,
      'never returned afterwards',
    )
  })

  const sent = await api.send(agent.id, {
    to: [quiet.address, 'yan@theirs.example'],
    subject: 'Out',
    body: 'b',
  })
  const delivered = await until('it delivered', () =>
    socket.events.find(event => event.event === 'message.delivered' && event.inbox_id === agent.id),
  )
  t.match(
    delivered.message.to,
    new RegExp(`^${quiet.address}, ?yan@theirs\\.example$`),
    '`to`: the recipients comma-separated for outbound',
  )
  t.equal(delivered.message.id, sent.body.messageId, 'of the message that was sent')
  t.ok('sent_at' in delivered.message && !('received_at' in delivered.message), 'sent_at (outbound)')
  t.ok(
    await until('its arrival', () => socket.events.find(event => event.inbox_id === quiet.id)),
    'events go to every matching socket',
  )

  const later = await openSocket(t, base, it.token)
  await later.ask({ type: 'subscribe', last_event_id: json.event_id })
  const all = socket.events.slice(1).map(event => event.event_id)
  await until('what came later', () => later.events.length >= all.length)
  t.strictSame(
    later.events.map(event => event.event_id),
    all,
    '`last_event_id` replays what came later, in order, all of it',
  )
})

t.test('WebSocket', async t => {
  const scoped = await openSocket(t, base, agentKey.token)
  t.match(
    await scoped.ask({ type: 'subscribe' }),
    { type: 'subscribed', inbox_ids: [agent.id], event_types: [] },
    '`subscribed` names the inboxes that it means now: for a scoped key all of its reach',
  )
  t.match(await scoped.ask({ type: 'ping' }), { type: 'pong' }, '{"type":"ping"} → {"type":"pong"}')
  await scoped.ask({ type: 'unsubscribe' })
  await scoped.ask({ type: 'subscribe', inbox_ids: [agent.id] })
  t.match(
    await scoped.ask({ type: 'unsubscribe', inbox_ids: [agent.id] }),
    { type: 'unsubscribed', inbox_ids: [agent.id] },
    '{"type":"unsubscribed","inbox_ids"}',
  )
  t.match(
    await scoped.ask({ type: 'nonsense' }),
    { type: 'error', message: String },
    '{"type":"error","message"}',
  )
  t.match(await scoped.ask('{'), { type: 'error', message: String }, 'malformed JSON gets an error')

  const account = await openSocket(t, base, undefined, { query: `?token=${it.token}` })
  t.match(
    await account.ask({ type: 'subscribe', inbox_ids: [quiet.id], event_types: ['message.received'] }),
    { type: 'subscribed', inbox_ids: [quiet.id], event_types: ['message.received'] },
    'Bearer header or `?token=`; the inboxes and the types',
  )
  await account.ask({ type: 'subscribe', inbox_ids: [agent.id], event_types: ['message.received'] })
  await it.arrive(quiet.id, { to: quiet.address })
  t.match(await account.told(1), [{ inbox_id: quiet.id }], 'subscriptions add up')
  t.match(
    await account.ask({ type: 'subscribe', inbox_ids: [], event_types: [] }),
    { type: 'subscribed', event_types: [] },
    '`inbox_ids: []` and `event_types: []` mean all',
  )
  const unknown = await openSocket(t, base, it.token)
  unknown.say({ type: 'subscribe', event_types: ['message.received', 'message.nonsense'] })
  await until('both', () => unknown.said.length === 2)
  t.match(
    unknown.said.find(one => one.type === 'error'),
    { message: /message\.nonsense/ },
    'unknown types are ignored and named in an `error`',
  )
  t.match(
    unknown.said.find(one => one.type === 'subscribed'),
    { event_types: ['message.received'] },
    'and the rest is subscribed to',
  )
  const foreign = await openSocket(t, base, it.token)
  foreign.say({ type: 'subscribe', last_event_id: '0193e2a4-0000-7000-8000-000000000000' })
  await until('both', () => foreign.said.length >= 2)
  t.ok(
    foreign.said.some(one => one.type === 'error'),
    'an unknown `last_event_id` gives an `error`',
  )
  t.ok(
    foreign.said.some(one => one.type === 'subscribed'),
    'and the subscription goes on from now',
  )
  await it.arrive(quiet.id, { to: quiet.address })
  t.equal((await foreign.told(1)).length, 1, 'from now')

  const bad = await openSocket(t, base, 'mbx_nonsense')
  t.equal((await bad.closed).code, 4001, 'a bad key is accepted and closed with 4001 at once')
  const none = await openSocket(t, base, undefined)
  t.equal((await none.closed).code, 4001, 'so is none')
  const revoked = await openSocket(t, base, agentKey.token)
  await revoked.ask({ type: 'subscribe' })
  await api.delete(`/v1/inboxes/${agent.id}/api-keys/${agentKey.id}`)
  t.equal((await revoked.closed).code, 4001, 'revocation closes open sockets at once')
  const talker = await openSocket(t, base, it.token)
  for (let n = 0; n < 31; n++) talker.say({ type: 'ping' })
  t.equal((await talker.closed).code, 4029, '30 client messages in 10 s a connection: 4029')
  const sockets = []
  for (let n = 0; n < 11; n++) sockets.push(await openSocket(t, base, it.token))
  t.equal((await Promise.race(sockets.map(one => one.closed))).code, 4008, '10 connections: 4008 too many')
  const pod = (await api.post('/v1/pods', {})).body
  const podKey = (await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token
  const tenant = await openSocket(t, base, podKey)
  t.match(await tenant.ask({ type: 'subscribe' }), { type: 'subscribed', inbox_ids: [] }, "a pod key's reach")
  const made = await it.inbox({ podId: pod.id })
  await it.arrive(quiet.id, { to: quiet.address })
  await it.arrive(made.id, { to: made.address })
  t.match(
    await tenant.told(1),
    [{ inbox_id: made.id }],
    "a pod key sees its pod's, inboxes made later included, and no other",
  )
  const forbidden = await openSocket(t, base, podKey)
  forbidden.say({ type: 'subscribe', inbox_ids: [quiet.id] })
  const ended = await Promise.race([forbidden.closed, until('an error', () => forbidden.said[0])])
  t.notMatch(ended, { type: 'subscribed', inbox_ids: [quiet.id] }, 'and subscribes to no other')
})

t.test('Webhooks', async t => {
  const rotate = await api.post(`/v1/inboxes/${agent.id}/webhook/rotate-secret`)
  t.match(
    [rotate.status, rotate.body],
    [200, { webhookSecret: /^whsec_/ }],
    'rotate-secret → 200 {webhookSecret}',
  )
  t.not(rotate.body.webhookSecret, agent.webhookSecret, 'a new signing secret')
  const test = await api.post(`/v1/inboxes/${agent.id}/webhook/test`)
  t.match([test.status, test.body], [200, { ok: true, message: String }], 'webhook/test → 200 {ok, message}')
  const call = receiver.calls.at(-1)!
  t.equal(call.json.event, 'webhook.test', '`webhook.test`')
  const headers = call.headers as Record<string, string>
  t.ok(new Webhook(rotate.body.webhookSecret).verify(call.body, headers), 'with the new secret')
  t.throws(
    () => new Webhook(agent.webhookSecret).verify(call.body, headers),
    'the previous secret is invalidated immediately',
  )
  for (const what of ['test', 'rotate-secret']) {
    const refused = await api.post(`/v1/inboxes/${quiet.id}/webhook/${what}`)
    t.match([refused.status, refused.body.error], [400, 'no_webhook_url'], `${what}: 400 no_webhook_url`)
  }
  t.equal((await api.get('/v1/webhook')).status, 200, 'GET /v1/webhook')
  const put = await api.call('PUT', '/v1/webhook', { url: `${receiver.url}/account` })
  t.match(
    [put.status, put.body],
    [200, { url: `${receiver.url}/account`, secret: /^whsec_/ }],
    'PUT /v1/webhook: secret once',
  )
  t.notOk((await api.get('/v1/webhook')).body.secret, 'and not again')
  await it.arrive(quiet.id, { to: quiet.address })
  await until('the account webhook', () => receiver.calls.some(one => one.path.endsWith('/account')))
  t.pass('the account-level webhook when the inbox has none')
  await it.arrive(agent.id, { to: agent.address, headers: ['Subject: Own'] })
  const own = await until('its own', () => receiver.calls.find(one => one.json.message?.subject === 'Own'))
  t.notMatch(own.path, /account/, 'webhookUrl overrides the account-level webhook for this inbox')
  const turned = await api.post('/v1/webhook/rotate-secret')
  t.equal(turned.status, 200, 'POST /v1/webhook/rotate-secret')
  t.equal((await api.delete('/v1/webhook')).status, 204, 'DELETE /v1/webhook')
  for (const webhookUrl of [
    'nonsense',
    'ftp://a.example/',
    'https://user:pass@a.example/',
    `https://${'a'.repeat(64)}.example/`,
  ]) {
    const refused = await api.patch(`/v1/inboxes/${quiet.id}`, { webhookUrl })
    t.match(
      [refused.status, refused.body.error],
      [422, 'invalid_webhook_url'],
      `422 invalid_webhook_url: ${webhookUrl}`,
    )
  }
  const { event_id: id } = receiver.calls[0]!.json
  const deliveries = await api.get(`/v1/events/${id}/deliveries`)
  t.equal(deliveries.status, 200, 'GET /v1/events/{id}/deliveries')
  const before = receiver.calls.length
  t.ok((await api.post(`/v1/events/${id}/redeliver`)).status < 300, 'POST /v1/events/{id}/redeliver')
  const again = await until('it again', () =>
    receiver.calls.slice(before).find(one => one.json.event_id === id),
  )
  t.equal(
    await (await fetch(again.json.message.attachments[0].url)).text(),
    'A note',
    'signed URLs are made at each attempt',
  )
  const cleared = await api.patch(`/v1/inboxes/${agent.id}`, { webhookUrl: null })
  t.equal(cleared.body.webhookUrl, null, 'webhookUrl null clears')
})
