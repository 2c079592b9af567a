import Type from 'typebox'
import { Delivery } from './message.ts'
import { pageSizeMax } from './page.ts'
import { idOf, instantOf, named, nullableText, oneOf } from './shape.ts'

const QueueState = oneOf(['waiting', 'under way', 'held'], {
  title: 'QueueState',
  description:
    'waiting: for its time or its turn. under way: a server is being asked. held: until it is released.',
  examples: ['waiting'],
})

/** Which deliveries are meant: all for which everything that is given is so. */
const selection = {
  domain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Those to recipients in this domain.',
      examples: ['example.net'],
    }),
  ),
  inboxId: Type.Optional(
    Type.String({ maxLength: 320, description: 'Those of this inbox, by its id or address.' }),
  ),
  podId: Type.Optional(
    Type.String({ maxLength: 200, description: 'Those of this pod, by its id or clientId.' }),
  ),
  before: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Those that were put into the queue before this instant.',
    }),
  ),
  state: Type.Optional(QueueState),
}

export const queueQuery = selection

export const QueueSelection = named(
  'QueueSelection',
  'Which deliveries in the queue are meant, and whether it is done to them.',
  {
    ids: Type.Optional(
      Type.Array(Type.String({ format: 'uuid' }), {
        minItems: 1,
        maxItems: pageSizeMax,
        description: 'Those with these ids, and those of messages with these ids.',
      }),
    ),
    ...selection,
    confirm: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether it is done where no ids are given; else it is only counted what is meant.',
      }),
    ),
  },
)
export type QueueSelection = Type.Static<typeof QueueSelection>

export const QueueChange = named('QueueChange', 'To how many deliveries in the queue something was done.', {
  matched: Type.Integer({ minimum: 0, description: 'How many are meant.', examples: [3] }),
  changed: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description:
      'To how many it was done: what is under way ends as it ends, and nothing is done to what is not in the state for it. null: to none, for it was not confirmed.',
    examples: [3],
  }),
})

const attemptsOf = (description: string) => Type.Integer({ minimum: 0, description, examples: [1] })

export const QueuedDelivery = named('QueuedDelivery', 'A delivery that has not come to its end.', {
  deliveryId: idOf('The one recipient of the message, as its deliveries have it in `id`.'),
  messageId: idOf('The message that is delivered.'),
  recipient: Type.String({ description: 'The address that it goes to.', examples: ['bob@example.net'] }),
  state: QueueState,
  attempts: attemptsOf('How many attempts have come to their end.'),
  cutOffs: attemptsOf('How many attempts a crash or a stop of this server cut off.'),
  nextAttemptAt: instantOf('When it is due.'),
  givenUpAt: instantOf('Until when it is tried.'),
  lastReply: nullableText({ description: 'What was said at the last attempt; null: none has ended.' }),
})

const Attempt = named('DeliveryAttempt', 'One time that a server was asked to take a message.', {
  result: oneOf(['delivered', 'transient', 'permanent'], {
    title: 'AttemptResult',
    description: 'transient: it is tried again. permanent: it is not.',
    examples: ['delivered'],
  }),
  replyCode: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The SMTP code that the server answered; null: none.',
    examples: [250],
  }),
  replyEnhanced: nullableText({
    description: 'The enhanced status code of that answer (RFC 3463).',
    examples: ['2.0.0'],
  }),
  replyText: Type.String({
    description: 'What it said, or what happened in plain words.',
    examples: ['Ok: queued'],
  }),
  remoteHost: nullableText({
    description: 'The mail server that was asked; null: none.',
    examples: ['mx.example.net'],
  }),
  remoteAddress: nullableText({ description: 'The address of that server.', examples: ['192.0.2.25'] }),
  tls: nullableText({ description: 'The version and cipher of TLS; null: it was not encrypted.' }),
  durationMs: Type.Integer({
    minimum: 0,
    description: 'How long it took, in milliseconds.',
    examples: [840],
  }),
  createdAt: instantOf('When the attempt came to its end.'),
})

export const ExplainedDelivery = named(
  'ExplainedDelivery',
  'A delivery with all that is known of why it is where it is.',
  {
    ...Delivery.properties,
    messageId: idOf('The message that is delivered.'),
    destination: nullableText({
      description:
        'The domain, or the group of its mail servers, whose share of connections it takes; null: it is not queued.',
      examples: ['mx.example.net'],
    }),
    cutOffs: attemptsOf('How many attempts a crash or a stop of this server cut off.'),
    destinationFailures: attemptsOf('How often in a row the destination has failed, with any mail.'),
    destinationLastFailure: nullableText({ description: 'What was seen at the last of these.' }),
    log: Type.Array(Attempt, { description: 'The newest attempts, the oldest of them first.' }),
  },
)

export const QueueHold = named(
  'QueueHold',
  'What is held, and what comes new with it, until it is released.',
  {
    id: idOf('Which one of the holds this is.'),
    inboxId: nullableText({ description: 'Mail of this inbox; null: of all.' }),
    podId: nullableText({ description: 'Mail of this pod; null: of all.' }),
    domain: nullableText({ description: 'Mail to this domain; null: to all.' }),
    createdAt: instantOf('Since when mail is held by it.'),
  },
)
