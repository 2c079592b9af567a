import { feedbackFaults, feedbackPerKey, giveFeedback } from '../core/account/feedback.ts'
import { Feedback, FeedbackCreation } from '../model/feedback.ts'
import { type Operation, operation } from './operation.ts'

/** Bytes of a request that brings a note for the operator. */
const feedbackBodyBytes = 128 * 1024

export const feedbackOperations: readonly Operation[] = [
  operation({
    id: 'createFeedback',
    method: 'post',
    path: '/v1/feedback',
    tag: 'Account',
    summary: 'Tell the operator of this server what is wrong, in the way or missing.',
    description: `It is kept for the operator to read, and changes nothing. A key may do so ${feedbackPerKey} times a day (UTC).`,
    access: 'inbox',
    body: FeedbackCreation,
    faults: feedbackFaults,
    bodyBytes: feedbackBodyBytes,
    success: { status: 201, schema: Feedback },
    problems: [],
    handle: ({ app, caller, body }) => giveFeedback(app, caller, body),
  }),
]
