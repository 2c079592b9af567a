import { sql } from 'kysely'
import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { addToInbox, kibOf } from './inboxes.ts'
import {
  divide,
  inSlices,
  listedTextLength,
  listedTurnBytes,
  takeListedTurn,
  takeTurnWithLarge,
} from './listed-messages.ts'
import type { DraftAttachmentRow, DraftRow } from './tables.ts'

export async function insertDraft(db: WriteDb, row: DraftRow): Promise<void> {
  await insertRow(db, 'draft', row)
  await countText(db, row, textKiB(row))
}

type DraftText = Pick<DraftRow, 'body' | 'bodyHtml'>

/** Returns what the text of a draft counts in the storage of its inbox, as long as there is the draft. */
export function textKiB({ body, bodyHtml }: DraftText): number {
  return kibOf(Buffer.byteLength(body ?? '') + Buffer.byteLength(bodyHtml ?? ''))
}

async function countText(
  db: WriteDb,
  { inboxId }: Pick<DraftRow, 'inboxId'>,
  storedKiB: number,
): Promise<void> {
  if (storedKiB !== 0) await addToInbox(db, inboxId, { storedKiB })
}

export async function findDraft(db: Db, id: string): Promise<DraftRow | undefined> {
  return db.selectFrom('draft').selectAll().where('id', '=', id).executeTakeFirst()
}

/** A row as lists show it. `isCut`: its text is cut and its HTML left out, for the answer would be too large. */
export interface ListedDraftRow extends DraftRow {
  readonly isCut?: true
}

/** Newest first; those beyond `listBytes` are cut, and no more is read of them than is shown. */
export async function listDrafts(db: Db, inboxId: string, page: Page): Promise<Listed<ListedDraftRow>> {
  const own = db.selectFrom('draft').where('inboxId', '=', inboxId)
  const { count } = await own.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  await takeTurnWithLarge()
  const sizes = await own
    .select(['id', draftBytes.as('bytes')])
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  if (sizes.reduce((sum, { bytes }) => sum + Number(bytes), 0) > listedTurnBytes) await takeListedTurn()
  const { whole, cut } = divide(sizes)
  const rows = new Map((await listWhole(db, whole)).map(row => [row.id, row]))
  for (const some of inSlices(cut)) {
    await takeListedTurn()
    for (const row of await listCut(db, some)) rows.set(row.id, row)
  }
  return { rows: sizes.flatMap(({ id }) => rows.get(id) ?? []), total: Number(count) }
}

/** Both databases know the length of a text without reading it. */
const draftBytes = sql<number>`coalesce(octet_length("body"), 0) + coalesce(octet_length("bodyHtml"), 0)
  + octet_length("to") + octet_length("cc") + octet_length("bcc")`

async function listWhole(db: Db, ids: readonly string[]): Promise<ListedDraftRow[]> {
  return ids.length === 0 ? [] : db.selectFrom('draft').selectAll().where('id', 'in', ids).execute()
}

async function listCut(db: Db, ids: readonly string[]): Promise<ListedDraftRow[]> {
  const rows = await db
    .selectFrom('draft')
    .select([
      'id',
      'inboxId',
      'threadId',
      'to',
      'cc',
      'bcc',
      'subject',
      sql<string | null>`substr("body", 1, ${sql.lit(listedTextLength)})`.as('body'),
      // Half a document of HTML is none.
      sql<null>`null`.as('bodyHtml'),
      'replyTo',
      'replyAll',
      'includeQuote',
      'autoSubmitted',
      'sendAt',
      'status',
      'messageId',
      'lastError',
      'revision',
      'createdAt',
      'updatedAt',
      'derived',
      'bodyFormat',
    ])
    .where('id', 'in', ids)
    .execute()
  return rows.map(row => ({ ...row, isCut: true }))
}

/** How many drafts of an inbox have not been sent. */
export async function countUnsentDrafts(db: Db, inboxId: string): Promise<number> {
  const { count } = await db
    .selectFrom('draft')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('inboxId', '=', inboxId)
    .where('status', 'in', ['open', 'scheduled'])
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * Changes a draft that has not been sent and is what it was when it was read. Gives false, and does nothing, when it
 * was changed since.
 */
export async function updateDraft(
  db: WriteDb,
  read: Pick<DraftRow, 'id' | 'inboxId' | 'revision'> & DraftText,
  changes: Partial<Omit<DraftRow, 'id' | 'inboxId' | 'revision' | 'createdAt'>>,
): Promise<boolean> {
  const done = await db
    .updateTable('draft')
    .set({ ...changes, revision: read.revision + 1 })
    .where('id', '=', read.id)
    .where('revision', '=', read.revision)
    .where('status', '<>', 'sent')
    .executeTakeFirst()
  if (done.numUpdatedRows === 0n) return false
  await countText(db, read, textKiB({ ...read, ...changes }) - textKiB(read))
  return true
}

/** All but the bytes, in their order. */
export async function listDraftAttachments(
  db: Db,
  draftIds: readonly string[],
): Promise<Omit<DraftAttachmentRow, 'content'>[]> {
  if (draftIds.length === 0) return []
  return db
    .selectFrom('draftAttachment')
    .select(['id', 'draftId', 'filename', 'contentType', 'sizeBytes', 'sha256'])
    .where('draftId', 'in', draftIds)
    .orderBy('draftId')
    .orderBy('id')
    .execute()
}

/** An attachment with its bytes, where they are in the row. */
export async function findDraftAttachment(db: Db, id: string): Promise<DraftAttachmentRow | undefined> {
  return db.selectFrom('draftAttachment').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertDraftAttachments(
  db: WriteDb,
  rows: readonly DraftAttachmentRow[],
): Promise<void> {
  for (const row of rows) await insertRow(db, 'draftAttachment', row)
  if (rows.length > 0) await countStored(db, rows[0]!.draftId, rows, 1)
}

/** Gives their ids: the files of those names are to be removed after the commit. */
export async function deleteDraftAttachments(db: WriteDb, draftId: string): Promise<string[]> {
  const rows = await db
    .deleteFrom('draftAttachment')
    .where('draftId', '=', draftId)
    .returning(['id', 'sizeBytes'])
    .execute()
  await countStored(db, draftId, rows, -1)
  return rows.map(row => row.id)
}

/**
 * The attachments of a draft that is now sent are in the message: their names stay here, their bytes go. Gives their ids.
 * Asked before the draft's status changes.
 */
export async function emptyDraftAttachments(db: WriteDb, draftId: string): Promise<string[]> {
  const rows = await db
    .updateTable('draftAttachment')
    .set({ content: null })
    .where('draftId', '=', draftId)
    .returning(['id', 'sizeBytes'])
    .execute()
  await countStored(db, draftId, rows, -1)
  return rows.map(row => row.id)
}

/** Counts attachments of a draft in its inbox. Those of a draft that was sent are in its message. */
async function countStored(
  db: WriteDb,
  draftId: string,
  attachments: readonly Pick<DraftAttachmentRow, 'sizeBytes'>[],
  sign: 1 | -1,
): Promise<void> {
  const draft = attachments.length > 0 ? await findDraft(db, draftId) : undefined
  if (!draft || draft.status === 'sent') return
  const storedKiB = attachments.reduce((sum, { sizeBytes }) => sum + kibOf(sizeBytes), 0)
  await addToInbox(db, draft.inboxId, { storedKiB: sign * storedKiB })
}

/** A draft whose attachments are gone. */
export async function deleteDraft(db: WriteDb, id: string): Promise<void> {
  const row = await db
    .deleteFrom('draft')
    .where('id', '=', id)
    .returning(['inboxId', 'body', 'bodyHtml'])
    .executeTakeFirst()
  if (row) await countText(db, row, -textKiB(row))
}
