import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { oneAtATime, pipelinedRequests } from '../../lib/http/pipeline.ts'
import { startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

async function open(t: Test, port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const close = 'Connection: close\r\n'

/** More than the system holds for who does not read. */
const large = Buffer.alloc(32 * 1024 * 1024)

/** A server that answers /large with much, and what was begun on it and how many connections have closed. */
async function started(t: Test) {
  const begun: string[] = []
  let closed = 0
  const answer = oneAtATime((request, response) => {
    begun.push(request.url!)
    response.end(request.url === '/large' ? large : request.url)
  })
  const server = createServer(answer)
  server.on('connection', socket => socket.once('close', () => closed++))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { port, begun, closed: () => closed }
}

/** A request of somebody else has been answered, so all that came before it has been looked at. */
async function passBy(t: Test, port: number): Promise<void> {
  const socket = await open(t, port)
  socket.write(ask('/other', close))
  await text(socket)
}

t.test('of a connection that reads nothing one answer is made, and none once it has closed', async t => {
  const { port, begun, closed } = await started(t)
  const silent = await open(t, port)
  silent.pause()
  silent.write(ask('/large').repeat(pipelinedRequests))
  await until('the first is begun', () => begun.length > 0)
  await passBy(t, port)
  await passBy(t, port)
  t.strictSame(begun, ['/large', '/other', '/other'])
  silent.destroy()
  await until('its end is known', () => closed() === 3)
  await passBy(t, port)
  t.strictSame(begun, ['/large', '/other', '/other', '/other'])
})

t.test('who asks for more ahead than may wait is cut off', async t => {
  const { port, begun } = await started(t)
  const silent = await open(t, port)
  silent.write(ask('/large').repeat(pipelinedRequests + 2))
  silent.resume()
  await once(silent, 'close')
  t.equal(begun.length, 1)
})

t.test('who reads is answered all, in order', async t => {
  const { port, token, api, faults } = await startApi(t, { requestsPerMinute: 100_000 })
  const { id } = (await api.post('/v1/inboxes', {})).body
  const socket = await open(t, port)
  const count = pipelinedRequests - 1
  const bearer = `Authorization: Bearer ${token}\r\n`
  const last = ask('/v1/nothing', bearer + close)
  socket.write(ask(`/v1/inboxes/${id}`, bearer).repeat(count) + last)
  const statuses = [...(await text(socket)).matchAll(/^HTTP\/1\.1 (\d+) /gm)].map(([, status]) => status)
  t.strictSame(statuses, [...Array<string>(count).fill('200'), '404'])
  t.strictSame(faults, [])
})
