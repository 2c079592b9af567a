import { addToDay, deleteDaysBefore, listDay, listDaysOfInbox } from '../../lib/store/daily-usage.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInstallation, insertMessageRow, insertThreadRow } from '../support/rows.ts'

onEveryDatabase('what an inbox did on a day is added up exactly', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const [day, next] = ['2026-11-21', '2026-11-22']
  const of = (from: string, to: string) => listDaysOfInbox(store.read, { inboxId: inbox.id, from, to })
  // As two processes do, each in a write of its own.
  const large = 3 * 2 ** 30 - 1
  await Promise.all(
    Array.from({ length: 20 }, () =>
      store.write(async db =>
        addToDay(db, inbox, `${day}T12:00:00.000Z`, { delivered: 1, attachmentBytes: large, storedBytes: 7 }),
      ),
    ),
  )
  t.match(await of(day, day), [
    { day, podId: pod.id, delivered: 20, bounced: 0, attachmentBytes: 20 * large, storedBytes: 140 },
  ])
  await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const attachments = JSON.stringify([{ filename: 'a', contentType: 'b/c', sizeBytes: 5 }])
    await insertMessageRow(db, thread, { createdAt: `${next}T00:00:00.000Z`, attachments })
    await insertMessageRow(db, thread, { createdAt: `${next}T23:59:59.999Z`, direction: 'outbound' })
    addToDay(db, { ...inbox, isSystem: 1 }, `${next}T00:00:00.000Z`, { bounced: 1 })
  })
  t.match(await of(next, next), [{ inbound: 1, outbound: 1, bounced: 0, attachmentBytes: 5 }])
  t.equal((await of(day, next)).length, 2)
  for (const podId of [pod.id, null]) {
    t.match(await listDay(store.read, { day, podId, after: '' }, 10), [{ inboxId: inbox.id }])
    t.strictSame(await listDay(store.read, { day, podId, after: inbox.id }, 10), [])
  }
  t.equal(await store.write(db => deleteDaysBefore(db, next, 10)), 1)
  t.equal((await of(day, next)).length, 1)
})
