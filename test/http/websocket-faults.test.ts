import { once } from 'node:events'
import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { openSocket } from '../support/socket-client.ts'
import { until } from '../support/until.ts'

const close = (code: number) => Buffer.from([0x88, 0, code >> 8, code & 0xff])
/** A masked frame (RFC 6455 §5.2); the mask is zero. */
function frame(first: number, payload: Buffer): Buffer {
  const length = Buffer.alloc(10)
  length[0] = first
  length[1] = 0xff
  length.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([length, Buffer.alloc(4), payload])
}

t.test('what breaks the protocol ends its connection and nothing else', async t => {
  const server = await startApi(t)
  const witness = await openSocket(t, server.baseUrl, server.token)
  const text = Buffer.from('{"type":"ping"}')
  const faults: [name: string, bytes: Buffer, code: number][] = [
    ['an unmasked frame', Buffer.concat([Buffer.from([0x81, text.length]), text]), 1002],
    ['an unknown opcode', frame(0x83, text), 1002],
    ['a reserved bit', frame(0xc1, text), 1002],
    ['a long ping', frame(0x89, Buffer.alloc(200)), 1002],
    ['a fragmented ping', frame(0x09, text), 1002],
    ['a continuation of nothing', frame(0x80, text), 1002],
    ['a close code that is none', Buffer.concat([Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xed])]), 1002],
    ['text that is not UTF-8', frame(0x81, Buffer.from([0xff, 0xfe])), 1007],
    ['more than 64 KiB', frame(0x81, Buffer.alloc(64 * 1024 + 1, 'x')), 1009],
    [
      'more than 64 KiB in parts',
      Buffer.concat([frame(0x01, Buffer.alloc(40_000, 'x')), frame(0x80, Buffer.alloc(40_000, 'x'))]),
      1009,
    ],
    ['a length beyond all bounds', Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255]), 1009],
  ]
  for (const [name, bytes, code] of faults) {
    const { socket, received, ended } = await openRawSocket(t, server)
    socket.write(bytes)
    await until(`an end after ${name}`, () => received().length >= 4)
    const [expected, got] = [close(code), received()]
    t.strictSame([got[0], got[2], got[3]], [expected[0], expected[2], expected[3]], name)
    // The other side never closes: it is cut.
    await ended
    socket.destroy()
  }
  t.strictSame(await witness.ask({ type: 'ping' }), { type: 'pong' })
  t.strictSame(server.faults, [])
})

t.test('frames with the request, in parts, and a half that is closed', async t => {
  const server = await startApi(t)
  const { socket, received } = await openRawSocket(t, server)
  const ping = frame(0x81, Buffer.from('{"type":"ping"}'))
  for (const byte of ping) socket.write(Buffer.from([byte]))
  await until('a pong', () => received().includes('"pong"'))
  socket.end()
  await once(socket, 'close')
  const client = await openSocket(t, server.baseUrl, server.token)
  await until('its place to be free', async () => {
    const all = await Promise.all(
      Array.from({ length: 9 }, () => openSocket(t, server.baseUrl, server.token)),
    )
    const answers = await Promise.all(all.map(one => Promise.race([one.ask({ type: 'ping' }), one.closed])))
    for (const one of all) one.socket.terminate()
    return answers.every(answer => 'type' in answer)
  })
  t.strictSame(await client.ask({ type: 'ping' }), { type: 'pong' })
  t.strictSame(server.faults, [])
})
