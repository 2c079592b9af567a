import t from 'tap'
import { FairSlots } from '../../../lib/base/fair-slots.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import type { Subscription } from '../../../lib/core/app/stream.ts'
import { createEventReader, streamSubscriptions } from '../../../lib/core/events/reader.ts'
import type { EventWindow } from '../../../lib/core/events/window.ts'
import { handleOver } from '../../../lib/store/postgres/connection.ts'
import { takesAll } from '../../support/event-sink.ts'

const of = (more: Partial<Subscription> = {}): Subscription => ({
  inboxIds: null,
  types: null,
  after: '1',
  ...more,
})

/** A reader whose window begins behind what it asks the table for, in which there is nothing; what it asked for is in `asked`. */
async function readEmptyTable(subscriptions: readonly Subscription[], more: readonly Subscription[] = []) {
  const asked: (readonly unknown[])[] = []
  const query = async (_text: string, values: readonly unknown[] = []) => {
    asked.push(values)
    // While it is read.
    for (const one of more) reader.add(one)
    if (asked.length > 9) reader.stop()
    return { command: 'SELECT', rowCount: 0, rows: [] }
  }
  const connect = async () => ({ query, release() {} })
  const db = handleOver({ connect } as never, query)
  const { reader, run } = createEventReader(
    { store: { read: db } } as unknown as App,
    operator,
    takesAll,
    () => {
      // What it does next it does before that, unless it waits for events.
      setImmediate(() => reader.stop())
      return { start: '5', end: '9', after: () => [] } as unknown as EventWindow
    },
    async () => {},
    new FairSlots({ size: 1 }),
  )
  for (const one of subscriptions) reader.add(one)
  await run()
  return asked.map(([inboxId]) => inboxId)
}

t.test('what holds nothing that is asked for is read once', async t => {
  t.strictSame(await readEmptyTable([of({ inboxIds: new Set(['i1']) })]), ['i1'])
})

t.test('who subscribes to more while the table is read has that from its beginning', async t => {
  const [one, other] = ['i1', 'i2'].map(id => of({ inboxIds: new Set([id]) }))
  t.strictSame(await readEmptyTable([one!], [other!]), ['i1', 'i1', 'i2'])
})

t.test('a connection has so many subscriptions, and what is there already is none more', async t => {
  const { reader } = createEventReader(
    {} as App,
    operator,
    takesAll,
    () => undefined,
    async () => {},
    new FairSlots({ size: 1 }),
  )
  t.equal(reader.isSubscribed, false)
  const one = (n: number) => of({ inboxIds: new Set([`i${n}`]), types: new Set(['message.sent']) })
  for (let n = 0; n < streamSubscriptions; n++) t.equal(reader.add(one(n)), true)
  t.equal(reader.isSubscribed, true)
  t.equal(reader.add(one(0)), true, 'the same')
  t.equal(reader.add({ ...one(0), after: '2' }), true, 'less of it')
  t.equal(reader.add({ ...one(0), after: '0' }), false, 'more of it')
  t.equal(reader.add({ ...one(0), types: null }), false)
  t.equal(reader.add(one(streamSubscriptions)), false)
  t.equal(reader.scopes().length, streamSubscriptions)

  t.equal(reader.remove(new Set(['i0', 'i1'])), true)
  t.equal(reader.scopes().length, streamSubscriptions - 2)
  t.equal(reader.add(of()), true)
  t.equal(reader.remove(new Set(['i2'])), false, 'one is of all inboxes')
  t.equal(reader.add({ ...one(0), after: '5' }), true, 'which takes this, too')
  t.equal(reader.remove(null), true)
  t.equal(reader.isSubscribed, false)
})
