import Type from 'typebox'
import { idOf, instantOf, named, nullableText, oneOf } from './shape.ts'

/** Characters of a note for the operator, and of its context. */
export const feedbackLength = 10_000

const FeedbackType = oneOf(['bug', 'friction', 'feature_request'], {
  title: 'FeedbackType',
  description:
    'bug: something is wrong. friction: it works, and is in the way. feature_request: it is missing.',
  examples: ['friction'],
})

const message = Type.String({
  minLength: 1,
  maxLength: feedbackLength,
  description: 'What the operator should know, in your own words.',
  examples: ['The wait for a code is too short by default.'],
})

export const FeedbackCreation = named('FeedbackCreation', 'What the operator is told.', {
  type: FeedbackType,
  message,
  context: Type.Optional(
    Type.Unsafe<string | Record<string, unknown>>({
      anyOf: [{ type: 'string' }, { type: 'object' }],
      description: `What it happened with: a text or an object, of at most ${feedbackLength} characters as JSON.`,
      examples: [{ operation: 'waitForMessages' }],
    }),
  ),
})
export type FeedbackCreation = Type.Static<typeof FeedbackCreation>

export const Feedback = named('Feedback', 'A note of a user of the API for the operator of the server.', {
  id: idOf('Names the note, for the operator.'),
  type: FeedbackType,
  message,
  context: Type.Unsafe<unknown>({
    type: ['string', 'object', 'null'],
    description: 'As it was given; null when it was not.',
    examples: [{ operation: 'waitForMessages' }],
  }),
  podId: nullableText({ description: 'The pod of the key that it came by; null for an account-wide key.' }),
  inboxId: nullableText({
    description: 'The inbox of the key that it came by, where it is confined to one.',
  }),
  createdAt: instantOf('When it was given.'),
})
export type Feedback = Type.Static<typeof Feedback>
