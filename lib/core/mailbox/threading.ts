import { parentCandidates } from '../../mail/message/thread.ts'
import { bareSubject } from '../../mail/quote/subject.ts'
import type { Reading } from '../../reading/reading.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findThreadIdByMessageId } from '../../store/messages.ts'
import type { ThreadRow } from '../../store/tables.ts'
import { findThread, findThreadOfConversation, setThreadConversation } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import { isParticipant, participantsOf } from './participants.ts'

/** A message that has come. */
interface Come {
  readonly reading: Pick<Reading, 'message'>
  /** Whether its author is proven; null where that is not asked. */
  readonly fromProven: boolean | null
  /** Of a notification, by inbox: the thread of the message that it is about. */
  readonly returned: { readonly threadIds: ReadonlyMap<string, string> }
}

/** The threads that messages come to in one write, and how many come to each. */
export interface Threads {
  /** Those that begin with it, by their ids. */
  readonly begun: Map<string, ThreadRow>
  readonly continued: Map<string, { readonly thread: ThreadRow; added: number }>
  /** Of the messages of this write, which are in no table yet, by inbox and Message-ID. */
  readonly byMessageId: Map<string, ThreadRow>
}

/**
 * The thread of the message's parent in this inbox, or a new one; with the message counted in it. Never by subject alone. A notification
 * comes to that of the message which it is about.
 */
export async function findOrMakeThread(
  app: App,
  db: WriteDb,
  { reading, fromProven, returned }: Come,
  inboxId: string,
  createdAt: string,
  threads: Threads,
): Promise<ThreadRow> {
  const own = returned.threadIds.get(inboxId)
  const found =
    (own === undefined ? undefined : await findThread(db, own)) ??
    (await findParentThread(db, inboxId, parentCandidates(reading.message), threads)) ??
    (await findConversation(db, inboxId, reading.message))
  if (!found) {
    const begun: ThreadRow = {
      id: app.ids.next(),
      inboxId,
      subject: reading.message.subject,
      isRead: 0,
      messageCount: 1,
      lastMessageAt: createdAt,
      createdAt,
      conversation: reading.message.conversation?.id ?? null,
      participants: '[]',
    }
    threads.begun.set(begun.id, begun)
    return begun
  }
  // Messages of one write share the row, which each of them may change.
  const thread = threads.continued.get(found.id)?.thread ?? threads.begun.get(found.id) ?? found
  if (fromProven !== false) await rememberConversation(db, thread, reading.message, threads)
  const begun = threads.begun.get(thread.id)
  const continued = threads.continued.get(thread.id)
  if (begun) begun.messageCount++
  else if (continued) continued.added++
  else threads.continued.set(thread.id, { thread, added: 1 })
  return thread
}

/** Exchange gives our mail a conversation when it answers; later replies from a phone may name nothing else. */
async function rememberConversation(
  db: WriteDb,
  thread: ThreadRow,
  { conversation, from }: Come['reading']['message'],
  threads: Threads,
): Promise<void> {
  if (!conversation || thread.conversation !== null || !from) return
  if (!isParticipant(await participantsOf(db, thread), { fromAddr: from.address })) return
  thread.conversation = conversation.id
  if (!threads.begun.has(thread.id)) await setThreadConversation(db, thread.id, conversation.id)
}

async function findParentThread(
  db: WriteDb,
  inboxId: string,
  candidates: readonly string[],
  threads: Threads,
): Promise<ThreadRow | undefined> {
  for (const candidate of candidates) {
    const threadId = await findThreadIdByMessageId(db, inboxId, candidate)
    const thread = threadId === undefined ? undefined : await findThread(db, threadId)
    // Who comes in the same write has an id later than those that are there.
    const parent = thread ?? threads.byMessageId.get(`${inboxId} ${candidate}`)
    if (parent) return parent
  }
  return undefined
}

/**
 * The thread of a reply by Exchange or Outlook that names no id: by the id of its conversation, where the subject is that of the thread and
 * who writes took part in it. Anybody may write such an id who has seen one, so it counts where nothing else says anything.
 */
async function findConversation(
  db: WriteDb,
  inboxId: string,
  { conversation, inReplyTo, references, subject, from }: Come['reading']['message'],
): Promise<ThreadRow | undefined> {
  if (!conversation?.isReply || inReplyTo.length > 0 || references.length > 0 || !from) return undefined
  const thread = await findThreadOfConversation(db, inboxId, conversation.id)
  if (!thread || bareSubject(thread.subject) !== bareSubject(subject)) return undefined
  return isParticipant(await participantsOf(db, thread), { fromAddr: from.address }) ? thread : undefined
}
