import Type from 'typebox'
import { requireHealth } from '../core/app/status.ts'
import { shape } from '../model/shape.ts'
import { type Operation, openOperation } from './operation.ts'

export const serverOperations: readonly Operation[] = [
  openOperation({
    id: 'getHealth',
    method: 'get',
    path: '/health',
    tag: 'Server',
    summary:
      'Whether the server can do its work: 503 when its database can not be written or it is stopping.',
    access: 'anyone',
    success: { status: 200, schema: shape({ status: Type.Literal('ok') }) },
    problems: [],
    handle: async ({ app }) => {
      await requireHealth(app)
      return { status: 'ok' }
    },
  }),
]
