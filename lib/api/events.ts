import Type from 'typebox'
import { listEvents } from '../core/event-list.ts'
import { EventRecord } from '../model/event-record.ts'
import { shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'
import { pageOfQuery, pageQuery } from './page.ts'

export const eventOperations: readonly Operation[] = [
  operation({
    id: 'listEvents',
    method: 'get',
    path: '/v1/events',
    tag: 'Events',
    summary: 'List what happened in the inboxes that the key reaches, oldest first; events are kept 30 days.',
    access: 'inbox',
    query: shape({
      inboxId: Type.Optional(Type.String({ description: 'Those of this inbox alone.' })),
      type: Type.Optional(Type.String({ maxLength: 100, description: 'Such as message.received.' })),
      after: Type.Optional(
        Type.String({ description: 'The id of the last event that is known; what came later is listed.' }),
      ),
      limit: pageQuery.limit,
    }),
    success: { status: 200, schema: shape({ data: Type.Array(EventRecord) }) },
    problems: ['not_found'],
    handle: async ({ app, caller, query }) => {
      const { limit } = pageOfQuery(query.limit === undefined ? {} : { limit: query.limit })
      return { data: await listEvents(app, caller, query, limit) }
    },
  }),
]
