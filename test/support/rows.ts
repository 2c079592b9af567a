import { v7 } from 'uuid'
import type { Sealed } from '../../lib/base/secrets.ts'
import { insertAccount } from '../../lib/store/account.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { insertRows, putRow } from '../../lib/store/dialect/insert.ts'
import { leftRows } from '../../lib/store/dialect/left-rows.ts'
import { addToInbox, findInbox, insertInbox } from '../../lib/store/inboxes.ts'
import { insertMessage, insertReading, insertUncountedMessages } from '../../lib/store/messages.ts'
import { newestStep } from '../../lib/store/migrations/migrate.ts'
import type { Store } from '../../lib/store/open.ts'
import { insertPod } from '../../lib/store/pods.ts'
import { findRaw } from '../../lib/store/raws.ts'
import { searchWords } from '../../lib/store/search/words.ts'
import type {
  DestinationRow,
  InboxRow,
  NodeRow,
  PodRow,
  QueueEntryRow,
  ThreadRow,
  WholeMessage,
} from '../../lib/store/tables.ts'
import { insertUncountedThreads } from '../../lib/store/threads.ts'
import { dropUnindexed, listUnindexed, putIntoIndex } from '../../lib/store/unindexed-bodies.ts'

const at = '2026-01-02T03:04:05.678Z'

/** What stands for a sealed secret where nobody opens it. */
export const sealedText = (text: string) => text as unknown as Sealed

/** An account with its default pod and one inbox in it. */
export async function insertInstallation(db: WriteDb): Promise<{ pod: PodRow; inbox: InboxRow }> {
  await insertAccount(db, {
    id: v7(),
    signingSecret: sealedText('s'),
    podCount: 0,
    inboxCount: 0,
    createdAt: at,
    webhookUrl: null,
    webhookSecret: null,
    healthAt: null,
  })
  const pod = await insertPodRow(db, { isDefault: 1 })
  return { pod, inbox: await insertInboxRow(db, pod.id, 'ann@example.com') }
}

export async function insertPodRow(db: WriteDb, changes: Partial<PodRow> = {}): Promise<PodRow> {
  const pod: PodRow = {
    id: v7(),
    clientId: null,
    name: null,
    isDefault: 0,
    inboxCount: 0,
    createdAt: at,
    ...changes,
  }
  await insertPod(db, pod)
  return pod
}

export async function insertInboxRow(db: WriteDb, podId: string, address: string): Promise<InboxRow> {
  const inbox: InboxRow = {
    id: v7(),
    podId,
    address,
    displayName: null,
    inboundCount: 0,
    outboundCount: 0,
    threadCount: 0,
    unreadThreadCount: 0,
    createdAt: at,
    deletedAt: null,
    purgedAt: null,
    webhookUrl: null,
    webhookSecret: null,
    forwardTo: null,
    forwardWhen: null,
    forwardStatus: null,
    forwardFailures: 0,
    suspendedAt: null,
    suspendedReason: null,
    isSystem: 0,
    hasHeld: 0,
    clientId: null,
    creationHash: null,
    lastMessageMs: null,
    storedKiB: 0,
  }
  await insertInbox(db, inbox)
  return inbox
}

/** The threads and messages that were written here, without all that belongs to one: no raw, no place in the counts of its thread. */
export const writtenBare = new Set<string>()

export async function insertThreadRow(
  db: WriteDb,
  inboxId: string,
  changes: Partial<ThreadRow> = {},
): Promise<ThreadRow> {
  const thread: ThreadRow = {
    id: v7(),
    inboxId,
    subject: 'Hi',
    isRead: 0,
    messageCount: 0,
    lastMessageAt: at,
    createdAt: at,
    conversation: null,
    participants: null,
    ...changes,
  }
  await insertUncountedThreads(db, [thread])
  writtenBare.add(thread.id)
  await addToInbox(db, inboxId, { threads: 1, unreadThreads: thread.isRead ? 0 : 1 })
  return thread
}

/** A message that is in the search index, too. */
export async function insertMessageRow(
  db: WriteDb,
  thread: ThreadRow,
  changes: Partial<WholeMessage> = {},
): Promise<WholeMessage> {
  const message = await insertUnindexedRow(db, thread, changes)
  await insertRows(db, 'unindexedBody', leftRows(db).unindexed.splice(0))
  const { rows } = await listUnindexed(db, { count: 1000, bytes: Number.MAX_SAFE_INTEGER })
  for (const { texts, ...row } of rows) {
    if (row.id !== message.id) continue
    await putIntoIndex(db, [{ ...row, words: searchWords(texts()) }])
    await dropUnindexed(db, [row.id])
  }
  return message
}

/** One that its follower has yet to put into the index. */
export async function insertUnindexedRow(
  db: WriteDb,
  thread: ThreadRow,
  changes: Partial<WholeMessage> = {},
): Promise<WholeMessage> {
  const id = changes.id ?? v7()
  writtenBare.add(id).add(thread.id)
  const message: WholeMessage = {
    id,
    inboxId: thread.inboxId,
    threadId: thread.id,
    direction: 'inbound',
    status: 'received',
    rawId: null,
    rfcMessageId: `<${v7()}@example.net>`,
    inReplyTo: null,
    references: '[]',
    mailFrom: 'bob@example.net',
    trace: '',
    fromAddr: 'bob@example.net',
    toAddr: 'ann@example.com',
    headerTo: null,
    deliveryRole: 'to',
    replyTo: null,
    cc: '[]',
    bcc: '[]',
    addressNames: null,
    subject: 'Hi',
    bodyText: 'Hello',
    bodyHtml: '',
    attachments: '[]',
    category: 'personal',
    autoReplyable: 1,
    verdict: 'clean',
    authentication: '{"spf":"none","dkim":"none","dmarc":"none"}',
    createdAt: at,
    fromProven: null,
    isNewInThread: null,
    autoReplyReason: null,
    readingId: id,
    extracted: null,
    parseProblems: '[]',
    ...changes,
  }
  const { readingId, bodyText, bodyHtml, attachments, extracted, parseProblems, ...rest } = message
  await insertReading(db, { id: readingId, bodyText, bodyHtml, attachments, extracted, parseProblems })
  const row = { ...rest, readingId }
  const inbox = await findInbox(db, row.inboxId)
  const raw = row.rawId === null ? undefined : await findRaw(db, row.rawId)
  const sizes = (JSON.parse(attachments) as { sizeBytes: number }[]).map(({ sizeBytes }) => sizeBytes)
  const attachmentBytes = sizes.reduce((sum, sizeBytes) => sum + sizeBytes, 0)
  if (!inbox) await insertUncountedMessages(db, [row])
  else await insertMessage(db, { row, inbox, attachmentBytes, storedBytes: raw?.sizeBytes ?? 0 })
  await addToInbox(db, row.inboxId, row.direction === 'inbound' ? { inbound: 1 } : { outbound: 1 })
  return message
}

/** What the queue has for the delivery, draft or call `subjectId`. */
export async function findQueueEntryBySubject(
  db: Store['read'],
  subjectId: string,
): Promise<QueueEntryRow | undefined> {
  return db.selectFrom('queueEntry').selectAll().where('subjectId', '=', subjectId).executeTakeFirst()
}

/** A destination that has failed as often as that. */
export function destinationRow(name: string, updatedAt: string, failures = 0): DestinationRow {
  return { name, failures, failingSince: updatedAt, lastFailure: 'down', retryAt: updatedAt, updatedAt }
}

/** A node that is up, as its row has it. */
export function nodeRow(id: string, given: Partial<NodeRow> = {}): NodeRow {
  const row: NodeRow = {
    ...{ id, holder: `${id}.1`, name: id, version: '0.1.0', newestStep, blobs: 'disk', bucketOwner: null },
    ...{ state: 'up', isDraining: 0, startedAt: new Date().toISOString(), settings: '{}' },
    leasedUntil: new Date(Date.now() + 60_000).toISOString(),
  }
  return { ...row, ...given }
}

export async function putNodeRow(db: WriteDb, row: NodeRow): Promise<void> {
  await putRow(db, 'node', row, ['id'])
}
