import { v7 } from 'uuid'
import { updateAccount } from '../../lib/store/account.ts'
import { deleteEventsBefore, findEvent, findLastEventId, leaveEvent } from '../../lib/store/events.ts'
import { deleteInbox, updateInbox } from '../../lib/store/inboxes.ts'
import type { WebhookDeliveryRow } from '../../lib/store/tables.ts'
import {
  deleteWebhookDeliveries,
  findEndpoint,
  findWebhook,
  findWebhookDelivery,
  insertWebhookAttempt,
  insertWebhookDelivery,
  listFailedEventIds,
  listWebhookAttempts,
  listWebhookDeliveries,
  updateWebhookDelivery,
} from '../../lib/store/webhook-deliveries.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInboxRow, insertInstallation, sealedText } from '../support/rows.ts'

const at = (second: number) => `2026-01-02T00:00:${String(second).padStart(2, '0')}.000Z`

onEveryDatabase('the webhook of an inbox, or else of the account', async (t, store) => {
  const { inbox, other } = await store.write(async db => {
    const { inbox, pod } = await insertInstallation(db)
    return { inbox, other: await insertInboxRow(db, pod.id, 'bea@example.com') }
  })
  const { read } = store
  t.equal(await findEndpoint(read, inbox.id), undefined)
  t.equal(await findWebhook(read, null), undefined)
  await store.write(async db => {
    await updateInbox(db, inbox.id, { webhookUrl: 'i', webhookSecret: sealedText('s') })
    await updateAccount(db, { webhookUrl: 'a', webhookSecret: sealedText('r') })
  })
  t.strictSame(await findEndpoint(read, inbox.id), { inboxId: inbox.id, url: 'i' })
  t.strictSame(await findEndpoint(read, other.id), { inboxId: null, url: 'a' })
  t.strictSame(await findEndpoint(read, null), { inboxId: null, url: 'a' })
  t.strictSame(await findWebhook(read, inbox.id), {
    url: 'i',
    secret: sealedText('s'),
    place: { table: 'inbox', column: 'webhookSecret', id: inbox.id },
  })
  t.match(await findWebhook(read, null), {
    url: 'a',
    secret: sealedText('r'),
    place: { table: 'account', column: 'webhookSecret' },
  })
  t.equal(await findWebhook(read, other.id), undefined)
  await store.write(db => deleteInbox(db, inbox, at(1)))
  t.equal(await findWebhook(read, inbox.id), undefined)
  t.strictSame(await findEndpoint(read, inbox.id), { inboxId: null, url: 'a' })
})

onEveryDatabase('deliveries, their log, and what failed of them', async (t, store) => {
  const { read } = store
  const events = Array.from({ length: 4 }, () => v7())
  const row = (eventId: string, state: string, second: number): WebhookDeliveryRow => ({
    ...{ id: v7(), eventId, inboxId: null, state, attempts: 0, url: 'u', status: null, error: null },
    ...{ nextAttemptAt: null, createdAt: at(second), updatedAt: at(second) },
  })
  const [a, b, c, d] = events as [string, string, string, string]
  const rows = [
    row(a, 'failed', 1),
    row(b, 'failed', 2),
    row(b, 'delivered', 3),
    row(c, 'queued', 4),
    row(d, 'failed', 5),
  ]
  const [first] = rows as [WebhookDeliveryRow]
  await store.write(async db => {
    for (const id of events) {
      const nothing = { podId: null, inboxId: null, threadId: null, messageId: null }
      leaveEvent(db, { id, type: 'message.sent', ...nothing, payload: '{}', createdAt: at(0) })
    }
  })
  await store.placed()
  await store.write(async db => {
    for (const one of rows) await insertWebhookDelivery(db, one)
    for (const id of ['z', 'y']) {
      const said = { url: 'u', status: null, answer: null, error: 'e', durationMs: 1, createdAt: at(1) }
      await insertWebhookAttempt(db, { id, webhookDeliveryId: first.id, ...said })
    }
  })
  t.equal(await findLastEventId(read), d)
  t.match(await findEvent(read, a), { id: a })
  t.strictSame(await listWebhookDeliveries(read, b), [rows[1], rows[2]])
  t.strictSame(
    (
      await listWebhookAttempts(
        read,
        rows.map(one => one.id),
      )
    ).map(one => one.id),
    ['y', 'z'],
  )
  t.strictSame(await listWebhookAttempts(read, []), [])
  const all = { after: '', since: '', limit: 10 }
  t.strictSame(await listFailedEventIds(read, all), [a, d], 'b was told later')
  t.strictSame(await listFailedEventIds(read, { ...all, limit: 1 }), [a])
  t.strictSame(await listFailedEventIds(read, { ...all, after: a }), [d])
  t.strictSame(await listFailedEventIds(read, { ...all, since: at(5) }), [d])

  const to = {
    ...{ state: 'deferred', attempts: 3, url: 'v', status: 500, error: 'e' },
    ...{ nextAttemptAt: at(9), updatedAt: at(8) },
  }
  await store.write(db => updateWebhookDelivery(db, first.id, to))
  t.strictSame(await findWebhookDelivery(read, first.id), { ...first, ...to })
  t.strictSame(await findWebhookDelivery(read, rows[1]!.id), rows[1])
  await store.write(db => deleteWebhookDeliveries(db, [first.id]))
  t.equal(await findWebhookDelivery(read, first.id), undefined)
  t.strictSame(await listWebhookAttempts(read, [first.id]), [])
  t.equal(await store.write(db => deleteEventsBefore(db, at(1), 100)), 4)
  t.strictSame(await read.selectFrom('webhookDelivery').selectAll().execute(), [])
})
