import { isId } from '../../base/ids.ts'
import {
  draftsPerInbox,
  type FoundFault,
  faultsOfText,
  type Given,
  invalidRequest,
  Problem,
} from '../../base/problem.ts'
import { isoAfter, readInstant } from '../../base/time.ts'

import { durationMs } from '../../config/duration.ts'
import { writeMailbox } from '../../mail/header/mailbox.ts'
import { singleLine } from '../../mail/header/text.ts'
import type { Draft, DraftChange, DraftError } from '../../model/draft.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import * as drafts from '../../store/drafts.ts'
import { findInbox, findPodOfInbox, kibOf } from '../../store/inboxes.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DraftAttachmentRow, DraftRow } from '../../store/tables.ts'
import type { App, Desk } from '../app/app.ts'
import { type Caller, reachesInbox } from '../app/caller.ts'
import { getInboxRow, getThreadRow, signingSecret } from '../app/reach.ts'
import { createUrlSigner } from '../app/signed.ts'
import { dropFilesOf } from '../mailbox/raws.ts'
import { readPeople, requireAddress } from '../outbound/addressees.ts'
import type { Derived } from '../outbound/correspondents.ts'
import type { Person } from '../outbound/person.ts'
import { findReply } from '../outbound/send.ts'
import { partFaults } from '../outbound/send-faults.ts'
import { requireStorage } from '../quota/storage.ts'
import { keepAttachments, removeFiles } from './attachments.ts'

async function present(
  app: Desk,
  db: Db,
  { keyId }: Caller,
  rows: readonly drafts.ListedDraftRow[],
): Promise<Draft[]> {
  if (rows.length === 0) return []
  const urls = createUrlSigner(app, await signingSecret(app, db), keyId)
  const attachments = await drafts.listDraftAttachments(
    db,
    rows.map(row => row.id),
  )
  const flag = (value: number | null) => (value === null ? null : value === 1)
  return rows.map(({ revision: _revision, isCut, derived, ...row }) => ({
    ...row,
    ...(isCut && { bodyTruncated: true as const }),
    ...shownRecipients(row, derived),
    bcc: JSON.parse(row.bcc) as string[],
    bodyFormat: row.bodyFormat as Draft['bodyFormat'],
    replyAll: flag(row.replyAll),
    includeQuote: flag(row.includeQuote),
    autoSubmitted: flag(row.autoSubmitted),
    status: row.status as Draft['status'],
    lastError: row.lastError === null ? null : (JSON.parse(row.lastError) as DraftError),
    attachments: attachments
      .filter(attachment => attachment.draftId === row.id)
      .map(({ id, filename, contentType, sizeBytes }, index) => ({
        filename,
        contentType,
        sizeBytes,
        // The bytes of one that was sent are in the message.
        url:
          row.messageId === null
            ? urls.attachmentUrl(id, 0, filename)
            : urls.attachmentUrl(row.messageId, index, filename),
      })),
  }))
}

/** Whom the draft is for: those that were named, or those that its thread led it to when it was last changed. */
function shownRecipients(
  row: Pick<DraftRow, 'to' | 'cc'>,
  derived: string | null,
): Pick<Draft, 'to' | 'cc' | 'notIncluded'> {
  const [to, cc] = [row.to, row.cc].map(json => JSON.parse(json) as string[])
  if (derived === null) return { to: to!, cc: cc!, notIncluded: [] }
  const fixed = JSON.parse(derived) as Derived
  const written = (people: readonly Person[]) =>
    people.map(({ address, name, written: as = address }) => writeMailbox({ address: as, name }))
  return {
    to: written(fixed.to),
    cc: [...cc!, ...written(fixed.cc)],
    notIncluded: [...fixed.notIncluded],
  }
}

/** The draft, if it and its inbox are there and the caller reaches them. @throws Problem `not_found` */
export async function getDraftRow(db: Db, caller: Caller, id: string): Promise<DraftRow> {
  const row = isId(id) ? await drafts.findDraft(db, id.toLowerCase()) : undefined
  const inbox = row && (await findInbox(db, row.inboxId))
  if (!row || !inbox || !reachesInbox(caller, inbox)) {
    throw new Problem('not_found', 'There is no such draft.')
  }
  return row
}

export async function getDraft(app: Desk, caller: Caller, id: string): Promise<Draft> {
  const db = app.store.read
  const [draft] = await present(app, db, caller, [await getDraftRow(db, caller, id)])
  return draft!
}

/** Newest first. @throws Problem `not_found` */
export async function listDrafts(
  app: Desk,
  caller: Caller,
  inboxId: string,
  page: Page,
): Promise<Listed<Draft>> {
  const db = app.store.read
  const inbox = await getInboxRow(db, caller, inboxId)
  const { rows, total } = await drafts.listDrafts(db, inbox.id, page)
  return { rows: await present(app, db, caller, rows), total }
}

/** @throws Problem `not_found`, `invalid_request`, `attachments_too_large`, `draft_limit_reached`, `too_many_recipients`, `storage_full` */
export async function createDraft(
  app: App,
  caller: Caller,
  inboxId: string,
  request: DraftChange,
): Promise<Draft> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const id = app.ids.next()
  const now = app.clock.now().toISOString()
  const row: DraftRow = {
    id,
    inboxId: inbox.id,
    threadId: null,
    to: '[]',
    cc: '[]',
    bcc: '[]',
    subject: null,
    body: null,
    bodyHtml: null,
    replyTo: null,
    replyAll: null,
    includeQuote: null,
    autoSubmitted: null,
    bodyFormat: null,
    sendAt: null,
    status: 'open',
    messageId: null,
    lastError: null,
    revision: 1,
    createdAt: now,
    updatedAt: now,
    derived: null,
    ...(await readFields(app, caller, inbox.id, request)),
  }
  return writeKeeping(app, caller, row, request, async (db, attachments) => {
    if ((await drafts.countUnsentDrafts(db, inbox.id)) >= draftsPerInbox) {
      throw new Problem('draft_limit_reached')
    }
    const moreKiB = Math.max(1, sizeOfAttachments(attachments) + drafts.textKiB(row))
    await requireStorage(app, db, await getInboxRow(db, caller, inbox.id), moreKiB)
    await drafts.insertDraft(db, { ...row, derived: await deriveFor(db, caller, row) })
    await drafts.insertDraftAttachments(db, attachments)
    await schedule(app, db, row)
    return []
  })
}

/** @throws Problem `not_found`, `draft_sent`, `invalid_request`, `attachments_too_large`, `too_many_recipients`, `storage_full` */
export async function changeDraft(app: App, caller: Caller, id: string, change: DraftChange): Promise<Draft> {
  const found = await getDraftRow(app.store.read, caller, id)
  if (found.status === 'sent') throw new Problem('draft_sent')
  const fields = await readFields(app, caller, found.inboxId, change)
  return writeKeeping(app, caller, found, change, async (db, attachments) => {
    const row = await getDraftRow(db, caller, found.id)
    const derived = await deriveFor(db, caller, { ...row, ...fields })
    const changes = { ...fields, derived, lastError: null, updatedAt: app.clock.now().toISOString() }
    // First what it no longer has: that makes room for the rest.
    const gone = change.attachments === undefined ? [] : await drafts.deleteDraftAttachments(db, row.id)
    const longerKiB = drafts.textKiB({ ...row, ...fields }) - drafts.textKiB(row)
    const moreKiB = Math.max(0, longerKiB) + sizeOfAttachments(attachments)
    if (moreKiB > 0) await requireStorage(app, db, await getInboxRow(db, caller, row.inboxId), moreKiB)
    if (!(await drafts.updateDraft(db, row, changes))) throw new Problem('draft_sent')
    if (fields.sendAt !== undefined) {
      await app.queue.drop(db, row.id)
      await schedule(app, db, { ...row, ...fields })
    }
    await drafts.insertDraftAttachments(db, attachments)
    return gone
  })
}

/** Also one that was sent: the message stays. @throws Problem `not_found` */
export async function deleteDraft(app: App, caller: Caller, id: string): Promise<void> {
  const { id: draftId, inboxId } = await getDraftRow(app.store.read, caller, id)
  const gone = await app.store.writeHolding(
    () => ({ inboxes: [inboxId] }),
    async db => {
      await getDraftRow(db, caller, draftId)
      return deleteRows(app, db, draftId)
    },
  )
  await removeFiles(app, gone)
}

/** Deletes some drafts of a deleted inbox. Gives how many, and which files are to be removed after the commit. */
export async function deleteSomeDrafts(
  app: App,
  db: WriteDb,
  inboxId: string,
): Promise<{ count: number; files: string[] }> {
  const { rows } = await drafts.listDrafts(db, inboxId, { limit: sweepRows, offset: 0 })
  const files: string[] = []
  for (const { id } of rows) files.push(...(await deleteRows(app, db, id)))
  return { count: rows.length, files }
}

async function deleteRows(app: App, db: WriteDb, draftId: string): Promise<string[]> {
  await app.queue.drop(db, draftId)
  const gone = await drafts.deleteDraftAttachments(db, draftId)
  await drafts.deleteDraft(db, draftId)
  return gone
}

/**
 * Keeps the attachments of a request, writes, and answers the draft. No file stays that no row points to.
 * @param write gives the attachments that went
 */
async function writeKeeping(
  app: App,
  caller: Caller,
  { id: draftId, inboxId }: Pick<DraftRow, 'id' | 'inboxId'>,
  request: DraftChange,
  write: (db: WriteDb, attachments: readonly DraftAttachmentRow[]) => Promise<string[]>,
): Promise<Draft> {
  const attachments = await keepAttachments(app, draftId, request.attachments ?? [])
  const kept = attachments.map(attachment => attachment.id)
  const written = app.store.writeHolding(
    () => ({ inboxes: [inboxId] }),
    async db => {
      const gone = await write(db, attachments)
      const [draft] = await present(app, db, caller, [(await drafts.findDraft(db, draftId))!])
      return { gone, draft: draft! }
    },
  )
  const { gone, draft } = await written.catch(async error => {
    await dropFilesOf(app, error, kept)
    throw error
  })
  await removeFiles(app, gone)
  return draft
}

/** In KiB, as the inbox counts them. */
function sizeOfAttachments(attachments: readonly DraftAttachmentRow[]): number {
  return attachments.reduce((sum, { sizeBytes }) => sum + kibOf(sizeBytes), 0)
}

/** Fixes the recipients of a reply that names none, in the write that makes or changes it. @throws Problem `too_many_recipients` */
async function deriveFor(db: WriteDb, caller: Caller, row: DraftRow): Promise<string | null> {
  const to = JSON.parse(row.to) as string[]
  if (row.threadId === null || to.length > 0) return null
  const inbox = await getInboxRow(db, caller, row.inboxId)
  const request = { threadId: row.threadId, replyAll: row.replyAll === 1 }
  const reply = await findReply(db, caller, inbox, { request })
  return reply && reply.derived.to.length > 0 ? JSON.stringify(reply.derived) : null
}

/** Has the queue send it at its time. */
async function schedule(app: App, db: WriteDb, row: DraftRow): Promise<void> {
  if (row.sendAt === null) return
  const expiresAt = isoAfter(new Date(row.sendAt), durationMs(app.config.delivery.give_up_after))
  const podId = await findPodOfInbox(db, row.inboxId)
  // Of an inbox one is sent at a time.
  const work = { kind: 'draft', subjectId: row.id, destination: row.inboxId } as const
  const whose = podId === undefined ? {} : { podId, inboxId: row.inboxId }
  await app.queue.put(db, [{ ...work, ...whose, dueAt: row.sendAt, expiresAt }])
}

/** The fields that a request gives, in the form of the row; a field that it does not give is absent. */
async function readFields(
  app: App,
  caller: Caller,
  inboxId: string,
  request: DraftChange,
): Promise<Partial<DraftRow>> {
  const fields: Partial<DraftRow> = {}
  const { to, cc, bcc, subject, body, bodyHtml, bodyFormat, threadId, replyTo } = request
  const list = (given: string | readonly string[] | null, path: string) =>
    JSON.stringify(readPeople(given, path).map(writeMailbox))
  if (to !== undefined) fields.to = list(to, '/to')
  if (cc !== undefined) fields.cc = list(cc, '/cc')
  if (bcc !== undefined) fields.bcc = list(bcc, '/bcc')
  if (subject !== undefined) fields.subject = subject === null ? null : singleLine(subject)
  if (body !== undefined) fields.body = body
  if (bodyHtml !== undefined) fields.bodyHtml = bodyHtml
  if (bodyFormat !== undefined) fields.bodyFormat = bodyFormat
  if (replyTo !== undefined) fields.replyTo = replyTo === null ? null : requireAddress(replyTo, '/replyTo')
  for (const name of ['replyAll', 'includeQuote', 'autoSubmitted'] as const) {
    const flag = request[name]
    if (flag !== undefined) fields[name] = flag === null ? null : Number(flag)
  }
  if (threadId !== undefined) fields.threadId = await readThread(app, caller, inboxId, threadId)
  if (request.sendAt !== undefined) {
    fields.sendAt = readSendAt(app, request.sendAt)
    fields.status = fields.sendAt === null ? 'open' : 'scheduled'
  }
  return fields
}

async function readThread(app: App, caller: Caller, inboxId: string, threadId: string | null) {
  if (threadId === null) return null
  const thread = await getThreadRow(app.store.read, caller, threadId)
  if (thread.inboxId !== inboxId) throw new Problem('not_found', 'This inbox has no such thread.')
  return thread.id
}

/** What no schema says of the fields of a draft. */
export function* draftFaults(given: Given, app: App): Generator<FoundFault> {
  yield* partFaults(given)
  yield* faultsOfText(given, 'sendAt', text => readSendAt(app, text))
}

function readSendAt(app: App, text: string | null): string | null {
  if (text === null) return null
  const at = readInstant(text)
  if (at !== undefined && at > app.clock.now().toISOString()) return at
  const message =
    at === undefined ? 'must be an instant such as 2026-01-31T12:00:00Z' : 'must be later than now'
  throw invalidRequest('body/sendAt', message)
}
