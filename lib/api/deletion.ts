import { deleteMessage, deleteThread } from '../core/mailbox/deletion.ts'
import { type Operation, operation } from './operation.ts'

export const deletionOperations: readonly Operation[] = [
  operation({
    id: 'deleteMessage',
    method: 'delete',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary:
      'Delete a message for good. Recipients it was still queued for do not get it; its thread goes with the last message.',
    description: 'For what must not be kept. An inbox key may not delete.',
    access: 'pod',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => deleteMessage(app, caller, params.id!),
  }),
  operation({
    id: 'deleteThread',
    method: 'delete',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Delete a thread with all its messages for good.',
    description: 'For what must not be kept. An inbox key may not delete.',
    access: 'pod',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => deleteThread(app, caller, params.id!),
  }),
]
