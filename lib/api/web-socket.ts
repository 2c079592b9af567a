import Type from 'typebox'
import { streamSubscriptions } from '../core/events/reader.ts'
import { streamInboxesNamed } from '../core/events/subscription.ts'
import { ErrorDetail } from '../model/error.ts'
import { EventBody } from '../model/event-body.ts'
import { named } from '../model/shape.ts'

/** Inboxes that a subscription names. */
const streamInboxes = 100
/** Names of event types in one subscription. */
const streamTypes = 100

/** What is said over the WebSocket of /v1/ws, one JSON object in each text frame (decisions, section 10). */

const inboxesAsked = (description: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.Array(Type.String({ maxLength: 320, examples: ['agent@example.com'] }), {
          maxItems: streamInboxes,
        }),
        Type.Null(),
      ],
      { description, examples: [['agent@example.com']] },
    ),
  )

export const WsSubscribe = named(
  'WsSubscribe',
  `Asks for events, from now on or from a known one on; answered with \`WsSubscribed\`. Subscriptions add up: an event that several take is told once. A connection has at most ${streamSubscriptions}.`,
  {
    type: Type.Literal('subscribe', { description: 'Says that this asks for events.' }),
    inbox_ids: inboxesAsked(
      'The inboxes whose events are wanted, by id or address. Left out, null or empty: all that the key reaches, those that are made later, too. Of one that the key does not reach a `WsError` tells, and the others are subscribed to; where there are no others, it says that nothing was subscribed, and no `WsSubscribed` comes.',
    ),
    event_types: Type.Optional(
      Type.Union(
        [
          Type.Array(Type.String({ maxLength: 100, examples: ['message.received'] }), {
            maxItems: streamTypes,
          }),
          Type.Null(),
        ],
        {
          description:
            'The kinds of events that are wanted. Left out, null or empty: all. Of one that there is not a `WsError` tells; when there is none of them, it says that nothing was subscribed, and no `WsSubscribed` comes.',
          examples: [['message.received']],
        },
      ),
    ),
    last_event_id: Type.Optional(
      Type.Union([Type.String({ maxLength: 100 }), Type.Null()], {
        description:
          'The `event_id` of the last event that you dealt with: all that came after it is told first, in order. Of one that is not kept any more, or that the key does not reach, a `WsError` tells, and events come from now on.',
      }),
    ),
  },
)
export type WsSubscribe = Type.Static<typeof WsSubscribe>

const WsUnsubscribe = named(
  'WsUnsubscribe',
  'Asks for no more events of some inboxes, or of all; answered with `WsUnsubscribed`.',
  {
    type: Type.Literal('unsubscribe', { description: 'Says that this ends subscriptions.' }),
    inbox_ids: inboxesAsked(
      'The inboxes that are not wanted any more, by id or address. Left out, null or empty: every subscription of the connection ends.',
    ),
  },
)
type WsUnsubscribe = Type.Static<typeof WsUnsubscribe>

const WsPing = named('WsPing', 'Asks whether the connection lives; answered with `WsPong`.', {
  type: Type.Literal('ping', { description: 'Says that only an answer is wanted.' }),
})
type WsPing = Type.Static<typeof WsPing>

const WsSubscribed = named('WsSubscribed', 'The answer to `WsSubscribe`: its events come from here on.', {
  type: Type.Literal('subscribed', { description: 'Says that a subscription holds.' }),
  inbox_ids: Type.Array(Type.String(), {
    description: `The ids of the inboxes that this subscription means now; empty: all of the account. Of a key of a pod with more than ${streamInboxesNamed} inboxes the newest of them.`,
    examples: [['019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18']],
  }),
  truncated: Type.Optional(
    Type.Literal(true, {
      description:
        'There only when the subscription means more inboxes than `inbox_ids` has room for; it takes the events of all of them.',
    }),
  ),
  event_types: Type.Array(Type.String(), {
    description: 'The kinds of events that it takes; empty: all.',
    examples: [['message.received']],
  }),
})
type WsSubscribed = Type.Static<typeof WsSubscribed>

const WsUnsubscribed = named('WsUnsubscribed', 'The answer to `WsUnsubscribe`.', {
  type: Type.Literal('unsubscribed', { description: 'Says that subscriptions ended.' }),
  inbox_ids: Type.Array(Type.String(), {
    description: 'The inboxes as they were named; empty: none is subscribed to any more.',
    examples: [[]],
  }),
})
type WsUnsubscribed = Type.Static<typeof WsUnsubscribed>

const WsPong = named('WsPong', 'The answer to `WsPing`.', {
  type: Type.Literal('pong', { description: 'Says that the connection lives.' }),
})
type WsPong = Type.Static<typeof WsPong>

const WsError = named(
  'WsError',
  'Tells what of a message was not understood or can not be had. The connection goes on; do not send the same again.',
  {
    type: Type.Literal('error', { description: 'Says that a message had faults.' }),
    message: Type.String({
      description: 'What is wrong and what to do, in sentences for people; it may change.',
      examples: ['message/type must be one of "subscribe", "unsubscribe", "ping".'],
    }),
    details: Type.Optional(
      Type.Array(ErrorDetail, { description: 'Each fault of the message.', examples: [[]] }),
    ),
  },
)
type WsError = Type.Static<typeof WsError>

/** Everything that a client may say, by `type`; another `type` is a fault. */
export const webSocketRequests = { subscribe: WsSubscribe, unsubscribe: WsUnsubscribe, ping: WsPing }

export const WsClientMessage = Type.Union(Object.values(webSocketRequests), {
  title: 'WsClientMessage',
  description: 'What a client sends: one of these in a text frame, as JSON.',
})
export type WsClientMessage = WsSubscribe | WsUnsubscribe | WsPing

export const WsServerMessage = Type.Union([WsSubscribed, WsUnsubscribed, WsPong, WsError, EventBody], {
  title: 'WsServerMessage',
  description:
    'What a client gets: an answer, which has a `type`, or an event, which has `event` and no `type` and is what a webhook is called with.',
})
export type WsServerMessage = WsSubscribed | WsUnsubscribed | WsPong | WsError
