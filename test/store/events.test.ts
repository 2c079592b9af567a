import { v7 } from 'uuid'
import { leaveEvent, listEvents } from '../../lib/store/events.ts'
import { onEveryDatabase } from '../support/databases.ts'

onEveryDatabase('events: scope, type, order and cursor', async (t, store) => {
  const made = [
    ['p1', 'i1', 'message.received'],
    ['p1', 'i2', 'message.sent'],
    ['p2', 'i3', 'message.received'],
    ['p1', 'i1', 'message.sent'],
    [null, null, 'domain.verified'],
  ].map(([podId = null, inboxId = null, type]) => ({
    ...{ id: v7(), podId, inboxId, type: type!, threadId: null, messageId: null, payload: '{}' },
    createdAt: '2026-01-02T03:04:05.678Z',
  }))
  await store.write(async db => {
    for (const row of made) leaveEvent(db, row)
  })
  await store.placed()
  const all = { podId: null, inboxId: null, type: undefined, after: undefined }
  const indexes = async (filter: object, limit = 100) => {
    const rows = await listEvents(store.read, { ...all, ...filter }, limit)
    return rows.map(row => made.findIndex(event => event.id === row.id))
  }
  t.strictSame(await indexes({}), [0, 1, 2, 3, 4])
  t.strictSame(await indexes({}, 2), [0, 1])
  t.strictSame(await indexes({ after: made[1]!.id }, 2), [2, 3])
  t.strictSame(await indexes({ podId: 'p1' }), [0, 1, 3])
  t.strictSame(await indexes({ podId: 'p1', inboxId: 'i1' }), [0, 3])
  t.strictSame(await indexes({ podId: 'p1', type: 'message.sent', after: made[1]!.id }), [3])
  t.strictSame(await indexes({ type: 'message.received' }), [0, 2])
  t.strictSame(await indexes({ after: made[4]!.id }), [])
})
