import type { Authentication, Category, VerdictName } from '../../model/message.ts'

export interface Judged {
  readonly verdict: VerdictName
  readonly category: Category
  readonly autoReplyable: boolean
  /** Names why, for the log and for tests. */
  readonly reason: string
}

/**
 * What is thought of an inbound message. A pure function of what is known about it, with a named reason.
 * A DMARC failure means that the domain in From says itself that the message is not from it.
 */
export function judge(
  classified: { category: Category; autoReplyable: boolean; reason: string },
  authentication: Authentication,
): Judged {
  if (authentication.dmarc === 'fail') {
    return { verdict: 'spam', category: 'spam', autoReplyable: false, reason: 'dmarc-fail' }
  }
  return { verdict: 'clean', ...classified }
}
