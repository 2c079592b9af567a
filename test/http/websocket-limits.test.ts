import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { streamPingMs } from '../../lib/api/event-stream.ts'
import { streamsPerKey } from '../../lib/base/problem.ts'
import { createKey, revokeAnyKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { streamDrainMs, streams } from '../../lib/core/events/stream.ts'
import { streamPongMs } from '../../lib/http/websocket-sink.ts'
import { startApi } from '../support/api-app.ts'
import { takesAll } from '../support/event-sink.ts'
import { createEventWriter } from '../support/event-writer.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { openSocket } from '../support/socket-client.ts'
import { nextTick } from '../support/stream-ticks.ts'
import { until } from '../support/until.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What buffers hold in this process, garbage aside. */
function heldBytes(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

t.test('ten connections of a key', async t => {
  const { app, api, baseUrl, token, faults } = await startApi(t)
  const clients = await Promise.all(Array.from({ length: 10 }, () => openSocket(t, baseUrl, token)))
  const eleventh = await openSocket(t, baseUrl, token)
  t.match(await eleventh.closed, { code: 4008 })
  const feed = await api.get('/v1/events/stream')
  t.match([feed.status, feed.body.error], [429, 'too_many_streams'])
  const other = await createKey(app, operator, { account: true }, null)
  t.strictSame(await (await openSocket(t, baseUrl, other.token)).ask({ type: 'ping' }), { type: 'pong' })
  clients[0]!.socket.close()
  await until('a place', async () => {
    const next = await openSocket(t, baseUrl, token)
    return Promise.race([next.closed.then(() => false), next.ask({ type: 'ping' })]).catch(() => false)
  })
  t.strictSame(faults, [])
})

t.test('ten thousand connections in all', async t => {
  const { app, baseUrl, token, faults } = await startApi(t)
  const count = streams / streamsPerKey
  const keys = await Promise.all(
    Array.from({ length: count }, () => createKey(app, operator, { account: true }, null)),
  )
  const places = keys.flatMap(({ id }) =>
    Array.from({ length: streamsPerKey }, () => app.stream.open({ ...operator, keyId: id }, takesAll)),
  )
  t.equal(places.length, streams)
  await t.rejects(openSocket(t, baseUrl, token), /503/)
  const feed = await fetch(`${baseUrl}/v1/events/stream?token=${token}`)
  t.match([feed.status, feed.headers.get('content-type')], [503, /json/])
  t.match(await feed.json(), { error: 'unavailable', message: /Too many streams/ })
  places[0]!.close()
  t.strictSame(await (await openSocket(t, baseUrl, token)).ask({ type: 'ping' }), { type: 'pong' })
  for (const { close } of places) close()
  t.strictSame(faults, [])
})

t.test('thirty messages in ten seconds', async t => {
  const { baseUrl, token, clock, faults } = await startApi(t)
  const client = await openSocket(t, baseUrl, token)
  const pongs = () => client.said.filter(one => one.type === 'pong').length
  const ping = async (count: number) => {
    const expected = pongs() + count
    for (let i = 0; i < count; i++) client.say({ type: 'ping' })
    await until('pongs', () => pongs() === expected)
  }
  await ping(29)
  clock.advance(9_000)
  await ping(1)
  clock.advance(1_001)
  await ping(29)
  client.say({ type: 'ping' })
  client.say({ type: 'ping' })
  t.match(await client.closed, { code: 4029 })
  const pinging = await openSocket(t, baseUrl, token)
  for (let i = 0; i < 31; i++) pinging.socket.ping()
  t.match(await pinging.closed, { code: 4029 }, 'pings of the protocol count')
  t.strictSame(faults, [])
})

t.test('pings, and the end of who does not answer', async t => {
  const { baseUrl, token, clock, app } = await startApi(t)
  const alive = await openSocket(t, baseUrl, token)
  const dead = await openSocket(t, baseUrl, token, { autoPong: false })
  let pings = 0
  alive.socket.on('ping', () => pings++)
  clock.advance(streamPingMs - 5_000)
  await nextTick(app)
  await alive.ask({ type: 'ping' })
  t.equal(pings, 0)
  clock.advance(5_000)
  await until('a ping', () => pings === 1)
  clock.advance(streamPongMs)
  t.match(await dead.closed, { code: 1006 })
  t.strictSame(await alive.ask({ type: 'ping' }), { type: 'pong' })
})

t.test('a reader that takes nothing is closed, and others go on', async t => {
  const { api, app, baseUrl, token, clock, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const [fast, slow] = [await openSocket(t, baseUrl, token), await openSocket(t, baseUrl, token)]
  for (const client of [fast, slow]) await client.ask({ type: 'subscribe' })
  const writer = createEventWriter(app)
  slow.socket.pause()
  const text = 'x'.repeat(400_000)
  for (let i = 0; i < 100; i++) await writer.write(inbox, 'message.received', 1, text)
  await fast.told(100)
  const before = heldBytes()
  for (let i = 0; i < 100; i++) await writer.write(inbox, 'message.received', 1, text)
  await fast.told(200)
  // Buffers are given back a moment after the collection.
  const isFlat = () => heldBytes() - before < 8 * 1024 * 1024
  t.ok(await until('the same to be held as 40 MB before', isFlat))
  clock.advance(streamDrainMs)
  await nextTick(app)
  await writer.write(inbox, 'message.received', 1, text)
  slow.socket.resume()
  t.match(await slow.closed, { code: 4009, reason: /last_event_id/ })
  const known = slow.numbers.length
  t.ok(known < 200)
  const again = await openSocket(t, baseUrl, token)
  await again.ask({ type: 'subscribe', last_event_id: slow.events.at(-1)!.event_id })
  await again.told(201 - known)
  await fast.told(201)
  t.strictSame([...slow.numbers, ...again.numbers], fast.numbers, 'it goes on where it was')
  t.strictSame(faults, [])
})

t.test('a slow reader has time to come to the close frame', async t => {
  const server = await startApi(t, {
    http: 'write_timeout = "1s"\nmax_connections_per_address = 5000\nmax_connections_per_block = 5000',
  })
  const { api, app, baseUrl, token, clock, faults } = server
  const inbox = (await api.post('/v1/inboxes', {})).body
  const slow = await openSocket(t, baseUrl, token)
  await slow.ask({ type: 'subscribe' })
  slow.socket.pause()
  const writer = createEventWriter(app)
  for (let i = 0; i < 40; i++) await writer.write(inbox, 'message.received', 1, 'x'.repeat(400_000))
  await until('it to be behind', async () => {
    clock.advance(streamDrainMs)
    await nextTick(app)
    return !app.readers.has({ type: 'message.received', podId: inbox.podId, inboxId: inbox.id })
  })
  // Its place is its own until it is gone.
  const others = await Promise.all(Array.from({ length: 9 }, () => openSocket(t, baseUrl, token)))
  t.match(await (await openSocket(t, baseUrl, token)).closed, { code: 4008 })
  for (const { socket } of others) socket.terminate()
  // As long as one that does not answer is given at any other end.
  const { id, token: other } = await createKey(app, operator, { account: true }, null)
  const silent = await openRawSocket(t, { ...server, token: other })
  await revokeAnyKey(app, id)
  await silent.ended
  clock.advance(60_000)
  await nextTick(app)
  slow.socket.resume()
  t.match(await slow.closed, { code: 4009 })
  t.strictSame(faults, [])
})

t.test('a thousand sockets', async t => {
  const { api, app, baseUrl, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const keys = await Promise.all(
    Array.from({ length: 100 }, () => createKey(app, operator, { account: true }, null)),
  )
  const clients = await Promise.all(
    keys.flatMap(({ token }) => Array.from({ length: 10 }, () => openSocket(t, baseUrl, token))),
  )
  await Promise.all(clients.map(client => client.ask({ type: 'subscribe' })))
  const writer = createEventWriter(app)
  for (let i = 0; i < 5; i++) await writer.write(inbox)
  await Promise.all(clients.map(client => client.told(5)))
  for (const { numbers } of clients) if (numbers.join() !== '1,2,3,4,5') t.fail(numbers.join())
  t.equal(clients.length, 1000)
  t.strictSame(faults, [])
})
