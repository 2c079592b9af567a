import type { Db, WriteDb } from './dialect/dialect.ts'
import { deleteDraft, deleteDraftAttachments, findDraftAttachment } from './drafts.ts'
import { deleteFromThread } from './removal.ts'
import { findThread } from './threads.ts'

/** A file below data_dir/raw that a row points to. */
export interface KeptFile {
  readonly id: string
  readonly sizeBytes: number
  readonly sha256: string
}

/** The raws, and the attachments of drafts that were not sent: `limit` of each after the id `after`. */
function keptAfter(db: Db, after: string, limit: number) {
  const raws = db
    .selectFrom('raw')
    .select(['id', 'sizeBytes', 'sha256'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
  const drafted = db
    .selectFrom('draftAttachment')
    .innerJoin('draft', 'draft.id', 'draftAttachment.draftId')
    .select(['draftAttachment.id', 'draftAttachment.sizeBytes', 'draftAttachment.sha256'])
    .where('draft.status', '!=', 'sent')
    .where('draftAttachment.id', '>', after)
    .orderBy('draftAttachment.id')
    .limit(limit)
  return { raws, drafted }
}

const firstOf = <Row extends KeptFile>(rows: Row[], limit: number) =>
  rows.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, limit)

/** The files that rows point to, `limit` of them after the id `after`. */
export async function listKeptFiles(db: Db, after: string, limit: number): Promise<KeptFile[]> {
  const { raws, drafted } = keptAfter(db, after, limit)
  const found = [
    ...(await raws.where('content', 'is', null).execute()),
    ...(await drafted.where('draftAttachment.content', 'is', null).execute()),
  ]
  return firstOf(found, limit)
}

/** The same with those whose bytes are in their rows (`content`, at most 256 KiB each). */
export async function listKeptBytes(
  db: Db,
  after: string,
  limit: number,
): Promise<(KeptFile & { readonly content: Buffer | null })[]> {
  const { raws, drafted } = keptAfter(db, after, limit)
  const found = [
    ...(await raws.select('content').execute()),
    ...(await drafted.select('draftAttachment.content').execute()),
  ]
  return firstOf(found, limit)
}

/** Whether a row points to this file now. */
export async function isFileKept(db: Db, id: string): Promise<boolean> {
  const raw = await db
    .selectFrom('raw')
    .select('id')
    .where('id', '=', id)
    .where('content', 'is', null)
    .executeTakeFirst()
  if (raw) return true
  const drafted = await db
    .selectFrom('draftAttachment')
    .innerJoin('draft', 'draft.id', 'draftAttachment.draftId')
    .select('draftAttachment.id')
    .where('draftAttachment.id', '=', id)
    .where('draftAttachment.content', 'is', null)
    .where('draft.status', '!=', 'sent')
    .executeTakeFirst()
  return drafted !== undefined
}

/** Deletes what points to this file: messages with all that is theirs, or a draft. */
export async function deleteOwnersOfFile(db: WriteDb, id: string): Promise<void> {
  const messages = await db
    .selectFrom('message')
    .select(['id', 'direction', 'rawId', 'threadId'])
    .where('rawId', '=', id)
    .execute()
  for (const { threadId, ...message } of messages) {
    const thread = await findThread(db, threadId)
    if (thread) await deleteFromThread(db, thread, [message])
  }
  const drafted = await findDraftAttachment(db, id)
  if (!drafted) return
  await db.deleteFrom('queueEntry').where('subjectId', '=', drafted.draftId).execute()
  await deleteDraftAttachments(db, drafted.draftId)
  await deleteDraft(db, drafted.draftId)
}
