import Type from 'typebox'
import { inboxOperations } from './inboxes.ts'
import { messageOperations } from './messages.ts'
import { openApiDocument } from './openapi.ts'
import { type Operation, openOperation } from './operation.ts'
import { podOperations } from './pods.ts'
import { serverOperations } from './server.ts'
import { threadOperations } from './threads.ts'

const declared = [
  ...podOperations,
  ...inboxOperations,
  ...messageOperations,
  ...threadOperations,
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
