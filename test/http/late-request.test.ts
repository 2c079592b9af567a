import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { startApi } from '../support/api-app.ts'

t.test(
  'a request that does not arrive in time is to be sent again, in its header and in its body',
  async t => {
    const { port, token, api } = await startApi(t, {
      http: 'header_timeout = "1s"\nrequest_timeout = "1s"',
    })
    const header = `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`
    for (const begun of [
      header,
      `${header}Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"name":`,
    ]) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(begun)
      const answer = await text(socket)
      t.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
      t.match(
        answer,
        /"error":"request_timeout","message":"The request did not arrive in time, so nothing was done/,
      )
    }
    t.equal((await api.get('/v1/pods')).body.total, 1, 'the default one alone')
  },
)

t.test('a request that is there when the idle time of its connection ends is answered', async t => {
  const { port, faults } = await startApi(t)
  const opened = once(subscribed(t, 'net.server.socket'), 'socket')
  const client = connect({ port, host: '127.0.0.1' })
  const [serverSide] = await opened
  const ask = () => client.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
  ask()
  await once(client, 'data')
  const answered = once(client, 'data')
  // As after a stall: the timers of Node run before it looks at what has arrived.
  setImmediate(() => {
    ask()
    serverSide.emit('timeout')
  })
  t.match(String((await answered)[0]), /^HTTP\/1\.1 200 /)
  const closed = once(client, 'close')
  serverSide.emit('timeout')
  await closed
  t.strictSame(faults, [])
})

/** Emits `socket` for each connection that a server of this process accepts. */
function subscribed(t: Test, channel: string): EventEmitter {
  const emitter = new EventEmitter()
  const tell = (message: unknown) => emitter.emit('socket', (message as { socket: Socket }).socket)
  subscribe(channel, tell)
  t.teardown(() => unsubscribe(channel, tell))
  return emitter
}
