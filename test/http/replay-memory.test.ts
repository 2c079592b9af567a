import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Problem } from '../../lib/base/problem.ts'
import { systemClock } from '../../lib/base/time.ts'
import { operator } from '../../lib/core/app/caller.ts'
import type { EventSink, StreamEnd } from '../../lib/core/app/stream.ts'
import { eventBytes } from '../../lib/core/events/body.ts'
import { createMemoryBudget, streamMemory } from '../../lib/http/memory.ts'
import { streamBufferBytes } from '../../lib/http/websocket-sink.ts'
import { leaveEvent } from '../../lib/store/events.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { takesAll } from '../support/event-sink.ts'
import { insertMessageRow, insertThreadRow } from '../support/rows.ts'
import { until } from '../support/until.ts'

const zero = '00000000-0000-7000-8000-000000000000'

/** An inbox with so many events, each about a message of so many bytes, all before the window. */
async function startWithEvents(t: Test, { count, bytes }: { count: number; bytes: number }): Promise<ApiApp> {
  const server = await startApi(t)
  const { api, app } = server
  const { id: inboxId, podId } = (await api.post('/v1/inboxes', {})).body
  await app.store.write(async db => {
    const thread = await insertThreadRow(db, inboxId)
    for (let n = 0; n < count; n++) {
      const message = await insertMessageRow(db, thread, {
        id: app.ids.next(),
        bodyText: 'x'.repeat(bytes),
        authentication: JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' }),
      })
      leaveEvent(db, {
        ...{
          id: app.ids.next(),
          type: 'message.received',
          podId,
          inboxId,
          threadId: thread.id,
        },
        ...{ messageId: message.id, payload: '{}', createdAt: message.createdAt },
      })
    }
  })
  return server
}

/** A sink that is full after each event, until it is told to go on. */
function slowSink(): EventSink & {
  readonly seen: { entered: number; held: number; written: number }
  goOn(): void
} {
  const seen = { entered: 0, held: 0, written: 0 }
  let isFull = false
  let drained = () => {}
  const sent: (() => void)[] = []
  return {
    ...takesAll,
    seen,
    async enter() {
      seen.entered++
      seen.held++
      return { become() {}, leave: () => void seen.held-- }
    },
    write(_event, _body, whenSent) {
      seen.written++
      isFull = true
      if (whenSent) sent.push(whenSent)
    },
    isFull: () => isFull,
    drained: () =>
      new Promise(resolve => {
        drained = resolve
      }),
    goOn() {
      isFull = false
      for (const one of sent.splice(0)) one()
      drained()
    },
  }
}

t.test('who does not read on is made no more than one event', async t => {
  const { app } = await startWithEvents(t, { count: 10, bytes: 10 })
  const sink = slowSink()
  const { reader, close } = app.stream.open(operator, sink)
  t.teardown(close)
  reader.add({ inboxIds: null, types: null, after: zero })
  for (let n = 1; n <= 10; n++) {
    await until(`${n} written`, () => sink.seen.written === n)
    t.strictSame(sink.seen, { entered: n, held: 1, written: n })
    sink.goOn()
  }
  await until('the last was sent', () => sink.seen.held === 0)
})

t.test('a stream for which there is no room is ended, and its client comes again', async t => {
  const { app, faults } = await startWithEvents(t, { count: 1, bytes: 10 })
  const ends: StreamEnd[] = []
  const sink: EventSink = {
    ...takesAll,
    enter: () => Promise.reject(new Problem('unavailable')),
    end: why => void ends.push(why),
  }
  const { reader, close } = app.stream.open(operator, sink)
  t.teardown(close)
  reader.add({ inboxIds: null, types: null, after: zero })
  await until('its end', () => ends.length > 0)
  t.strictSame([ends, app.stream.count(), faults], [['full'], 0, []])
})

t.test('who goes away while he waits for room takes none, and is no fault', async t => {
  const memory = createMemoryBudget({ bytes: 10, bytesPerKey: 10, waitMs: 60_000 }, systemClock)
  const connection = () => {
    const over = new EventEmitter()
    const enter = streamMemory(
      memory,
      { key: 'k', pod: undefined },
      {
        isOver: false,
        onceOver: listener => void over.once('close', listener),
        cut() {},
      },
    )
    return { enter, end: () => over.emit('close') }
  }
  const [first, second] = [connection(), connection()]
  const room = await first.enter(10)
  const waiting = t.rejects(second.enter(5), Problem)
  second.end()
  await waiting
  t.equal(memory.held(), 10)
  first.end()
  t.equal(memory.held(), 0)
  room.leave()
  room.become(10)
  t.equal(memory.held(), 0, 'nor after its end')
})

t.test(
  'what readers of the past have not read is counted as answers are, and free when they have gone',
  async t => {
    const { port, token, door, app } = await startWithEvents(t, {
      count: 30,
      bytes: eventBytes - 10_000,
    })
    const sockets: Socket[] = []
    const open = async (path: string, ...fields: string[]) => {
      const socket = connect({ port, host: '127.0.0.1' })
      t.teardown(() => socket.destroy())
      socket.on('error', () => {})
      socket.pause()
      socket.write(
        [`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...fields, '', ''].join('\r\n'),
      )
      sockets.push(socket)
      await once(socket, 'readable')
      return socket
    }
    for (let n = 0; n < 3; n++) await open('/v1/events/stream', `Last-Event-ID: ${zero}`)
    const [cursor] = await app.store.read.selectFrom('event').select('id').orderBy('id').execute()
    for (let n = 0; n < 3; n++) {
      const socket = await open(
        '/v1/ws',
        ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      )
      socket.write(masked(JSON.stringify({ type: 'subscribe', last_event_id: cursor!.id })))
    }
    const most = streamBufferBytes + eventBytes
    await until('all wait for their readers', () => door.heldBytes() >= 3 * eventBytes)
    t.ok(door.heldBytes() <= 6 * most, `${door.heldBytes()} bytes`)
    for (const socket of sockets) socket.resetAndDestroy()
    await until('nothing is held', () => door.heldBytes() === 0)
  },
)

/** A text frame of a client (RFC 6455 §5.2) of less than 126 bytes. */
function masked(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}
