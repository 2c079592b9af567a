import { v7 } from 'uuid'
import * as drafts from '../../lib/store/drafts.ts'
import { listBytes, listedTextLength } from '../../lib/store/listed-messages.ts'
import type { DraftRow } from '../../lib/store/tables.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInboxRow, insertInstallation } from '../support/rows.ts'

const at = '2026-01-02T03:04:05.678Z'
const draft = (inboxId: string): DraftRow => ({
  ...{ id: v7(), inboxId, threadId: null, to: '[]', cc: '[]', bcc: '[]', subject: null, body: null },
  ...{ bodyHtml: null, replyTo: null, replyAll: null, includeQuote: null, autoSubmitted: null, sendAt: null },
  ...{ status: 'open', messageId: null, lastError: null, revision: 1, createdAt: at, updatedAt: at },
  ...{ derived: null, bodyFormat: null },
})

onEveryDatabase('drafts: order, counts, and changes of what was read', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const [one, two] = [draft(inbox.id), draft(inbox.id)]
  await store.write(async db => {
    const other = await insertInboxRow(db, pod.id, 'other@example.com')
    for (const row of [one, two, draft(other.id)]) await drafts.insertDraft(db, row)
  })
  const page = await drafts.listDrafts(store.read, inbox.id, { limit: 1, offset: 0 })
  t.strictSame([page.rows.map(row => row.id), page.total], [[two.id], 2])
  t.equal(await drafts.countUnsentDrafts(store.read, inbox.id), 2)

  t.equal(await store.write(db => drafts.updateDraft(db, one, { subject: 'a' })), true)
  t.equal(await store.write(db => drafts.updateDraft(db, one, { subject: 'b' })), false, 'it was read before')
  const changed = await drafts.findDraft(store.read, one.id)
  t.match(changed, { subject: 'a', revision: 2 })
  t.equal(await store.write(db => drafts.updateDraft(db, changed!, { status: 'sent' })), true)
  const sent = await drafts.findDraft(store.read, one.id)
  t.equal(await store.write(db => drafts.updateDraft(db, sent!, { status: 'open' })), false, 'it was sent')
  t.equal(await drafts.countUnsentDrafts(store.read, inbox.id), 1)
})

onEveryDatabase('a list of drafts that is too large has the older ones cut', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const length = Math.floor(listBytes / 3)
  // Two of them are less than `listBytes`, three are more.
  const rows = Array.from({ length: 4 }, () => ({
    ...draft(inbox.id),
    body: 'b'.repeat(length),
    bodyHtml: '<p>',
  }))
  await store.write(async db => {
    for (const row of rows) await drafts.insertDraft(db, row)
  })
  const { rows: listed, total } = await drafts.listDrafts(store.read, inbox.id, { limit: 10, offset: 0 })
  t.equal(total, 4)
  t.strictSame(
    listed.map(({ id, body, bodyHtml, isCut }) => [id, body?.length, bodyHtml, isCut]),
    rows
      .toReversed()
      .map(({ id }, at) => (at < 2 ? [id, length, '<p>', undefined] : [id, listedTextLength, null, true])),
  )
})

onEveryDatabase('attachments of drafts', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const row = draft(inbox.id)
  const attachment = (id: string, content: Buffer | null) => ({
    ...{ id, draftId: row.id, filename: id, contentType: 'text/plain', sizeBytes: 1, sha256: '', content },
  })
  await store.write(async db => {
    await drafts.insertDraft(db, row)
    await drafts.insertDraftAttachments(db, [attachment('b', null), attachment('a', Buffer.from('x'))])
  })
  const listed = await drafts.listDraftAttachments(store.read, [row.id])
  t.strictSame(
    listed.map(one => one.id),
    ['a', 'b'],
  )
  t.strictSame(await drafts.listDraftAttachments(store.read, []), [])
  t.strictSame((await drafts.findDraftAttachment(store.read, 'a'))?.content, Buffer.from('x'))
  t.equal((await drafts.findDraftAttachment(store.read, 'b'))?.content, null)
  t.equal((await drafts.findDraftAttachment(store.read, 'c'))?.content, undefined)
  t.strictSame((await store.write(db => drafts.emptyDraftAttachments(db, row.id))).sort(), ['a', 'b'])
  t.equal((await drafts.findDraftAttachment(store.read, 'a'))?.content, null)
  t.strictSame((await store.write(db => drafts.deleteDraftAttachments(db, row.id))).sort(), ['a', 'b'])
  await store.write(db => drafts.deleteDraft(db, row.id))
  t.equal(await drafts.findDraft(store.read, row.id), undefined)
})
