import Type from 'typebox'
import { requireHealth } from '../core/app/status.ts'
import { named } from '../model/shape.ts'
import { type Operation, openOperation } from './operation.ts'

const Health = named('Health', 'The server can do its work.', {
  status: Type.Literal('ok', { description: 'Always `ok`; what is not well is a 503.' }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What the operator should look at, in sentences; left out when there is nothing.',
    }),
  ),
})

export const serverOperations: readonly Operation[] = [
  openOperation({
    id: 'getHealth',
    method: 'get',
    path: '/health',
    tag: 'Server',
    summary:
      'Whether the server can do its work: 503 when its database can not be written, its disk is nearly full, it drains or it is stopping.',
    description: 'For a load balancer or a monitor.',
    access: 'anyone',
    success: { status: 200, schema: Health },
    problems: [],
    handle: async ({ app }) => {
      const warnings = await requireHealth(app)
      return { status: 'ok', ...(warnings.length > 0 && { warnings }) }
    },
  }),
]
