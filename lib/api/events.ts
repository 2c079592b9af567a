import Type from 'typebox'
import { listEvents } from '../core/events/list.ts'
import { listEventDeliveries, redeliverEvent } from '../core/webhooks/log.ts'
import { eventNames } from '../model/event.ts'
import { EventBody } from '../model/event-body.ts'
import { listOf, oneOf, shape } from '../model/shape.ts'
import { Redelivery, WebhookDelivery } from '../model/webhook.ts'
import { largeAnswerBytes, lookup, type Operation, operation } from './operation.ts'
import { pageOfQuery, pageQuery } from './page.ts'

export const eventOperations: readonly Operation[] = [
  lookup({
    id: 'listEvents',
    method: 'get',
    path: '/v1/events',
    tag: 'Events',
    summary:
      'List what happened in the inboxes that the key reaches, oldest first, as long as events are kept.',
    description:
      'To catch up: keep the `event_id` of the last event that you dealt with, and ask for what came `after` it. Webhooks and streams tell the same events, and in the same form. A page has 2 MB at the most; where messages do not fit into it they are cut, and say `truncated`.',
    access: 'inbox',
    query: shape({
      inboxId: Type.Optional(
        Type.String({
          description:
            'Events of this inbox alone, by its id or address; left out: of all that the key reaches.',
        }),
      ),
      type: Type.Optional(
        oneOf(eventNames, {
          description: 'Events of this kind alone, such as message.received; left out: all.',
        }),
      ),
      after: Type.Optional(
        Type.String({
          description:
            'The `event_id` of the last event that is known: what came later is listed. Left out: from the oldest that is kept.',
        }),
      ),
      newest: Type.Optional(
        Type.Boolean({
          description:
            'The newest of all that is listed, and not the oldest; they, too, come oldest first. To look what happened last.',
        }),
      ),
      limit: pageQuery.limit,
    }),
    success: {
      status: 200,
      schema: listOf(EventBody, 'What happened, oldest first; empty when nothing came later.'),
    },
    answerBytes: largeAnswerBytes,
    problems: ['not_found'],
    handle: async ({ app, caller, query }) => {
      const { limit } = pageOfQuery(query.limit === undefined ? {} : { limit: query.limit })
      return { data: await listEvents(app, caller, query, limit) }
    },
  }),
  operation({
    id: 'listEventDeliveries',
    method: 'get',
    path: '/v1/events/{id}/deliveries',
    tag: 'Events',
    summary:
      'List how an event was told to webhooks, with every call; of the last times that it was asked for.',
    description:
      'To find out why a webhook was not told: every call with its answer. An event is tried again for some hours.',
    access: 'pod',
    success: { status: 200, schema: listOf(WebhookDelivery) },
    problems: [],
    handle: async ({ app, caller, params }) => ({ data: await listEventDeliveries(app, caller, params.id!) }),
  }),
  operation({
    id: 'redeliverEvent',
    method: 'post',
    path: '/v1/events/{id}/redeliver',
    tag: 'Events',
    summary: 'Tell an event again, to the webhook that there is now.',
    description:
      'After the receiver was mended. It has the same `event_id`, so that a receiver knows what it had already.',
    access: 'pod',
    success: { status: 200, schema: Redelivery },
    problems: ['no_webhook_url'],
    handle: ({ app, caller, params }) => redeliverEvent(app, caller, params.id!),
  }),
]
