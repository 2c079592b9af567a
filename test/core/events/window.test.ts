import t from 'tap'
import {
  createEventWindow,
  streamWindowBytes,
  streamWindowEvents,
  streamWindowMs,
  type WindowEvent,
} from '../../../lib/core/events/window.ts'

const idOf = (number: number) => String(number).padStart(8, '0')

function event(number: number, bytes = 0): WindowEvent {
  const row = {
    ...{ id: idOf(number), type: 'message.sent', podId: null, inboxId: null, threadId: null },
    ...{ messageId: null, payload: '{}', createdAt: '2026-01-02T03:04:05.678Z' },
  }
  return { row, body: bytes > 0 ? Buffer.alloc(bytes) : undefined }
}

const ids = (events: readonly WindowEvent[]) => events.map(({ row }) => row.id)

t.test('gives what came after an id', async t => {
  const window = createEventWindow(idOf(0))
  t.strictSame([window.start, window.end], [idOf(0), idOf(0)])
  window.append([event(2), event(4), event(6)], 0)
  t.strictSame([window.start, window.end], [idOf(0), idOf(6)])
  t.strictSame(ids(window.after(idOf(0), 10)), [idOf(2), idOf(4), idOf(6)])
  t.strictSame(ids(window.after(idOf(2), 1)), [idOf(4)])
  t.strictSame(ids(window.after(idOf(3), 10)), [idOf(4), idOf(6)], 'of an id that is not there')
  t.strictSame(ids(window.after(idOf(6), 10)), [])
})

t.test('is bounded in number, bytes and age', async t => {
  const many = createEventWindow('')
  for (let n = 1; n <= streamWindowEvents + 5; n++) many.append([event(n)], 0)
  t.strictSame([many.start, many.end], [idOf(5), idOf(streamWindowEvents + 5)])
  t.equal(many.after(many.start, 1_000_000).length, streamWindowEvents)

  const large = createEventWindow('')
  const half = streamWindowBytes / 2
  large.append([event(1, half), event(2, half)], 0)
  t.equal(large.start, '')
  large.append([event(3, 1)], 0)
  t.strictSame([large.start, ids(large.after(large.start, 10))], [idOf(1), [idOf(2), idOf(3)]])

  const old = createEventWindow('')
  old.append([event(1)], 0)
  old.append([event(2)], 1_000)
  old.dropOld(streamWindowMs)
  t.equal(old.start, '')
  old.dropOld(streamWindowMs + 1)
  t.equal(old.start, idOf(1))
  old.dropOld(streamWindowMs + 1_001)
  t.strictSame([old.start, old.end, old.after(idOf(2), 10)], [idOf(2), idOf(2), []])
})
