import type { Scope } from '../../base/ids.ts'
import type { Db } from '../dialect/dialect.ts'
import type { MessageRow } from '../tables.ts'
import type { SearchFilter } from './filter.ts'

/** The newest messages that wait to be indexed and that lists have all the same. */
export const indexWaiting = 1_000

/** A message that matches, and its thread. */
export interface Waiting {
  readonly id: string
  readonly threadId: string
}

/**
 * The messages that are not in the index yet and match what is asked for besides words, newest first: lists that ask for no words
 * have them at once. Of more than `indexWaiting` the newest.
 */
export function listWaiting(db: Db, scope: Scope, filter: WaitingFilter): Promise<Waiting[]> {
  return waitingMessages(db, scope, filter).execute()
}

type WaitingFilter = SearchFilter & { readonly isRead?: boolean | undefined }
export type WaitingMessages = ReturnType<typeof waitingMessages>

/** The same as a part of a statement. */
export function waitingMessages(db: Db, scope: Scope, filter: WaitingFilter) {
  return allWaiting(db, scope, filter)
    .select(['message.id', 'message.threadId'])
    .orderBy('unindexedBody.messageId', 'desc')
    .limit(indexWaiting)
}

/** The same, of which the oldest `indexWaiting`, oldest first. */
export function listEarliestWaiting(db: Db, scope: Scope, filter: SearchFilter): Promise<MessageRow[]> {
  return allWaiting(db, scope, filter)
    .selectAll('message')
    .orderBy('message.createdAt')
    .orderBy('message.id')
    .limit(indexWaiting)
    .execute()
}

function allWaiting(db: Db, scope: Scope, filter: WaitingFilter) {
  let query = db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('inbox', 'inbox.id', 'message.inboxId')
    .where('unindexedBody.state', '=', 'new')
    .where('inbox.deletedAt', 'is', null)
  if (scope.inboxId !== null) query = query.where('message.inboxId', '=', scope.inboxId)
  else if (scope.podId !== null) query = query.where('inbox.podId', '=', scope.podId)
  const { category, exceptCategories = [], direction, after, before, hasAttachment, isRead } = filter
  if (category !== undefined) query = query.where('category', '=', category)
  for (const except of exceptCategories) query = query.where('category', '<>', except)
  if (direction !== undefined) query = query.where('direction', '=', direction)
  if (after !== undefined) query = query.where('message.createdAt', '>', after)
  if (before !== undefined) query = query.where('message.createdAt', '<', before)
  if (hasAttachment !== undefined) {
    query = query
      .innerJoin('reading', 'reading.id', 'message.readingId')
      .where('reading.attachments', hasAttachment ? '<>' : '=', '[]')
  }
  if (isRead !== undefined) {
    query = query
      .innerJoin('thread', 'thread.id', 'message.threadId')
      .where('thread.isRead', '=', isRead ? 1 : 0)
  }
  return query
}
