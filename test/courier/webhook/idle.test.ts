import t from 'tap'
import { until } from '../../support/until.ts'
import { bytePeer, webhookLoopback } from './loopback.ts'

const longest = 45_000

for (const [what, field] of [
  ['a connection that waits for the next call', ''],
  ['one of a server that says it may wait for an hour', 'Keep-Alive: timeout=3600\r\n'],
] as const) {
  t.test(`${what} is ended`, async t => {
    const { call, courier } = await webhookLoopback(t)
    const peer = await bytePeer(t, socket => {
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${field}Content-Length: 0\r\n\r\n`))
    })
    t.match(await call(`http://there.example:${peer.port}/`), { result: 'delivered', status: 200 })
    t.same(courier.size, { connections: 1, origins: 1 }, 'it waits')
    await until('its end', () => peer.sockets.every(socket => socket.destroyed), longest)
    t.same(courier.size, { connections: 0, origins: 0 })
  })
}
