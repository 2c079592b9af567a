import Type from 'typebox'
import { Problem, streamsPerKey } from '../base/problem.ts'
import { prepareFeed } from '../core/events/subscription.ts'
import { eventNames } from '../model/event.ts'
import { oneOf, shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'
import { WsClientMessage, WsServerMessage } from './web-socket.ts'

/** Messages of a WebSocket client, pings included, in the time below. */
export const streamFrames = 30
export const streamFramesMs = 10_000
/** How often a WebSocket client is pinged (RFC 6455 §5.5.2). */
export const streamPingMs = 30_000

/** What schemas do not tell. */
const webSocketProtocol = `For an agent that listens and has no public address for a webhook. Send the key as a Bearer header or, from a browser, as \`?token=\`. All messages are JSON in text frames: you send \`WsClientMessage\` and get \`WsServerMessage\`.

- \`WsSubscribe\` asks for events, and \`WsSubscribed\` is its answer; nothing is told before. Keep the \`event_id\` of the last event that you dealt with, and say it as \`last_event_id\` when you connect again: what came meanwhile comes first, all of it.
- \`WsUnsubscribe\` ends what was asked for (\`WsUnsubscribed\`), and \`WsPing\` asks whether the connection lives (\`WsPong\`). The server pings, too, every ${streamPingMs / 1000} seconds, in frames of the protocol that WebSocket clients answer by themselves.
- \`WsError\` tells what was not understood or can not be had; the connection goes on.
- All else is an event: the object that webhooks are called with (\`EventBody\`), which has \`event\` and no \`type\`.

It is closed with 1001 (the server stops: connect again), 1013 (too many streams are open on the server, or too much of them is not read: connect again later), 4001 (no such key, or it was revoked: do not connect again), 4003 (the key reaches none of the inboxes of the first subscription), 4008 (more than ${streamsPerKey} streams of this key), 4009 (you read too slowly: connect again with \`last_event_id\`), 4029 (more than ${streamFrames} messages in ${streamFramesMs / 1000} seconds).`

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
        Type.String({
          description:
            'Events of this inbox alone, by its id or address; left out: of all that the key reaches.',
        }),
      ),
      type: Type.Optional(oneOf(eventNames, { description: 'Events of this kind alone; left out: all.' })),
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
    success: { status: 101, takes: WsClientMessage, gives: WsServerMessage },
    problems: ['upgrade_required', 'invalid_request'],
    // A request that asks for the WebSocket is answered by lib/http/websocket.ts and does not come here.
    handle: async () => {
      throw new Problem('upgrade_required')
    },
  }),
]
