import { insertDeliveries } from '../../lib/store/deliveries.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { findInbox } from '../../lib/store/inboxes.ts'
import { insertQueueEntries } from '../../lib/store/queue-entries.ts'
import { insertRaw } from '../../lib/store/raws.ts'
import { deleteFromThread, listDeletableMessages } from '../../lib/store/removal.ts'
import type { MessageRow, ThreadRow } from '../../lib/store/tables.ts'
import { addMessageToThread, findThread } from '../../lib/store/threads.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInstallation, insertMessageRow, insertThreadRow } from '../support/rows.ts'

const at = (second: number) => `2026-01-02T00:00:0${second}.000Z`

async function add(db: WriteDb, thread: ThreadRow, second: number, changes: Partial<MessageRow>) {
  const message = await insertMessageRow(db, thread, { createdAt: at(second), ...changes })
  await addMessageToThread(db, thread.id, {
    createdAt: at(second),
    isRead: thread.isRead === 1,
    participants: '[]',
  })
  return message
}

onEveryDatabase('messages go with what is theirs alone; counters follow', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const { thread, first, second, third } = await store.write(async db => {
    for (const id of ['own', 'shared']) {
      await insertRaw(db, { id, sizeBytes: 1, sha256: '', content: Buffer.from('x'), createdAt: at(0) })
    }
    const thread = await insertThreadRow(db, inbox.id)
    const other = await insertThreadRow(db, inbox.id)
    await add(db, other, 1, { rawId: 'shared' })
    const first = await add(db, thread, 1, { rawId: 'shared' })
    const second = await add(db, thread, 2, { direction: 'outbound', rawId: 'own' })
    const third = await add(db, thread, 3, {})
    const delivery = {
      ...{ id: 'd', messageId: second.id, recipient: 'b@example.net', state: 'queued', captured: 0 },
      ...{ attempts: 0, replyCode: null, replyEnhanced: null, replyText: null, remoteHost: null },
      ...{
        nextAttemptAt: null,
        createdAt: at(2),
        updatedAt: at(2),
        purpose: 'send',
        mailFrom: null,
        heldBy: null,
        rcptTo: null,
        replyClass: null,
        notify: null,
        noticeAt: null,
      },
    }
    await insertDeliveries(db, [delivery])
    await insertQueueEntries(db, [
      {
        ...{
          id: 'q',
          kind: 'delivery',
          subjectId: 'd',
          destination: 'example.net',
          lane: 'fast',
          isKnown: 0,
          turn: 1,
        },
        ...{ dueAt: at(2), expiresAt: at(3), attempts: 0, leasedBy: null, leasedUntil: null },
        ...{ createdAt: at(2), podId: '-', inboxId: '-', cutOffs: 0 },
      },
    ])
    return { thread, first, second, third }
  })
  const counts = async () => {
    const row = await findInbox(store.read, inbox.id)
    return [row?.inboundCount, row?.outboundCount, row?.threadCount, row?.unreadThreadCount]
  }
  t.strictSame(await counts(), [3, 1, 2, 2])
  t.strictSame(
    (await listDeletableMessages(store.read, thread.id, 2)).map(message => message.id),
    [first.id, second.id],
  )

  t.strictSame(await store.write(db => deleteFromThread(db, thread, [third])), [])
  t.match(await findThread(store.read, thread.id), { messageCount: 2, lastMessageAt: at(2) })
  t.strictSame(await store.write(db => deleteFromThread(db, thread, [second])), ['own'])
  t.strictSame(await store.read.selectFrom('queueEntry').selectAll().execute(), [])
  t.strictSame(await store.read.selectFrom('delivery').selectAll().execute(), [])
  t.match(await findThread(store.read, thread.id), { messageCount: 1, lastMessageAt: at(1) })
  t.strictSame(await counts(), [2, 0, 2, 2])
  t.strictSame(await store.write(db => deleteFromThread(db, thread, [first])), [], 'another has this raw')
  t.equal(await findThread(store.read, thread.id), undefined)
  t.strictSame(await counts(), [1, 0, 1, 1])
})
