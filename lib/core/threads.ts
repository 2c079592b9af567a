import { isId } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import type { Listed, Page } from '../model/page.ts'
import type { Thread, ThreadChange, ThreadMessages } from '../model/thread.ts'
import type { Db } from '../store/dialect.ts'
import { findInbox } from '../store/inboxes.ts'
import { listThreadMessages } from '../store/messages.ts'
import type { ThreadRow } from '../store/tables.ts'
import * as threads from '../store/threads.ts'
import type { App } from './app.ts'
import { type Caller, reachesInbox } from './caller.ts'
import { getInboxRow } from './inboxes.ts'
import { presentMessages } from './messages.ts'

function present(row: ThreadRow): Thread {
  return { ...row, isRead: row.isRead === 1 }
}

/** The thread, if it and its inbox are there and the caller reaches them. @throws Problem `not_found` */
export async function getThreadRow(db: Db, caller: Caller, id: string): Promise<ThreadRow> {
  const row = isId(id) ? await threads.findThread(db, id.toLowerCase()) : undefined
  const inbox = row && (await findInbox(db, row.inboxId))
  if (!row || !inbox || !reachesInbox(caller, inbox))
    throw new Problem('not_found', 'There is no such thread.')
  return row
}

export async function getThread(app: App, caller: Caller, id: string): Promise<Thread> {
  return present(await getThreadRow(app.store.read, caller, id))
}

/** The one with the newest message first. @throws Problem `not_found` */
export async function listThreads(
  app: App,
  caller: Caller,
  inboxId: string,
  filter: { isRead: boolean | undefined },
  page: Page,
): Promise<Listed<Thread>> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const { rows, total } = await threads.listThreads(app.store.read, inbox.id, filter, page)
  return { rows: rows.map(present), total }
}

/** The messages of a thread, oldest first; of a very long one the newest `limits.threadMessages`. */
export async function getThreadMessages(app: App, caller: Caller, id: string): Promise<ThreadMessages> {
  const row = await getThreadRow(app.store.read, caller, id)
  const rows = await listThreadMessages(app.store.read, row.id, limits.threadMessages)
  return {
    threadId: row.id,
    subject: row.subject,
    isRead: row.isRead === 1,
    data: await presentMessages(app, rows),
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
  if (isRead === undefined) throw new Problem('invalid_request', 'Give is_read: true or false.')
  await app.store.write(async db => threads.setThreadRead(db, await getThreadRow(db, caller, id), isRead))
}
