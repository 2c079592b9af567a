import { limits } from '../base/limits.ts'
import { feedbackFaults, giveFeedback } from '../core/account/feedback.ts'
import { Feedback, FeedbackCreation } from '../model/feedback.ts'
import { type Operation, operation } from './operation.ts'

export const feedbackOperations: readonly Operation[] = [
  operation({
    id: 'createFeedback',
    method: 'post',
    path: '/v1/feedback',
    tag: 'Account',
    summary: 'Tell the operator of this server what is wrong, in the way or missing.',
    description: `It is kept for the operator to read, and changes nothing. A key may do so ${limits.feedbackPerKey} times a day (UTC).`,
    access: 'inbox',
    body: FeedbackCreation,
    faults: feedbackFaults,
    bodyBytes: limits.feedbackBodyBytes,
    success: { status: 201, schema: Feedback },
    problems: [],
    handle: ({ app, caller, body }) => giveFeedback(app, caller, body),
  }),
]
