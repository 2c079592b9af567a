import t from 'tap'
import { limits } from '../../../lib/base/limits.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import type { Subscription } from '../../../lib/core/app/stream.ts'
import { createEventReader } from '../../../lib/core/events/reader.ts'
import { takesAll } from '../../support/event-sink.ts'

const of = (more: Partial<Subscription> = {}): Subscription => ({
  inboxIds: null,
  types: null,
  after: '1',
  ...more,
})

t.test('a connection has so many subscriptions, and what is there already is none more', async t => {
  const { reader } = createEventReader(
    {} as App,
    operator,
    takesAll,
    () => undefined,
    async () => {},
    work => work(),
  )
  t.equal(reader.isSubscribed, false)
  const one = (n: number) => of({ inboxIds: new Set([`i${n}`]), types: new Set(['message.sent']) })
  for (let n = 0; n < limits.streamSubscriptions; n++) t.equal(reader.add(one(n)), true)
  t.equal(reader.isSubscribed, true)
  t.equal(reader.add(one(0)), true, 'the same')
  t.equal(reader.add({ ...one(0), after: '2' }), true, 'less of it')
  t.equal(reader.add({ ...one(0), after: '0' }), false, 'more of it')
  t.equal(reader.add({ ...one(0), types: null }), false)
  t.equal(reader.add(one(limits.streamSubscriptions)), false)
  t.equal(reader.scopes().length, limits.streamSubscriptions)

  t.equal(reader.remove(new Set(['i0', 'i1'])), true)
  t.equal(reader.scopes().length, limits.streamSubscriptions - 2)
  t.equal(reader.add(of()), true)
  t.equal(reader.remove(new Set(['i2'])), false, 'one is of all inboxes')
  t.equal(reader.add({ ...one(0), after: '5' }), true, 'which takes this, too')
  t.equal(reader.remove(null), true)
  t.equal(reader.isSubscribed, false)
})
