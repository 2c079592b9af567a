import { nameOf, Problem } from '../../base/problem.ts'
import type { BodyFormat } from '../../mail/compose/body.ts'
import type { DraftError } from '../../model/draft.ts'
import type { SendRequest, SendResult } from '../../model/send.ts'
import { type Leased, LeaseLost } from '../../queue/lease.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { emptyDraftAttachments, findDraft, listDraftAttachments, updateDraft } from '../../store/drafts.ts'
import { findInbox, findPodOfInbox, kibOf } from '../../store/inboxes.ts'
import type { DraftRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { once } from '../app/idempotency.ts'
import { getInboxRow } from '../app/reach.ts'
import { recordEvent } from '../events/record.ts'
import type { Derived } from '../outbound/correspondents.ts'
import { type Remembering, sendNow } from '../outbound/send.ts'
import { requireWhole } from '../outbound/send-faults.ts'
import { loadAttachments, removeFiles } from './attachments.ts'
import { getDraftRow } from './drafts.ts'

/** The draft was changed after it was read. */
class DraftChanged extends Error {
  override readonly name = 'DraftChanged'
}

/**
 * Sends a draft now, scheduled or not; it becomes `sent` in the write of the message, so that it is never sent twice.
 * @param key undefined where the setting idempotency.required is off and the client gave none
 * @throws Problem `not_found`, `draft_sent`; as `send`
 */
export async function sendDraft(
  app: App,
  caller: Caller,
  id: string,
  key: string | undefined,
): Promise<SendResult> {
  const { id: draftId, inboxId } = await getDraftRow(app.store.read, caller, id)
  if (key === undefined) return sendCurrent(app, caller, draftId, { remember: async () => {} })
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const repeatable = { caller, inbox, key, request: { draftId } }
  return once(app, repeatable, also => sendCurrent(app, caller, draftId, also))
}

/**
 * Sends a draft whose time has come and ends the queue entry, in one write. A refused draft stays, open, with its refusal.
 * A fault of ours is tried again by the schedule of the queue.
 */
export async function sendScheduledDraft(app: App, entry: Leased): Promise<void> {
  const draft = await findDraft(app.store.read, entry.subjectId)
  const inbox = draft && (await findInbox(app.store.read, draft.inboxId))
  try {
    if (!draft || !inbox) {
      await app.store.writeHolding(holdsNothing, db => app.queue.done(db, entry))
      return
    }
    // Who scheduled it had the right to. What the pod may send is judged now.
    const caller: Caller = { keyId: null, podId: inbox.podId, inboxId: null }
    const refusal = await sendOrRefuse(app, caller, draft, entry)
    if (refusal) await noteRefusal(app, draft, entry, refusal)
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
    app.log.info({ draftId: entry.subjectId }, 'the draft was sent, changed or deleted meanwhile')
  }
}

async function sendOrRefuse(
  app: App,
  caller: Caller,
  draft: DraftRow,
  entry: Leased,
): Promise<Problem | undefined> {
  if (entry.expiresAt <= app.clock.now().toISOString() && entry.attempts > 1) {
    return new Problem('internal_error', 'A fault of the server kept it from being sent; the log tells what.')
  }
  try {
    await sendCurrent(app, caller, draft.id, { remember: db => app.queue.done(db, entry) })
    return undefined
  } catch (error) {
    if (!(error instanceof Problem) || error.code === 'unavailable') throw error
    return error
  }
}

async function noteRefusal(
  app: App,
  { id: draftId, inboxId: heldId }: DraftRow,
  entry: Leased,
  refusal: Problem,
): Promise<void> {
  const at = app.clock.now().toISOString()
  const lastError: DraftError = { error: nameOf(refusal.code), message: refusal.message, at }
  const holdsInbox = () => ({ inboxes: [heldId] })
  await app.store.writeHolding(holdsInbox, async db => {
    await app.queue.done(db, entry)
    const row = await findDraft(db, draftId)
    const changes = { status: 'open', sendAt: null, lastError: JSON.stringify(lastError), updatedAt: at }
    if (!row || !(await updateDraft(db, row, changes))) return
    const { inboxId, threadId } = row
    const podId = (await findPodOfInbox(db, inboxId)) ?? null
    const subject = { podId, inboxId, threadId, messageId: null }
    const { error, message } = lastError
    const { was = null, now = null } = refusal.more
    await recordEvent(app, db, 'draft.blocked', subject, { draftId, error, message, was, now })
  })
  app.log.warn({ draftId, error: refusal.code }, 'a scheduled draft was refused')
}

/** How often a draft that is changed while it is composed is composed anew. */
const compositions = 3

async function sendCurrent(app: App, caller: Caller, id: string, also: Remembering): Promise<SendResult> {
  for (let count = 1; count <= compositions; count++) {
    const draft = await getDraftRow(app.store.read, caller, id)
    if (draft.status === 'sent') throw new Problem('draft_sent')
    try {
      return await sendAsRead(app, caller, draft, also)
    } catch (error) {
      if (!(error instanceof DraftChanged)) throw error
    }
  }
  throw new Problem('unavailable', 'The draft was changed again and again while it was to be sent.')
}

async function sendAsRead(app: App, caller: Caller, draft: DraftRow, also: Remembering): Promise<SendResult> {
  const request = await requestOf(app, draft)
  let files: string[] = []
  const remember = async (db: WriteDb, sent: SendResult) => {
    // First: whether the lease is still ours.
    await also.remember(db, sent)
    const { messageId } = sent
    const changes = { status: 'sent', messageId, lastError: null, updatedAt: app.clock.now().toISOString() }
    files = await emptyDraftAttachments(db, draft.id)
    if (!(await updateDraft(db, draft, changes))) throw new DraftChanged()
    await app.queue.drop(db, draft.id)
  }
  const inbox = await getInboxRow(app.store.read, caller, draft.inboxId)
  const expected = draft.derived === null ? undefined : (JSON.parse(draft.derived) as Derived)
  const freesKiB = (await listDraftAttachments(app.store.read, [draft.id])).reduce(
    (sum, { sizeBytes }) => sum + kibOf(sizeBytes),
    0,
  )
  const result = await sendNow(app, caller, inbox, { request, expected, freesKiB }, { ...also, remember })
  await removeFiles(app, files)
  return result
}

async function requestOf(app: App, draft: DraftRow): Promise<SendRequest> {
  const to = JSON.parse(draft.to) as string[]
  requireWhole({ ...draft, to, replyAll: draft.replyAll === 1 })
  const attachments = await loadAttachments(app, draft.id)
  if (!attachments) throw new DraftChanged()
  const { subject, bodyHtml, bodyFormat, threadId, replyTo, replyAll, includeQuote, autoSubmitted } = draft
  return {
    to,
    body: draft.body ?? '',
    cc: JSON.parse(draft.cc) as string[],
    bcc: JSON.parse(draft.bcc) as string[],
    attachments,
    ...(subject === null ? {} : { subject }),
    ...(bodyHtml === null ? {} : { bodyHtml }),
    ...(bodyFormat === null ? {} : { bodyFormat: bodyFormat as BodyFormat }),
    ...(threadId === null ? {} : { threadId }),
    ...(replyTo === null ? {} : { replyTo }),
    ...(replyAll === null ? {} : { replyAll: replyAll === 1 }),
    ...(includeQuote === null ? {} : { includeQuote: includeQuote === 1 }),
    ...(autoSubmitted === null ? {} : { autoSubmitted: autoSubmitted === 1 }),
  }
}
