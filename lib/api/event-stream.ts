import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import { prepareFeed } from '../core/events/subscription.ts'
import { eventNames } from '../model/event.ts'
import { oneOf, shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'

const inboxIds = Type.Union([
  Type.Array(Type.String({ maxLength: 320 }), { maxItems: limits.streamInboxes }),
  Type.Null(),
])

/** What a WebSocket client may say, by `type`. */
export const webSocketMessages = {
  subscribe: shape({
    type: Type.Literal('subscribe'),
    inbox_ids: Type.Optional(inboxIds),
    event_types: Type.Optional(
      Type.Union([
        Type.Array(Type.String({ maxLength: 100 }), { maxItems: limits.streamTypes }),
        Type.Null(),
      ]),
    ),
    last_event_id: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
  }),
  unsubscribe: shape({ type: Type.Literal('unsubscribe'), inbox_ids: Type.Optional(inboxIds) }),
  ping: shape({ type: Type.Literal('ping') }),
}

/** What OpenAPI has no form for. */
const webSocketProtocol = `For an agent that listens and has no public address for a webhook. Send the key as a Bearer header or, from a browser, as \`?token=\`. All messages are JSON in text frames.

You send:

- \`{"type":"subscribe","inbox_ids"?:[…],"event_types"?:[…],"last_event_id"?:"…"}\`: events of these inboxes (ids or addresses) and of these kinds; left out or empty: all that the key reaches. Subscriptions add up. With \`last_event_id\` all that came after that event comes first, in order.
- \`{"type":"unsubscribe","inbox_ids"?:[…]}\`: no more of these inboxes; left out: of none.
- \`{"type":"ping"}\`: to see that the connection lives.

You get:

- \`{"type":"subscribed","inbox_ids":[…],"event_types":[…]}\`, \`{"type":"unsubscribed","inbox_ids":[…]}\` and \`{"type":"pong"}\` as answers.
- \`{"type":"error","message":"…","details"?:[…]}\` for what was not understood; the connection goes on.
- events: the object that webhooks are called with (\`EventBody\`), which has \`event\` and no \`type\`. Keep the \`event_id\` of the last one that you dealt with.

It is closed with 1001 (the server stops: connect again), 4001 (no such key, or it was revoked: do not), 4003 (the key reaches none of the inboxes), 4008 (too many connections of this key), 4009 (you read too slowly: connect again with \`last_event_id\`), 4029 (more than ${limits.streamFrames} messages in ${limits.streamFramesMs / 1000} seconds).`

export const eventStreamOperations: readonly Operation[] = [
  operation({
    id: 'streamEvents',
    method: 'get',
    path: '/v1/events/stream',
    tag: 'Events',
    summary:
      'What happens in the inboxes that the key reaches, as it happens, as Server-Sent Events; each is what a webhook is called with.',
    description:
      'For one that listens, in a browser or with `curl -N`. When the connection ends, connect again with the id of the last event (`EventSource` does so by itself): what came meanwhile comes first, all of it. A reader that is too slow is disconnected, and catches up the same way.',
    access: 'inbox',
    takesQueryToken: true,
    query: shape({
      inboxId: Type.Optional(
        Type.String({ description: 'Those of this inbox alone, by its id or address.' }),
      ),
      type: Type.Optional(oneOf(eventNames, { description: 'Those of this kind alone.' })),
      after: Type.Optional(
        Type.String({
          description: 'The id of the last event that is known: what came later comes first, all of it.',
        }),
      ),
    }),
    headers: {
      'Last-Event-ID': {
        description: 'The same as `after`; EventSource sends it when it connects again.',
        required: false,
      },
    },
    success: {
      status: 200,
      feed: 'text/event-stream',
      example:
        'retry: 3000\n\nid: 019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18\nevent: message.received\ndata: {"event":"message.received"}\n\n',
    },
    problems: ['not_found', 'too_many_streams'],
    handle: ({ app, caller, query, header }) => {
      const after = header('last-event-id') ?? query.after
      return prepareFeed(app, caller, { ...query, ...(after !== undefined && { after }) })
    },
  }),
  operation({
    id: 'openWebSocket',
    method: 'get',
    path: '/v1/ws',
    tag: 'Events',
    summary:
      'What happens in the inboxes that the key reaches, as it happens, over a WebSocket; each event is what a webhook is called with.',
    description: webSocketProtocol,
    access: 'inbox',
    takesQueryToken: true,
    success: { status: 101 },
    problems: ['upgrade_required', 'invalid_request'],
    // A request that asks for the WebSocket is answered by lib/http/websocket.ts and does not come here.
    handle: async () => {
      throw new Problem('upgrade_required')
    },
  }),
]
