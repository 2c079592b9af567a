import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { EventSource } from 'undici'
import { operator } from '../../lib/core/app/caller.ts'
import { streamDrainMs } from '../../lib/core/events/stream.ts'
import { streamHeartbeatMs, streamRetryMs } from '../../lib/http/feed.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { takesAll } from '../support/event-sink.ts'
import { createEventWriter } from '../support/event-writer.ts'
import { until } from '../support/until.ts'

interface Feed {
  readonly response: Response
  /** The lines of each event. */
  readonly blocks: readonly string[]
  /** The `id` of each event, and the number that the writer gave it. */
  readonly told: readonly (readonly [id: string, number: number])[]
  readonly ended: Promise<void>
  close(): void
}

/** Reads a stream as EventSource does. */
async function follow(
  { baseUrl, token }: ApiApp,
  query = '',
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
): Promise<Feed> {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const response = await fetch(`${baseUrl}/v1/events/stream${query}`, { headers, signal: abort.signal })
  const blocks: string[] = []
  const told: [string, number][] = []
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop()!
      blocks.push(...parts)
      for (const part of parts) {
        const [, id, event, data] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? []
        if (!id) continue
        const body = JSON.parse(data!)
        if (body.event_id !== id || body.event !== event) throw new Error(`${id} is not ${body.event_id}`)
        told.push([id, body.data.number])
      }
    }
  }
  const ended = read().catch(() => {})
  return { response, blocks, told, ended, close: () => abort.abort() }
}

const numbers = (feed: Feed) => feed.told.map(([, number]) => number)

t.test('nothing is shown before it is on the disk', async t => {
  const server = await startApi(t)
  const { api, app, baseUrl, token } = server
  const inbox = (await api.post('/v1/inboxes', {})).body
  const letter = { to: 'bob@example.net', subject: 'one', body: 'two' }
  const sent = await api.post(`/v1/inboxes/${inbox.id}/send`, letter, { 'Idempotency-Key': '1' })
  const writer = createEventWriter(app)
  const live = await follow(server)
  await until('its head', () => live.blocks.length > 0)
  const disk = Promise.withResolvers<void>()
  let asked = 0
  app.store.settled = () => {
    asked++
    return disk.promise
  }
  await writer.write(inbox, 'inbox.suspended')
  const statuses: number[] = []
  const paths = [
    'inboxes',
    `inboxes/${inbox.id}/messages/wait?timeout=0`,
    `messages/${sent.body.messageId}/raw`,
    'events/stream',
  ]
  const answers = paths.map(async path => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${baseUrl}/v1/${path}`, { headers })
    statuses.push(answer.status)
    await answer.body?.cancel()
  })
  await until('the stream and the answers wait', () => asked + statuses.length > paths.length)
  t.equal((await fetch(`${baseUrl}/health`)).status, 200)
  t.strictSame([statuses, live.told.length], [[], 0])
  disk.resolve()
  await Promise.all(answers)
  await until('the event', () => live.told.length === 1)
  t.strictSame(statuses, [200, 200, 200, 200])
})

t.test('what waits for the disk was read before', async t => {
  const server = await startApi(t)
  const { api, app } = server
  const inbox = (await api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(app)
  const disk = Promise.withResolvers<void>()
  let asked = 0
  /** While the first one waits another event is committed, whose fsync takes long. */
  const settled = () => (++asked === 1 ? writer.write(inbox, 'message.sent') : disk.promise)
  app.store.settled = settled
  t.strictSame((await api.get('/v1/events')).body.data, [])
  app.store.settled = () => undefined
  const [before] = (await api.get('/v1/events')).body.data
  const live = await follow(server)
  await until('its head', () => live.blocks.length > 0)
  asked = 0
  app.store.settled = settled
  await until('the stream waits with the event', () => asked >= 2)
  let told = 0
  const { reader, close } = app.stream.open(operator, { ...takesAll, write: () => void told++ })
  reader.add({ inboxIds: null, types: null, after: before.event_id })
  await setImmediate()
  t.strictSame([told, live.told.length], [0, 0], 'nor is it told to who comes now')
  disk.resolve()
  await until('the event', () => told > 0 && live.told.length === 1)
  close()
})

t.test('events as they come, and from a cursor on', async t => {
  const server = await startApi(t)
  const { api, app, faults } = server
  const one = (await api.post('/v1/inboxes', {})).body
  const two = (await api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(app)
  await writer.write(one, 'message.sent', 300)
  const live = await follow(server)
  t.match(live.response.headers.get('content-type'), /^text\/event-stream/)
  t.equal(live.response.headers.get('cache-control'), 'no-store')
  await until('its head', () => live.blocks[0] === `retry: ${streamRetryMs}`)
  await writer.write(one, 'message.sent')
  await writer.write(two, 'message.received')
  await until('two events', () => live.told.length === 2)
  t.strictSame(numbers(live), [301, 302])
  const rows = await app.store.read.selectFrom('event').select('id').orderBy('id').execute()
  t.strictSame(
    live.told.map(([id]) => id),
    rows.slice(300).map(row => row.id),
  )
  const key = { authorization: `Bearer ${server.token}` }
  for (const [query, headers, first, count] of [
    [`?after=${rows[9]!.id}`, {}, 11, 292],
    [`?after=${rows[9]!.id.toUpperCase()}&inboxId=${two.id}`, {}, 302, 1],
    ['', { 'last-event-id': rows[299]!.id }, 301, 2],
    [`?after=${rows[9]!.id}`, { 'last-event-id': rows[299]!.id }, 301, 2],
    [`?after=${rows[9]!.id}&type=message.received`, {}, 302, 1],
  ] as const) {
    const feed = await follow(server, query, { ...key, ...headers })
    await until('what came later', () => feed.told.length === count)
    t.strictSame(numbers(feed)[0], first, `${query} ${JSON.stringify(headers)}`)
    feed.close()
  }

  // More than a connection holds at once.
  for (let i = 0; i < 40; i++) await writer.write(one, 'message.received', 1, 'x'.repeat(400_000))
  const large = await follow(server, `?after=${rows.at(-1)!.id}`)
  await until('all of it', () => large.told.length === 40 && live.told.length === 42)
  t.strictSame(numbers(large), numbers(live).slice(2))
  t.strictSame(faults, [])
})

t.test('a cursor that is not there yet', async t => {
  const server = await startApi(t)
  const { api, app } = server
  const one = (await api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(app)
  await writer.write(one, 'message.sent', 10)
  const rows = await app.store.read.selectFrom('event').selectAll().orderBy('id').execute()
  const late = rows.slice(-3)
  // A standby has taken over with these, and the server that is asked is the one before it.
  await app.store.write(db => db.deleteFrom('event').where('id', '>=', late[0]!.id).execute())
  const known = await follow(server, `?after=${late[1]!.id}`)
  const ahead = await follow(server, '?after=ffffffff-ffff-7fff-bfff-ffffffffffff')
  await until('their heads', () => known.blocks.length > 0 && ahead.blocks.length > 0)
  await app.store.write(db => db.insertInto('event').values(late).execute())
  await writer.write(one, 'message.sent')
  await until('the newest', () => [known, ahead].every(feed => numbers(feed).includes(11)))
  t.strictSame(numbers(known), [10, 11], 'who knows some is told what came after them')
  t.strictSame(numbers(ahead), [8, 9, 10, 11], 'nobody waits for what is ahead of time')
})

t.test('EventSource goes on by itself where its connection broke', async t => {
  const server = await startApi(t)
  const inbox = (await server.api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(server.app)
  const sockets = new Set<Socket>()
  const between = createServer(client => {
    const inner = connect(server.port, '127.0.0.1')
    for (const [socket, other] of [
      [client, inner],
      [inner, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => other.destroy())
      socket.pipe(other)
    }
  })
  await once(between.listen(0, '127.0.0.1'), 'listening')
  const { port } = between.address() as AddressInfo
  const source = new EventSource(`http://127.0.0.1:${port}/v1/events/stream?token=${server.token}`)
  t.teardown(() => {
    source.close()
    between.close()
    for (const socket of sockets) socket.destroy()
  })
  const told: number[] = []
  source.addEventListener('message.received', event => {
    told.push(JSON.parse((event as MessageEvent).data).data.number)
  })
  await once(source, 'open')
  await writer.write(inbox, 'message.received', 2)
  await until('two events', () => told.length === 2)
  for (const socket of sockets) socket.destroy()
  await writer.write(inbox, 'message.received', 3)
  await until('what came meanwhile', () => told.length === 5)
  await writer.write(inbox, 'message.received')
  await until('what comes', () => told.length === 6)
  t.strictSame(told, [1, 2, 3, 4, 5, 6])
})

t.test('scopes, and what is refused before it begins', async t => {
  const server = await startApi(t)
  const { api, apiWith, app, baseUrl, token } = server
  const pod = (await api.post('/v1/pods', {})).body.id
  const mine = (await api.post('/v1/inboxes', { podId: pod })).body
  const foreign = (await api.post('/v1/inboxes', {})).body
  const { token: podToken, id } = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body
  const feed = await follow(server, `?token=${podToken}`, {})
  const writer = createEventWriter(app)
  await writer.write(foreign)
  const late = (await api.post('/v1/inboxes', { podId: pod })).body
  await writer.write(mine)
  await writer.write(late)
  await until('two events', () => feed.told.length === 2)
  t.strictSame(numbers(feed), [2, 3])

  const narrow = apiWith(podToken)
  for (const [query, error] of [
    [`?inboxId=${foreign.id}`, 'not_found'],
    ['?inboxId=x', 'not_found'],
    ['?after=x', 'invalid_request'],
    ['?type=unheard.of', 'invalid_request'],
    ['?type=message.sent&type=message.sent', 'invalid_request'],
  ]) {
    t.equal((await narrow.get(`/v1/events/stream${query}`)).body.error, error, String(query))
  }
  t.equal((await api.call('GET', '/v1/events/stream', undefined, { 'last-event-id': 'x' })).status, 400)
  t.equal((await apiWith(undefined).get('/v1/events/stream')).status, 401)
  t.equal((await apiWith(undefined).get('/v1/events/stream?token=mbx_wrong')).status, 401)
  const head = await api.call('HEAD', '/v1/events/stream')
  t.match([head.status, head.headers.get('content-type')], [200, /^text\/event-stream/])

  await api.delete(`/v1/pods/${pod}/api-keys/${id}`)
  await feed.ended
  t.equal((await fetch(`${baseUrl}/v1/events/stream?token=${podToken}`)).status, 401)
  t.notOk(app.readers.has({ type: 'message.sent', podId: pod, inboxId: mine.id }))

  const gone = await follow(server)
  gone.close()
  await until('nobody to read', () => !app.readers.has({ type: 'message.sent', podId: pod, inboxId: null }))
  t.ok(token)
  t.strictSame(server.faults, [])
})

t.test('HEAD is answered and over: nobody reads events for it', async t => {
  const server = await startApi(t)
  const { app, port, token, faults } = server
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let said = ''
  socket.setEncoding('latin1').on('data', more => {
    said += more
  })
  socket.write(`HEAD /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await until('the answer', () => said.endsWith('\r\n\r\n'))
  t.notOk(app.readers.has({ type: 'message.sent', podId: null, inboxId: null }))
  await until('its end', () => socket.readableEnded)
  t.match(said, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nContent-Type: text\/event-stream; charset=utf-8\r\n/i)
  t.match(said, /\r\nConnection: close\r\n/i)
  t.strictSame(faults, [])
})

t.test('it says that it is alive, and ends with the server', async t => {
  const server = await startApi(t)
  const feed = await follow(server)
  await until('its head', () => feed.blocks.length === 1)
  await until('a heartbeat', () => {
    server.clock.advance(streamHeartbeatMs)
    return feed.blocks.includes(':')
  })
  const stopped = server.door.stop()
  await feed.ended
  await stopped
  t.strictSame(server.faults, [])
})

t.test('a reader that takes nothing is cut off', async t => {
  const server = await startApi(t)
  const { api, app, clock, port, token } = server
  const inbox = (await api.post('/v1/inboxes', {})).body
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await until('a reader', () => app.readers.has({ type: 'message.sent', podId: null, inboxId: inbox.id }))
  socket.pause()
  const writer = createEventWriter(app)
  for (let i = 0; i < 50; i++) await writer.write(inbox, 'message.received', 1, 'x'.repeat(400_000))
  await until('its end', () => {
    clock.advance(streamDrainMs)
    return !app.readers.has({ type: 'message.sent', podId: null, inboxId: inbox.id })
  })
  const stopped = server.door.stop()
  await stopped
  t.strictSame(server.faults, [])
})
