import { invalidRequest } from '../../base/problem.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { MessageThread, ThreadChange, ThreadMessages } from '../../model/thread.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { countInScope } from '../../store/inboxes.ts'
import { listThreadMessages, threadMessages } from '../../store/messages.ts'
import type { SearchFilter } from '../../store/search/filter.ts'
import { searchThreads } from '../../store/search/search.ts'
import * as threads from '../../store/threads.ts'
import type { App, Desk } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, getThreadRow } from '../app/reach.ts'
import { presentMessages } from './messages.ts'
import { isSearch, readFilter } from './search-filter.ts'

function present(row: threads.ListedThreadRow): MessageThread {
  const { id, inboxId, subject, isRead, messageCount, lastMessageAt, createdAt } = row
  return { id, inboxId, subject, isRead: isRead === 1, messageCount, lastMessageAt, createdAt }
}

export async function getThread(app: Desk, caller: Caller, id: string): Promise<MessageThread> {
  return present(await getThreadRow(app.store.read, caller, id))
}

export interface ThreadFilter extends SearchFilter {
  readonly isRead: boolean | undefined
}

/** The one with the newest message first; in a search, with the newest that is found. @throws Problem `not_found`, `invalid_request` */
export async function listThreads(
  app: Desk,
  caller: Caller,
  inboxId: string,
  { isRead, ...filter }: ThreadFilter,
  page: Page,
): Promise<Listed<MessageThread>> {
  const db = app.store.read
  const inbox = await getInboxRow(db, caller, inboxId)
  const { rows, total } = isSearch(filter)
    ? await searchThreads(
        db,
        { podId: inbox.podId, inboxId: inbox.id },
        { ...readFilter(filter), isRead },
        page,
      )
    : await threads.listThreads(db, inbox.id, { isRead }, page)
  return { rows: rows.map(present), total }
}

/** Of all inboxes that the caller reaches. @throws Problem `invalid_request` */
export async function listAllThreads(
  app: Desk,
  caller: Caller,
  { isRead, ...filter }: ThreadFilter,
  page: Page,
): Promise<Listed<MessageThread>> {
  const db = app.store.read
  const known = isSearch(filter) ? undefined : await countThreads(db, caller, isRead)
  const { rows, total } = await searchThreads(db, caller, { ...readFilter(filter), isRead }, page, known)
  return { rows: rows.map(present), total }
}

async function countThreads(db: Db, caller: Caller, isRead: boolean | undefined): Promise<number> {
  const { threads, unreadThreads } = await countInScope(db, caller)
  return isRead === undefined ? threads : isRead ? threads - unreadThreads : unreadThreads
}

/** The messages of a thread, oldest first; of a very long one the newest `threadMessages`. */
export async function getThreadMessages(app: Desk, caller: Caller, id: string): Promise<ThreadMessages> {
  const row = await getThreadRow(app.store.read, caller, id)
  const rows = await listThreadMessages(app.store.read, row.id, threadMessages)
  return {
    threadId: row.id,
    inboxId: row.inboxId,
    subject: row.subject,
    isRead: row.isRead === 1,
    data: await presentMessages(app, caller, rows),
  }
}

/** Marks a thread read, or unread to queue it again. @throws Problem `not_found`, `invalid_request` */
export async function changeThread(
  app: App,
  caller: Caller,
  id: string,
  change: ThreadChange,
): Promise<void> {
  const isRead = change.is_read ?? change.isRead
  if (isRead === undefined || isRead === null)
    throw invalidRequest('body/is_read', 'is required: true or false')
  const { inboxId } = await getThreadRow(app.store.read, caller, id)
  await app.store.writeHolding(
    () => ({ inboxes: [inboxId] }),
    async db => threads.setThreadRead(db, await getThreadRow(db, caller, id), isRead),
  )
}
