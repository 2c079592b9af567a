import t from 'tap'
import { openSocket, type SocketClient } from '../support/socket-client.ts'
import { startSpecified } from '../support/specified.ts'
import { until } from '../support/until.ts'

const it = await startSpecified(t)
const { api } = it
const base = it.daemon.baseUrl
const one = await it.inbox({ mailboxName: 'first' })
const pod = (await api.post('/v1/pods', {})).body
const two = await it.inbox({ mailboxName: 'second', podId: pod.id })
const inboxKey = (await api.post(`/v1/inboxes/${one.id}/api-keys`, { name: 'k' })).body
const podKey = (await api.post(`/v1/pods/${pod.id}/api-keys`, { name: 'k' })).body
const openWith = (token: string | undefined, options = {}) => openSocket(t, base, token, options)

/** How many pings of the protocol a client got: they come at their own time, so these are opened first. */
const pings = new Map<SocketClient, number>()
async function openCounting(options = {}): Promise<SocketClient> {
  const client = await openWith(it.token, options)
  client.socket.on('ping', () => pings.set(client, (pings.get(client) ?? 0) + 1))
  return client
}
const awake = await openCounting()
const asleep = await openCounting({ autoPong: false })

/** Reads nothing, so that what is told waits in the buffers of both sides, until there is more than they take. */
const crowded = await it.inbox({ mailboxName: 'crowded' })
const slow = await openWith(it.token)
await slow.ask({ type: 'subscribe', inbox_ids: [crowded.id] })
slow.socket.pause()
const large = 18
const text = `${'x'.repeat(700)}\r\n`.repeat(1_200)
for (let count = 0; count < large; count++) await it.handIn({ to: crowded.address, text })
const clock = await openCounting()

t.test('who may connect', async t => {
  t.match(
    await (await openWith('mbx_wrong')).closed,
    { code: 4001 },
    'A bad key is accepted and closed with 4001 at once',
  )
  t.match(await (await openWith(undefined)).closed, { code: 4001 }, '… one that is missing, too')
  t.strictSame(
    await (await openWith(undefined, { query: `?token=${it.token}` })).ask({ type: 'ping' }),
    { type: 'pong' },
    '`?token=`; `{"type":"ping"}` → `{"type":"pong"}`',
  )
  t.strictSame(
    await (await openWith(it.token)).ask({ type: 'subscribe' }),
    { type: 'subscribed', inbox_ids: [], event_types: [] },
    "an empty list for an account key's all",
  )
  t.strictSame(
    (await (await openWith(inboxKey.token)).ask({ type: 'subscribe' })).inbox_ids,
    [one.id],
    'for a scoped key all of its reach: an inbox key',
  )
  t.strictSame(
    (await (await openWith(podKey.token)).ask({ type: 'subscribe' })).inbox_ids,
    [two.id],
    '… a pod key',
  )
})

t.test('how it is closed', async t => {
  const beyond = await openWith(inboxKey.token)
  t.match(await beyond.ask({ type: 'subscribe', inbox_ids: [two.id] }), { type: 'error', message: /./ })
  t.match(await beyond.closed, { code: 4003 }, '4003 forbidden')

  const revoked = (await api.post(`/v1/inboxes/${one.id}/api-keys`, { name: 'r' })).body
  const held = await openWith(revoked.token)
  await held.ask({ type: 'subscribe' })
  t.equal((await api.delete(`/v1/inboxes/${one.id}/api-keys/${revoked.id}`)).status, 204)
  t.match(await held.closed, { code: 4001 }, 'revocation closes open sockets at once')

  const many = await Promise.all(Array.from({ length: 10 }, () => openWith(podKey.token)))
  t.match(
    await (await openWith(podKey.token)).closed,
    { code: 4008 },
    '10 connections; 4008 too many connections',
  )
  for (const each of many) each.socket.close()

  const chatty = await openWith(inboxKey.token)
  for (let count = 0; count < 31; count++) chatty.say({ type: 'ping' })
  t.match(
    await chatty.closed,
    { code: 4029 },
    '30 client messages in 10 s a connection; 4029 too many messages',
  )
})

t.test('what is asked for', async t => {
  const client = await openWith(it.token)
  t.match(
    await client.ask({ type: 'subscribe', inbox_ids: [one.id], event_types: ['message.sent', 'no.such'] }),
    { type: 'error', message: /no\.such/ },
    'unknown types are ignored and named in an `error`',
  )
  await until('the answer', () => client.said.at(-1)?.type === 'subscribed')
  t.strictSame(client.said.at(-1), { type: 'subscribed', inbox_ids: [one.id], event_types: ['message.sent'] })
  t.strictSame(
    await client.ask({ type: 'subscribe', inbox_ids: [two.id] }),
    { type: 'subscribed', inbox_ids: [two.id], event_types: [] },
    'Subscriptions add up',
  )
  const inFirst = await it.arrive(one.id, { to: one.address })
  const inSecond = await it.arrive(two.id, { to: two.address })
  await client.told(1)
  t.strictSame(
    client.events.map(event => event.message.id),
    [inSecond.id],
    '… and each keeps its own',
  )
  t.strictSame(
    await client.ask({ type: 'unsubscribe', inbox_ids: [two.id] }),
    { type: 'unsubscribed', inbox_ids: [two.id] },
    '`{"type":"unsubscribed","inbox_ids"}`',
  )
  t.match(
    await client.ask({ type: 'subscribe', last_event_id: '01890000-0000-7000-8000-000000000000' }),
    { type: 'error', message: /./ },
    'An unknown `last_event_id` gives an `error`',
  )
  await until('the answer', () => client.said.at(-1)?.type === 'subscribed')
  const now = await it.arrive(one.id, { to: one.address })
  await client.told(2)
  t.equal(client.events.at(-1)!.message.id, now.id, '… and the subscription goes on from now')

  const scoped = await openWith(inboxKey.token)
  const foreign = (await api.get(`/v1/events?inboxId=${two.id}`)).body.data[0].event_id
  t.match(
    await scoped.ask({ type: 'subscribe', last_event_id: foreign }),
    { type: 'error' },
    'a foreign `last_event_id`',
  )
  const again = await openWith(inboxKey.token)
  const known = (await api.get(`/v1/events?inboxId=${one.id}`)).body.data
  again.say({
    type: 'subscribe',
    last_event_id: known.find((event: { message: { id: string } }) => event.message.id === inFirst.id)
      .event_id,
  })
  await again.told(1)
  t.strictSame(
    again.events.map(event => event.message.id),
    [now.id],
    '`last_event_id` replays what came later, in order, all of it',
  )
  const later = await it.inbox({ podId: pod.id })
  const ofPod = await openWith(podKey.token)
  await ofPod.ask({ type: 'subscribe' })
  const newest = await it.inbox({ podId: pod.id })
  for (const inbox of [later, newest]) await it.arrive(inbox.id, { to: inbox.address })
  await ofPod.told(2)
  t.strictSame(
    ofPod.events.map(event => event.inbox_id),
    [later.id, newest.id],
    "a pod key sees its pod's, inboxes made later included",
  )
})

t.test('a reader that is too slow', async t => {
  // By the clock of the server: this one was opened when there was more than all buffers take, 30 s ago.
  await until('a ping', () => pings.get(clock) !== undefined, 45_000)
  slow.socket.resume()
  t.match(
    await slow.closed,
    { code: 4009 },
    'A slow reader is closed (4009) rather than buffered without end',
  )
  const last = slow.events.at(-1)!.event_id
  const again = await openWith(it.token)
  again.say({ type: 'subscribe', inbox_ids: [crowded.id], last_event_id: last })
  await again.told(large - slow.events.length)
  t.equal(
    new Set([...slow.events, ...again.events].map(event => event.event_id)).size,
    large,
    '… and resumes by cursor',
  )
})

t.test('pings', async t => {
  await until('a ping', () => pings.get(awake) !== undefined, 45_000)
  t.ok(true, 'Protocol ping every 30 s')
  t.match(await asleep.closed, { code: 1006 }, 'closed when no pong comes in 10 s')
  t.strictSame(await awake.ask({ type: 'ping' }), { type: 'pong' }, '… and who answers stays')
  const ended = it.daemon.end('SIGTERM')
  t.match(await awake.closed, { code: 1001 }, '1001 stopping')
  await ended
})
