import { v7 } from 'uuid'
import { operator } from '../../../lib/core/app/caller.ts'
import { replayEvents, sourcesOf } from '../../../lib/core/events/window.ts'
import { leaveEvent } from '../../../lib/store/events.ts'
import { onEveryDatabase } from '../../support/databases.ts'

onEveryDatabase('a replay of many inboxes reads them together, in order', async (t, store) => {
  const inboxes = Array.from({ length: 60 }, () => v7())
  // One inbox has most of the events, as it is in life.
  const made = Array.from({ length: 3000 }, (_, n) => ({
    ...{ id: v7(), podId: 'p', inboxId: n % 3 === 0 ? inboxes[0]! : inboxes[(n * 7) % 60]! },
    ...{ type: n % 2 === 0 ? 'message.sent' : 'message.received', threadId: null, messageId: null },
    ...{ payload: '{}', createdAt: '2026-01-02T03:04:05.678Z' },
  }))
  await store.write(async db => {
    for (const row of made) leaveEvent(db, row)
  })
  await store.placed()
  const replayed = async (
    caller: object,
    inboxIds: string[] | null,
    types: string[] | null,
    from: number,
  ) => {
    const sources = sourcesOf(
      { ...operator, ...caller },
      { inboxIds: inboxIds && new Set(inboxIds), types: types && new Set(types), after: '' },
      made[from]!.id,
    )
    const ids: string[] = []
    for await (const rows of replayEvents(store.read, sources, made[2500]!.id)) {
      ids.push(...rows.map(row => row.id))
    }
    return ids
  }
  const between = (from: number, wanted: (row: (typeof made)[number]) => boolean) =>
    made
      .slice(from + 1, 2501)
      .filter(wanted)
      .map(row => row.id)
  t.strictSame(
    await replayed({}, inboxes, null, 100),
    between(100, () => true),
  )
  const some = inboxes.slice(0, 7)
  t.strictSame(
    await replayed({}, some, null, 0),
    between(0, row => some.includes(row.inboxId)),
  )
  t.strictSame(
    await replayed({}, null, null, 2400),
    between(2400, () => true),
  )
  const sent = ['message.sent', 'message.unheard']
  t.strictSame(
    await replayed({}, null, sent, 7),
    between(7, row => row.type === 'message.sent'),
  )
  t.strictSame(
    await replayed({ podId: 'p' }, null, null, 7),
    between(7, () => true),
  )
  t.strictSame(await replayed({ podId: 'other' }, null, null, 7), [])
  t.strictSame(await replayed({}, null, null, 2500), [])
})
