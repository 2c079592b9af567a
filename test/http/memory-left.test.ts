import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { largeAnswerBytes } from '../../lib/api/operation.ts'
import { httpBytesPerKey } from '../../lib/http/server.ts'
import { listBytes } from '../../lib/store/listed-messages.ts'
import { startApi } from '../support/api-app.ts'
import { insertMessageRow, insertThreadRow } from '../support/rows.ts'
import { until } from '../support/until.ts'

/** A client by hand: what it asks for, and how it goes away. */
type Way = (socket: Socket) => unknown

t.test('however a client goes away, what its answer held is free again', async t => {
  const { api, app, port, token, door, faults } = await startApi(t, { requestsPerMinute: 1_000_000 })
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const authentication = JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' })
  const { messageId } = await app.store.write(async db => {
    const thread = await insertThreadRow(db, inboxId)
    const bodyText = 'x'.repeat(listBytes / 10)
    let messageId = ''
    for (let n = 0; n < 9; n++)
      messageId = (await insertMessageRow(db, thread, { id: app.ids.next(), bodyText, authentication })).id
    return { messageId }
  })
  const content = Buffer.alloc(8_000_000, 'x').toString('base64')
  const { body: draft } = await api.post(`/v1/inboxes/${inboxId}/drafts`, {
    attachments: [{ filename: 'a.bin', content }],
  })
  const file = new URL(draft.attachments[0].url).pathname
  const list = `/v1/inboxes/${inboxId}/messages`
  const ask = (line: string, ...fields: string[]) =>
    [`${line}`, 'Host: x', `Authorization: Bearer ${token}`, ...fields, '', ''].join('\r\n')
  const get = (path: string) => ask(`GET ${path} HTTP/1.1`)
  const answered = (socket: Socket) => once(socket, 'data')
  const turns = async (count: number) => {
    for (let n = 0; n < count; n++) await new Promise(resolve => setImmediate(resolve))
  }

  const ways: Record<string, Way> = {
    'after its request': socket => void socket.end(get(list)),
    'after its request, by a reset': socket => socket.write(get(list), () => socket.resetAndDestroy()),
    // When it is read, when its room is taken and while it is made.
    ...Object.fromEntries(
      [1, 2, 3, 5, 8, 13].map(count => [
        `${count} turns of the event loop after its request`,
        async (socket: Socket) => {
          socket.write(get(list))
          await turns(count)
          socket.resetAndDestroy()
        },
      ]),
    ),
    async 'in the middle of the answer'(socket) {
      socket.write(get(list))
      await answered(socket)
      socket.destroy()
    },
    async 'in the middle of the answer, by a reset'(socket) {
      socket.write(get(list))
      await answered(socket)
      socket.resetAndDestroy()
    },
    async 'with its half of the connection, reading on'(socket) {
      socket.end(get(list))
      socket.resume()
      await once(socket, 'close')
    },
    async 'in HTTP/1.0'(socket) {
      socket.write(ask(`GET ${list} HTTP/1.0`))
      await answered(socket)
      socket.destroy()
    },
    async 'with several requests at once, by a reset'(socket) {
      socket.write(get(list).repeat(8))
      await turns(3)
      socket.resetAndDestroy()
    },
    async 'after the first answer of several'(socket) {
      socket.write(get(`/v1/inboxes/${inboxId}`) + get(list).repeat(8))
      await answered(socket)
      socket.resetAndDestroy()
    },
    async 'after a whole answer, keeping the connection'(socket) {
      socket.write(get(list))
      let bytes = 0
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      await until('all of it', () => bytes > listBytes * 0.9)
    },
    'after a HEAD': socket => void socket.end(ask(`HEAD ${list} HTTP/1.1`)),
    'after a HEAD, by a reset': socket =>
      socket.write(ask(`HEAD ${list} HTTP/1.1`), () => socket.resetAndDestroy()),
    async 'in a file'(socket) {
      socket.write(get(file))
      await answered(socket)
      socket.resetAndDestroy()
    },
    'before a file': socket => socket.write(get(file), () => socket.resetAndDestroy()),
    'after what is refused (404)': socket => void socket.end(get(`${list.replace(inboxId, messageId)}`)),
    'after a query that is refused (400)': socket => void socket.end(get(`${list}?limit=x`)),
    'after a body that is too large (413)': socket =>
      void socket.end(
        ask('POST /v1/inboxes HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 99999999'),
      ),
    'in the middle of its body': socket =>
      socket.write(
        `${ask('POST /v1/inboxes HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 9')}{`,
        () => socket.resetAndDestroy(),
      ),
    async 'while many wait for room'(socket) {
      const others: Socket[] = []
      for (let n = 0; n < 2 * (httpBytesPerKey / largeAnswerBytes); n++) {
        const other = connect({ port, host: '127.0.0.1' })
        other.on('error', () => {})
        other.write(get(list))
        others.push(other)
      }
      socket.write(get(list))
      await turns(3)
      for (const other of others) other.resetAndDestroy()
      socket.resetAndDestroy()
    },
    'a message, after its request': socket =>
      socket.write(get(`/v1/messages/${messageId}`), () => socket.resetAndDestroy()),
    'an address that is none (Upgrade)': socket =>
      void socket.end(ask(`GET ${list} HTTP/1.1`, 'Connection: Upgrade', 'Upgrade: websocket')),
  }
  for (const [name, go] of Object.entries(ways)) {
    for (let n = 0; n < 3; n++) {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => {})
      await once(socket, 'connect')
      await go(socket)
      await until(`${name}: nothing is held`, () => door.heldBytes() === 0)
      // What is made for who has gone may take its room a moment later.
      await api.get(list)
      await until(`${name}: nothing is held after another`, () => door.heldBytes() === 0)
      socket.destroy()
    }
    t.equal(door.heldBytes(), 0, name)
  }
  t.strictSame(faults, [])
})
