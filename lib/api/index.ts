import Type from 'typebox'
import { deletionOperations } from './deletion.ts'
import { domainOperations } from './domains.ts'
import { draftOperations } from './drafts.ts'
import { eventOperations } from './events.ts'
import { inboxOperations } from './inboxes.ts'
import { memberOperations } from './members.ts'
import { messageOperations } from './messages.ts'
import { openApiDocument } from './openapi.ts'
import { type Operation, openOperation } from './operation.ts'
import { podOperations } from './pods.ts'
import { policyOperations } from './policy.ts'
import { serverOperations } from './server.ts'
import { suppressionOperations } from './suppressions.ts'
import { threadOperations } from './threads.ts'
import { usageOperations } from './usage.ts'

const declared = [
  ...podOperations,
  ...inboxOperations,
  ...messageOperations,
  ...threadOperations,
  ...deletionOperations,
  ...draftOperations,
  ...eventOperations,
  ...domainOperations,
  ...policyOperations,
  ...suppressionOperations,
  ...memberOperations,
  ...usageOperations,
  ...serverOperations,
]

const getOpenApi: Operation = openOperation({
  id: 'getOpenApi',
  method: 'get',
  path: '/v1/openapi.json',
  tag: 'Server',
  summary: 'This description, as OpenAPI 3.1.',
  access: 'anyone',
  success: { status: 200, schema: Type.Unsafe<object>({ type: 'object' }) },
  problems: [],
  handle: async ({ app }) => openApiDocument(operations, app.baseUrl),
})

/** Everything that can be asked. */
export const operations: readonly Operation[] = [...declared, getOpenApi]
