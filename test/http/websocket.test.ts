import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket as WsClient } from 'ws'
import { recordEvent } from '../../lib/core/events/record.ts'
import { streamInboxesNamed } from '../../lib/core/events/subscription.ts'
import { leaveEvent } from '../../lib/store/events.ts'
import { openStore } from '../../lib/store/open.ts'
import { startApi } from '../support/api-app.ts'
import { createEventWriter } from '../support/event-writer.ts'
import { insertInboxRow } from '../support/rows.ts'
import { openSocket } from '../support/socket-client.ts'
import { until } from '../support/until.ts'

t.test('who subscribes is told what happens from then on', async t => {
  const { api, app, baseUrl, token, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(app)
  await writer.write(inbox)
  const client = await openSocket(t, baseUrl, token)
  t.strictSame(await client.ask({ type: 'ping' }), { type: 'pong' })
  await writer.write(inbox)
  t.strictSame(await client.ask({ type: 'subscribe' }), {
    type: 'subscribed',
    inbox_ids: [],
    event_types: [],
  })
  await writer.write(inbox, 'message.received', 2)
  await client.told(2)
  t.strictSame(client.numbers, [3, 4], 'not what happened before')
  const [event] = client.events
  t.match(event, {
    event: 'message.received',
    event_id: /^[0-9a-f-]{36}$/,
    occurred_at: /Z$/,
    delivered_at: /Z$/,
    attempt: 1,
    inbox_id: inbox.id,
    pod_id: inbox.podId,
    thread_id: null,
    message: null,
    data: { number: 3 },
  })
  t.notOk('type' in event!, 'an event has no type, and so is known from all else')
  const received = (await api.get('/v1/events?type=message.received')).body.data
  t.strictSame(
    client.events.map(one => one.event_id),
    received.map((one: { event_id: string }) => one.event_id),
  )
  t.strictSame(await client.ask({ type: 'unsubscribe' }), { type: 'unsubscribed', inbox_ids: [] })
  await writer.write(inbox)
  t.strictSame(await client.ask({ type: 'subscribe', inbox_ids: null }), {
    type: 'subscribed',
    inbox_ids: [],
    event_types: [],
  })
  await writer.write(inbox)
  await client.told(3)
  t.strictSame(client.numbers, [3, 4, 6], 'nothing in between')
  t.strictSame(faults, [])
})

t.test('the message stands in it as a webhook is told it', async t => {
  const { api, app, baseUrl, token } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const sent = (
    await api.send(inbox.id, {
      to: 'bob@example.net',
      subject: 'Hi',
      body: 'Text',
      attachments: [{ filename: 'a.txt', content: 'YQ==' }],
    })
  ).body
  const client = await openSocket(t, baseUrl, token)
  await client.ask({ type: 'subscribe' })
  await app.store.write(db =>
    recordEvent(app, db, 'message.sent', {
      podId: inbox.podId,
      inboxId: inbox.id,
      threadId: sent.threadId,
      messageId: sent.messageId,
    }),
  )
  const [event] = await client.told(1)
  t.match(event, {
    thread_id: sent.threadId,
    message: { id: sent.messageId, from: inbox.address, to: 'bob@example.net', subject: 'Hi' },
  })
  const { url } = event!.message.attachments[0]
  t.equal(await (await fetch(url)).text(), 'a')
})

t.test('filters add up, and are taken back', async t => {
  const { api, app, baseUrl, token, faults } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const one = (await api.post('/v1/inboxes', {})).body
  const two = (await api.post('/v1/inboxes', { podId: pod })).body
  const writer = createEventWriter(app)
  const client = await openSocket(t, baseUrl, token)
  const absent = '01890000-0000-7000-8000-000000000000'
  t.strictSame(
    await client.ask({ type: 'subscribe', inbox_ids: [one.id.toUpperCase()], event_types: ['message.sent'] }),
    { type: 'subscribed', inbox_ids: [one.id], event_types: ['message.sent'] },
  )
  t.match(await client.ask({ type: 'subscribe', inbox_ids: [two.id, absent, 'x'] }), {
    type: 'error',
    message: /^message\/inbox_ids\/1 /,
    details: [
      { path: '/inbox_ids/1', message: new RegExp(absent) },
      { path: '/inbox_ids/2', message: /: x$/ },
    ],
  })
  await until('the others to be subscribed', () => client.said.at(-1)?.type === 'subscribed')
  t.strictSame(client.said.at(-1), { type: 'subscribed', inbox_ids: [two.id], event_types: [] })
  const all = async () => {
    await writer.write(one, 'message.sent')
    await writer.write(one, 'message.received')
    await writer.write(two, 'message.sent')
    await writer.write(two, 'message.received')
    await writer.write(undefined, 'domain.verified')
    await client.ask({ type: 'ping' })
  }
  await all()
  await client.told(3)
  t.strictSame(client.numbers, [1, 3, 4])
  t.strictSame(await client.ask({ type: 'unsubscribe', inbox_ids: [two.id.toUpperCase(), absent] }), {
    type: 'unsubscribed',
    inbox_ids: [two.id.toUpperCase(), absent],
  })
  await all()
  await client.told(4)
  t.strictSame(client.numbers, [1, 3, 4, 6])
  await client.ask({ type: 'subscribe', event_types: ['domain.verified', 'message.sent'] })
  t.match(await client.ask({ type: 'unsubscribe', inbox_ids: [one.id] }), {
    type: 'error',
    message: /without inbox_ids/,
  })
  await all()
  await client.told(7)
  t.strictSame(client.numbers, [1, 3, 4, 6, 11, 13, 15], 'each once, though two subscriptions take it')
  t.match(await client.ask({ type: 'subscribe', inbox_ids: [absent] }), { type: 'error' })
  t.strictSame(await client.ask({ type: 'ping' }), { type: 'pong' }, 'it stays open with what it has')
  for (let i = 0; i < 10; i++) await client.ask({ type: 'subscribe', event_types: ['message.sent'] })
  await all()
  await client.told(10)
  t.strictSame(client.numbers.slice(7), [16, 18, 20])
  t.strictSame(faults, [])
})

t.test('a key sees what it reaches', async t => {
  const { api, app, baseUrl, token } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const foreign = (await api.post('/v1/inboxes', {})).body
  const mine = (await api.post('/v1/inboxes', { podId: pod })).body
  const sibling = (await api.post('/v1/inboxes', { podId: pod })).body
  const podToken = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token
  const inboxToken = (await api.post(`/v1/inboxes/${mine.id}/api-keys`, {})).body.token
  const clients = [token, podToken, inboxToken].map(key => openSocket(t, baseUrl, key))
  const [account, ofPod, ofInbox] = await Promise.all(clients)
  for (const [client, meant] of [
    [account!, []],
    [ofPod!, [sibling.id, mine.id]],
    [ofInbox!, [mine.id]],
  ] as const) {
    t.strictSame(
      await client.ask({ type: 'subscribe', inbox_ids: [], event_types: [] }),
      { type: 'subscribed', inbox_ids: meant, event_types: [] },
      'it names what it means now, and nothing for all of an account',
    )
  }
  const late = (await api.post('/v1/inboxes', { podId: pod })).body
  const writer = createEventWriter(app)
  for (const inbox of [foreign, mine, sibling, late, undefined]) await writer.write(inbox)
  await app.store.write(db =>
    recordEvent(
      app,
      db,
      'domain.verified',
      { podId: pod, inboxId: null, threadId: null, messageId: null },
      { number: 6 },
    ),
  )
  await account!.told(6)
  await ofPod!.told(4)
  await ofInbox!.told(1)
  await writer.write(mine)
  await account!.told(7)
  await ofPod!.told(5)
  await ofInbox!.told(2)
  t.strictSame(account!.numbers, [1, 2, 3, 4, 5, 6, 6])
  t.strictSame(ofPod!.numbers, [2, 3, 4, 6, 6], 'an inbox that was made later, and the domain of the pod')
  t.strictSame(ofInbox!.numbers, [2, 6])

  for (const [narrow, out] of [
    [podToken, foreign.id],
    [inboxToken, sibling.id],
    [inboxToken, '01890000-0000-7000-8000-000000000000'],
  ]) {
    const client = await openSocket(t, baseUrl, narrow)
    client.say({ type: 'subscribe', inbox_ids: [out] })
    t.match(await client.closed, { code: 4003 })
    t.match(client.said, [{ type: 'error', message: new RegExp(`no inbox that the key reaches: ${out}`) }])
  }
})

t.test('types that nothing has are named, and the others subscribed', async t => {
  const { app, baseUrl, token, faults } = await startApi(t)
  const client = await openSocket(t, baseUrl, token)
  const types = ['message.read', 'message.sent', 'message.sent']
  t.match(await client.ask({ type: 'subscribe', event_types: types }), {
    type: 'error',
    details: [{ path: '/event_types/0', message: /message\.read/ }],
  })
  await until('the subscription', () => client.said.length === 2)
  t.strictSame(client.said[1], { type: 'subscribed', inbox_ids: [], event_types: ['message.sent'] })
  t.match(await client.ask({ type: 'subscribe', event_types: ['message.read'] }), { type: 'error' })
  const writer = createEventWriter(app)
  await writer.write(undefined, 'message.failed')
  await writer.write(undefined, 'message.sent')
  await client.told(1)
  t.strictSame(client.numbers, [2], 'no type of those is not every type')
  t.equal(client.said.length, 4)
  t.strictSame(faults, [])
})

t.test('a pod of more inboxes than are named', async t => {
  const { api, app, baseUrl } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const { token } = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body
  await app.store.write(async db => {
    for (let n = 0; n <= streamInboxesNamed; n++) {
      await insertInboxRow(db, pod, `n${n}@ours.example`)
    }
  })
  const client = await openSocket(t, baseUrl, token)
  const subscribed = await client.ask({ type: 'subscribe' })
  t.match(subscribed, { type: 'subscribed', truncated: true })
  t.equal(subscribed.inbox_ids.length, streamInboxesNamed)
})

t.test('what open sockets take is known', async t => {
  const { api, app, baseUrl, token } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const event = { type: 'message.received', podId: inbox.podId, inboxId: inbox.id }
  const client = await openSocket(t, baseUrl, token)
  t.notOk(app.readers.has(event))
  await client.ask({ type: 'subscribe', inbox_ids: [inbox.id] })
  t.ok(app.readers.has(event))
  t.notOk(app.readers.has({ ...event, inboxId: 'another' }))
  client.socket.terminate()
  await until('it to be gone', () => !app.readers.has(event))
})

t.test('what another process records', async t => {
  const { app, baseUrl, token } = await startApi(t)
  const client = await openSocket(t, baseUrl, token)
  await client.ask({ type: 'subscribe' })
  const other = await openStore(join(app.config.data_dir, 'mailboxd.sqlite'), app.clock)
  await other.write(async db =>
    leaveEvent(db, {
      ...{ id: app.ids.next(), type: 'inbox.suspended', podId: null, inboxId: null, threadId: null },
      ...{ messageId: null, payload: '{"number":1}', createdAt: app.clock.now().toISOString() },
    }),
  )
  await other.close()
  await client.told(1)
  t.strictSame(client.numbers, [1])
})

t.test('what is refused before it is a WebSocket', async t => {
  const server = await startApi(t)
  const { api, baseUrl, token, clock, faults } = server
  const refusal = async (key: string | undefined, query = '', headers = {}) => {
    const asking = request(`${baseUrl}/v1/ws${query}`, {
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    }).end()
    const [response] = await once(asking, 'response')
    const body = JSON.parse(Buffer.concat(await response.toArray()).toString())
    return { status: response.statusCode, headers: response.headers, body }
  }
  for (const [key, query] of [
    [undefined, ''],
    ['mbx_wrong', ''],
    [undefined, '?token=mbx_wrong'],
    [undefined, '?token='],
  ] as const) {
    const client = await openSocket(t, baseUrl, key, { query })
    t.match(await client.closed, { code: 4001, reason: /key/ }, 'so that clients stop')
    t.strictSame(client.said, [])
  }
  t.ok(await openSocket(t, baseUrl, undefined, { query: `?token=${token}` }))
  const other = new WsClient(`${baseUrl.replace('http', 'ws')}/v1/pods`, {
    headers: { authorization: `Bearer ${token}` },
  })
  other.on('error', () => {})
  const [, response] = await once(other, 'unexpected-response')
  t.equal(response.statusCode, 200, 'what can not be upgraded is answered as it is')
  response.resume()
  t.match(await refusal(token, '', { 'sec-websocket-key': 'short' }), {
    status: 400,
    body: { error: 'invalid_request' },
  })
  t.match(await refusal(token, '', { 'sec-websocket-version': '7' }), {
    status: 426,
    headers: { 'sec-websocket-version': '13' },
    body: { error: 'upgrade_required' },
  })
  const plain = await api.get('/v1/ws')
  t.match(
    [plain.status, plain.headers.get('upgrade'), plain.body.error],
    [426, 'websocket', 'upgrade_required'],
  )
  const withToken = await server.apiWith(undefined).get(`/v1/ws?token=${token}`)
  t.equal(withToken.status, 426)
  t.equal((await server.apiWith(undefined).get(`/v1/pods?token=${token}`)).status, 401, 'nowhere else')
  const wrong = () => openSocket(t, baseUrl, 'mbx_wrong').then(client => client.closed)
  let refused: unknown
  for (let tries = 0; !refused && tries < 100; tries++) {
    await wrong().catch(error => {
      refused = error
    })
  }
  t.match(refused, { message: /429/ }, 'failures are limited')
  t.match(await refusal('mbx_wrong'), {
    status: 429,
    headers: { 'retry-after': /^\d+$/, 'content-type': /^application\/json/ },
    body: { error: 'rate_limit_exceeded' },
  })
  t.ok(await openSocket(t, baseUrl, token), 'who has a key is let in')
  clock.advance(60_000)
  t.match(await wrong(), { code: 4001 })
  t.strictSame(faults, [])
})

t.test("Node's own client, which can not set a header", async t => {
  const { app, baseUrl, token } = await startApi(t)
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws?token=${token}`)
  t.teardown(() => socket.close())
  const said: string[] = []
  socket.addEventListener('message', ({ data }) => said.push(data))
  await once(socket, 'open')
  socket.send('{"type":"subscribe"}')
  await until('an answer', () => said.length === 1)
  await createEventWriter(app).write(undefined, 'domain.failed')
  await until('an event', () => said.length === 2)
  t.match(JSON.parse(said[1]!), { event: 'domain.failed', data: { number: 1 } })
})

t.test('what a client says that is no message', async t => {
  const { baseUrl, token, clock, faults } = await startApi(t)
  const client = await openSocket(t, baseUrl, token)
  const wrong: [unknown, RegExp][] = [
    ['', /JSON/],
    ['{', /JSON/],
    ['null', /type must be/],
    ['[]', /type must be/],
    ['"ping"', /type must be/],
    [{}, /type must be/],
    [{ type: 'toString' }, /type must be/],
    [{ type: '__proto__' }, /type must be/],
    [{ type: ['ping'] }, /type must be/],
    [{ type: 'ping', id: 1 }, /id is not a property/],
    [{ type: 'subscribe', inbox_id: 'x' }, /inbox_id is not a property/],
    [{ type: 'subscribe', inbox_ids: 'x' }, /inbox_ids/],
    [{ type: 'subscribe', inbox_ids: [1] }, /inbox_ids/],
    [{ type: 'subscribe', inbox_ids: Array(101).fill('x') }, /inbox_ids/],
    [{ type: 'subscribe', event_types: ['message.unheard'] }, /no type of event: message.unheard/],
    [{ type: 'subscribe', event_types: [7] }, /event_types/],
    [{ type: 'subscribe', event_types: Array(101).fill('x') }, /event_types/],
    [{ type: 'subscribe', last_event_id: 7 }, /last_event_id/],
    [{ type: 'subscribe', inbox_ids: ['\0'] }, /NUL/],
    [Buffer.from('{"type":"ping"}'), /text frames/],
    [Buffer.from([0xff]), /text frames/],
    [`"${'x'.repeat(60_000)}"`, /type must be/],
    [`${'['.repeat(60_000)}`, /JSON/],
  ]
  for (const [message, expected] of wrong) {
    const answer = await client.ask(message)
    const said = JSON.stringify(message).slice(0, 60)
    t.match(
      answer,
      { type: 'error', message: expected, details: { 0: { path: String, message: String } } },
      said,
    )
    clock.advance(1_000)
  }
  clock.advance(10_000)
  const several = await client.ask({ type: 'subscribe', inbox_ids: 7, id: 1 })
  t.match(
    several.details.map((fault: { path: string }) => fault.path).sort(),
    ['/id', '/inbox_ids'],
    'every fault',
  )
  t.strictSame(await client.ask({ type: 'ping' }), { type: 'pong' }, 'it is open still')
  t.strictSame(faults, [])
})
