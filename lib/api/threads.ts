import Type from 'typebox'
import {
  changeThread,
  getThread,
  getThreadMessages,
  listAllThreads,
  listThreads,
} from '../core/mailbox/threads.ts'
import { pageOf, shape } from '../model/shape.ts'
import { MessageThread, ThreadChange, ThreadChanged, ThreadMessages } from '../model/thread.ts'
import { largeAnswerBytes, lookup, type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'
import { filterOfQuery, searchQuery } from './search.ts'

const threadsQuery = shape({
  ...pageQuery,
  is_read: Type.Optional(
    Type.Boolean({ description: 'Only threads that are read, or only those that are not.' }),
  ),
  isRead: Type.Optional(
    Type.Boolean({
      description: 'As `is_read`, for clients that spell all names so; `is_read` counts when both are given.',
    }),
  ),
  ...searchQuery,
})

export const threadOperations: readonly Operation[] = [
  lookup({
    id: 'listThreads',
    method: 'get',
    path: '/v1/inboxes/{id}/threads',
    tag: 'Threads',
    summary:
      "List an inbox's threads, the one with the newest message first; or those in which a message is found.",
    description:
      'Ask for `is_read=false` to use the threads as a queue of work: answer one, or mark it read, and it is gone from the list.',
    access: 'inbox',
    query: threadsQuery,
    success: { status: 200, schema: pageOf(MessageThread) },
    problems: [],
    handle: async ({ app, caller, params, query }) =>
      listAnswer(
        await listThreads(
          app,
          caller,
          params.id!,
          { ...filterOfQuery(query), isRead: query.is_read ?? query.isRead },
          pageOfQuery(query),
        ),
      ),
  }),
  lookup({
    id: 'listAllThreads',
    method: 'get',
    path: '/v1/threads',
    tag: 'Threads',
    summary:
      'List the threads of all inboxes that the key reaches, or those in which a message is found, newest first.',
    description: 'The same as the list of one inbox, over all that the key reaches.',
    access: 'inbox',
    query: threadsQuery,
    success: { status: 200, schema: pageOf(MessageThread) },
    problems: [],
    handle: async ({ app, caller, query }) =>
      listAnswer(
        await listAllThreads(
          app,
          caller,
          { ...filterOfQuery(query), isRead: query.is_read ?? query.isRead },
          pageOfQuery(query),
        ),
      ),
  }),
  lookup({
    id: 'getThread',
    method: 'get',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Show a thread.',
    description:
      'What it is about, how many messages it has, and whether it is read. Its messages are a list of their own.',
    access: 'inbox',
    success: { status: 200, schema: MessageThread },
    problems: [],
    handle: ({ app, caller, params }) => getThread(app, caller, params.id!),
  }),
  lookup({
    id: 'getThreadMessages',
    method: 'get',
    path: '/v1/threads/{id}/messages',
    tag: 'Threads',
    summary: "A thread's messages, oldest first.",
    description:
      'The whole conversation, as an agent needs it before it answers. Long texts are cut when there are many (`bodyTruncated`).',
    access: 'inbox',
    success: { status: 200, schema: ThreadMessages },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: ({ app, caller, params }) => getThreadMessages(app, caller, params.id!),
  }),
  operation({
    id: 'updateThread',
    method: 'patch',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Mark a thread read, or unread to queue it again.',
    description: 'A reply that is sent in the thread marks it read by itself; new mail makes it unread.',
    access: 'inbox',
    body: ThreadChange,
    success: { status: 200, schema: ThreadChanged },
    problems: [],
    handle: async ({ app, caller, params, body }) => {
      await changeThread(app, caller, params.id!, body)
      return { ok: true }
    },
  }),
]
