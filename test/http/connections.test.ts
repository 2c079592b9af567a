import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { answerBytesPerTimeout, answersBytes, createConnections } from '../../lib/http/connections.ts'
import { startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

const everything = {
  max: 10,
  maxPerAddress: 10,
  maxPerBlock: 10,
  writeTimeoutMs: 30_000,
  isTrusted: () => false,
}

async function open(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const close = 'Connection: close\r\n'
const upgrade =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'

/** Whether a new connection is answered as ever. */
async function isServed(t: Test, port: number, localAddress?: string): Promise<boolean> {
  const socket = await open(t, port, localAddress)
  socket.write(ask('/health', close))
  return /^HTTP\/1\.1 200 /.test(await text(socket))
}

t.test('there are so many in all', async t => {
  const { port, token, faults } = await startApi(t, { http: 'max_connections = 3' })
  const three = [await open(t, port), await open(t, port, '127.0.0.2'), await open(t, port, '127.0.0.3')]
  // Each is a stream, which keeps its place.
  for (const socket of three) {
    socket.write(ask('/v1/events/stream', `Authorization: Bearer ${token}\r\n`))
    await once(socket, 'data')
  }
  for (const request of [
    ask('/health'),
    ask('/v1/ws', upgrade),
    `POST /v1/pods HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]) {
    const socket = await open(t, port, '127.0.0.4')
    socket.write(request)
    const answer = await text(socket)
    t.match(answer, /^HTTP\/1\.1 503 [\s\S]*Connection: close[\s\S]*"error":"unavailable"/, request)
    t.match(answer, /^Retry-After: 10\r$/m, request)
  }
  const silent = await open(t, port, '127.0.0.5')
  silent.resume()
  await once(silent, 'close')
  three[0]!.destroy()
  await until('a place is free', () => isServed(t, port))
  t.strictSame(faults, [])
})

t.test('at the limit the connection that has been longest without a whole request makes room', async t => {
  const { port, token, faults } = await startApi(t, { http: 'max_connections = 4' })
  const key = `Authorization: Bearer ${token}\r\n`
  const stream = await open(t, port)
  stream.write(ask('/v1/events/stream', key))
  await once(stream, 'data')
  const webSocket = await open(t, port)
  webSocket.write(ask('/v1/ws', `${upgrade}${key}`))
  await once(webSocket, 'data')
  const answered = await open(t, port, '127.0.1.1')
  answered.write(ask('/health'))
  await once(answered, 'data')
  const begun = await open(t, port, '127.0.2.1')
  begun.write('POST /v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{')
  for (const idle of [answered, begun]) idle.resume()
  const isClosed = Promise.all([once(answered, 'close'), once(begun, 'close')])
  for (let number = 1; number <= 20; number++) {
    const late = await open(t, port, `127.0.3.${number}`)
    late.write(ask('/health'))
    t.match(String((await once(late, 'data'))[0]), /^HTTP\/1\.1 200 /, `${number}`)
  }
  await isClosed
  t.notOk(stream.destroyed || webSocket.destroyed)
  t.strictSame(faults, [])
})

t.test('an upload with a key keeps its place while connections without one are closed', async t => {
  const { port, token, faults } = await startApi(t, { http: 'max_connections = 3' })
  const upload = await open(t, port, '127.0.1.1')
  const answer = text(upload)
  const body = JSON.stringify({ name: 'Kept', clientId: 'kept' })
  upload.write(
    `POST /v1/pods HTTP/1.1\r\nHost: x\r\n${close}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  for (let number = 1; number <= 20; number++) {
    const idle = await open(t, port, `127.0.3.${number}`)
    idle.write(ask('/health'))
    await once(idle, 'data')
  }
  upload.write(body)
  t.match(await answer, /^HTTP\/1\.1 201 /)
  t.strictSame(faults, [])
})

t.test('a connection that has its answer and its end does not keep others out', async t => {
  const { port, token, faults } = await startApi(t, { http: 'max_connections = 2' })
  const stream = await open(t, port)
  stream.write(ask('/v1/events/stream', `Authorization: Bearer ${token}\r\n`))
  await once(stream, 'data')
  for (let number = 1; number <= 20; number++) {
    // Refused before its body came, it never closes its side.
    const lingering = connect({
      port,
      host: '127.0.0.1',
      localAddress: `127.0.4.${number}`,
      allowHalfOpen: true,
    })
    t.teardown(() => lingering.destroy())
    lingering.once('error', () => {})
    lingering.write('POST /v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{')
    t.match(String((await once(lingering, 'data'))[0]), /^HTTP\/1\.1 4/, `${number}`)
  }
  t.ok(await isServed(t, port, '127.0.5.1'))
  t.notOk(stream.destroyed)
  t.strictSame(faults, [])
})

t.test('and so many from one address', async t => {
  const { port, faults } = await startApi(t, {
    http: 'max_connections_per_address = 2\ntrusted_proxies = ["127.0.0.9/32"]',
  })
  const openFrom = async (address: string, count: number) => {
    for (let index = 0; index < count; index++) {
      const socket = await open(t, port, address)
      socket.write(ask('/health'))
      t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200 /, `${address} ${index}`)
    }
  }
  await openFrom('127.0.0.1', 2)
  const over = await open(t, port)
  over.write(ask('/health'))
  t.match(await text(over), /^HTTP\/1\.1 429 [\s\S]*Retry-After: 1\r[\s\S]*"rate_limit_exceeded"/)
  t.ok(await isServed(t, port, '127.0.0.2'), 'others are not concerned')
  await openFrom('127.0.0.9', 10)
  t.strictSame(faults, [])
})

t.test(
  'and so many from a block of addresses: ten of one network do not take what is there for all',
  async t => {
    const { port, faults } = await startApi(t, {
      http: 'max_connections_per_address = 3\nmax_connections_per_block = 4\ntrusted_proxies = ["127.0.9.9/32"]',
    })
    const answered = async (address: string) => {
      const socket = await open(t, port, address)
      socket.write(ask('/health'))
      const [answer] = await once(socket, 'data')
      return { socket, answer: String(answer) }
    }
    const mine = []
    for (let number = 1; number <= 4; number++) mine.push(await answered(`127.0.0.${number}`))
    for (const { answer } of mine) t.match(answer, /^HTTP\/1\.1 200 /)
    for (const number of [5, 5, 5, 5, 6, 7, 8, 9, 10]) {
      const { answer } = await answered(`127.0.0.${number}`)
      t.match(answer, /^HTTP\/1\.1 429 [\s\S]*"The network of your address has 4 connections open/)
    }
    t.match((await answered('127.0.9.9')).answer, /^HTTP\/1\.1 200 /, 'a proxy speaks for many')
    const another = ['127.0.1.1', '127.0.1.1', '127.0.1.1']
    for (const address of another) t.match((await answered(address)).answer, /^HTTP\/1\.1 200 /)
    for (const address of another) {
      t.match((await answered(address)).answer, /^HTTP\/1\.1 429 [\s\S]*"Your address has 3 connections open/)
    }
    // Who was refused takes nothing: not of the block for its address, nor of its address for the block.
    t.match((await answered('127.0.1.2')).answer, /^HTTP\/1\.1 200 /)
    mine[0]!.socket.destroy()
    await until('its place is free again', () => isServed(t, port, '127.0.0.5'))
    t.strictSame(faults, [])
  },
)

t.test('a header that does not come to its end is not waited for', async t => {
  const { port, faults } = await startApi(t, { http: 'header_timeout = "1s"\nrequest_timeout = "1s"' })
  for (const begun of [
    '',
    'GET /health HTTP/1.1\r\nHost:',
    'POST /v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
  ]) {
    const socket = await open(t, port)
    socket.write(begun)
    t.match(await text(socket), /^HTTP\/1\.1 40[18] /, begun)
  }
  t.strictSame(faults, [])
})

t.test('who does not read an answer is cut off, and nobody else', async t => {
  const { port, clock, token, faults } = await startApi(t, { http: 'max_connections_per_address = 2' })
  const feed = await open(t, port)
  feed.write(ask('/v1/events/stream', `Authorization: Bearer ${token}\r\n`))
  await once(feed, 'data')
  feed.resume()
  clock.stand()
  const slow = await open(t, port)
  slow.pause()
  slow.once('error', () => {})
  // More than the system keeps for who does not read.
  slow.write(ask('/v1/openapi.json').repeat(200))
  t.notOk(await isServed(t, port), 'both places are taken')
  await until('a place is free', () => {
    clock.advance(5_000)
    return isServed(t, port)
  })
  t.notOk(feed.readableEnded || feed.destroyed, 'a stream of which nothing waits goes on')
  t.strictSame(faults, [])
})

t.test('where too much waits for readers, the largest are cut off', async t => {
  const now = 0
  const connections = createConnections({ monotonicMs: () => now, now: () => new Date(0) }, everything)
  const third = answersBytes / 3
  const sockets = [third, third * 1.5, third, 0].map(waiting => {
    const socket = Object.assign(new PassThrough(), { bytesWritten: 0 }) as unknown as Socket
    Object.defineProperty(socket, 'writableLength', { value: waiting })
    connections.add(socket)
    return socket
  })
  await until('one is cut off', () => sockets.some(socket => socket.destroyed))
  t.strictSame(
    sockets.map(socket => socket.destroyed),
    [false, true, false, false],
  )
  for (const socket of sockets) socket.destroy()
  await until('all are gone', () => connections.count() === 0)
})

t.test('who reads a byte now and then does not count as reading', async t => {
  /** Each look is a second after the last. */
  let looks = 0
  const clock = { monotonicMs: () => looks++ * 1000, now: () => new Date(0) }
  const connections = createConnections(clock, { ...everything, writeTimeoutMs: 3000 })
  const readerOf = (bytesALook: number) => {
    const socket = new PassThrough() as unknown as Socket
    Object.defineProperty(socket, 'writableLength', { value: 1000 })
    Object.defineProperty(socket, 'bytesWritten', { get: () => 1000 + looks * bytesALook })
    connections.add(socket)
    return socket
  }
  const [slow, steady] = [readerOf(answerBytesPerTimeout / 10), readerOf(answerBytesPerTimeout)]
  await until('the slow one is cut off', () => slow!.destroyed)
  t.notOk(steady!.destroyed)
  steady!.destroy()
  await until('both are gone', () => connections.count() === 0)
})
