import Type from 'typebox'
import type { App } from '../core/app/app.ts'
import { attachmentOperations } from './attachments.ts'
import { deletionOperations } from './deletion.ts'
import { domainOperations } from './domains.ts'
import { draftOperations } from './drafts.ts'
import { eventStreamOperations } from './event-stream.ts'
import { eventWebhooks } from './event-webhooks.ts'
import { eventOperations } from './events.ts'
import { feedbackOperations } from './feedback.ts'
import { inboxOperations } from './inboxes.ts'
import { llmsText } from './llms.ts'
import { memberOperations } from './members.ts'
import { messageSendOperations } from './message-sends.ts'
import { messageOperations } from './messages.ts'
import { openApiDocument } from './openapi.ts'
import { type Operation, openOperation } from './operation.ts'
import { podOperations } from './pods.ts'
import { policyOperations } from './policy.ts'
import { queueOperations } from './queue.ts'
import { serverOperations } from './server.ts'
import { suppressionOperations } from './suppressions.ts'
import { threadOperations } from './threads.ts'
import { usageOperations } from './usage.ts'
import { webhookOperations } from './webhooks.ts'

const declared = [
  ...podOperations,
  ...inboxOperations,
  ...messageSendOperations,
  ...messageOperations,
  ...attachmentOperations,
  ...threadOperations,
  ...deletionOperations,
  ...draftOperations,
  ...eventOperations,
  ...eventStreamOperations,
  ...webhookOperations,
  ...domainOperations,
  ...policyOperations,
  ...suppressionOperations,
  ...queueOperations,
  ...memberOperations,
  ...usageOperations,
  ...feedbackOperations,
  ...serverOperations,
]

/** Anyone may ask, so it is built but once. */
const documents = new WeakMap<App, object>()

const getOpenApi: Operation = openOperation({
  id: 'getOpenApi',
  method: 'get',
  path: '/v1/openapi.json',
  tag: 'Server',
  summary: 'This description, as OpenAPI 3.1.',
  description:
    'For generators of clients and for tools that show an API. It is made from the same declarations that requests are held against.',
  access: 'anyone',
  success: {
    status: 200,
    schema: Type.Unsafe<object>({
      type: 'object',
      description: 'An OpenAPI 3.1 document.',
      examples: [{ openapi: '3.1.0' }],
    }),
  },
  isAnswerKept: true,
  problems: [],
  handle: async ({ app }) => openApiOf(app),
})

/** Everything that can be asked. */
export const operations: readonly Operation[] = [...declared, getOpenApi]

/** The OpenAPI document of this server: the same object at each call. */
export function openApiOf(app: App): object {
  const known = documents.get(app)
  if (known) return known
  const document = openApiDocument(operations, eventWebhooks, app.baseUrl)
  documents.set(app, document)
  return document
}

/** The text for agents of this server. */
export function llmsOf(app: App): string {
  return llmsText(operations, app.baseUrl)
}
