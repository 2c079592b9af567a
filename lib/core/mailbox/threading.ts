import { parentCandidates } from '../../mail/message/thread.ts'
import type { Reading } from '../../reading/reading.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findThreadIdByMessageId } from '../../store/messages.ts'
import type { InboxRow, ThreadRow } from '../../store/tables.ts'
import { findThread } from '../../store/threads.ts'
import type { App } from '../app/app.ts'

/** A message that has come. */
interface Come {
  readonly reading: Pick<Reading, 'message'>
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
 * The thread of the message's parent in this inbox, or a new one; with the message counted in it. Never by subject. A notification comes to
 * that of the message which it is about.
 */
export async function findOrMakeThread(
  app: App,
  db: WriteDb,
  { reading, returned }: Come,
  inbox: InboxRow,
  createdAt: string,
  threads: Threads,
): Promise<ThreadRow> {
  const own = returned.threadIds.get(inbox.id)
  const thread =
    (own === undefined ? undefined : await findThread(db, own)) ??
    (await findParentThread(db, inbox, parentCandidates(reading.message), threads))
  if (!thread) {
    const begun: ThreadRow = {
      id: app.ids.next(),
      inboxId: inbox.id,
      subject: reading.message.subject,
      isRead: 0,
      messageCount: 1,
      lastMessageAt: createdAt,
      createdAt,
    }
    threads.begun.set(begun.id, begun)
    return begun
  }
  const begun = threads.begun.get(thread.id)
  const continued = threads.continued.get(thread.id)
  if (begun) begun.messageCount++
  else if (continued) continued.added++
  else threads.continued.set(thread.id, { thread, added: 1 })
  return thread
}

async function findParentThread(
  db: WriteDb,
  inbox: InboxRow,
  candidates: readonly string[],
  threads: Threads,
): Promise<ThreadRow | undefined> {
  for (const candidate of candidates) {
    const threadId = await findThreadIdByMessageId(db, inbox.id, candidate)
    const thread = threadId === undefined ? undefined : await findThread(db, threadId)
    // Who comes in the same write has an id later than those that are there.
    const parent = thread ?? threads.byMessageId.get(`${inbox.id} ${candidate}`)
    if (parent) return parent
  }
  return undefined
}
