import type { Author } from '../../mail/header/author.ts'
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
 * A DMARC failure means that the domain in From says itself that the message is not from it. Where From can be read in two
 * ways, somebody wants one of them to be believed.
 * @param author undefined for what is known for what it is without its From
 */
export function judge(
  classified: { category: Category; autoReplyable: boolean; reason: string },
  authentication: Authentication,
  author: Author | undefined,
): Judged {
  if (author && 'fault' in author) {
    return { verdict: 'spam', category: 'spam', autoReplyable: false, reason: 'unproven-author' }
  }
  if (authentication.dmarc === 'fail') {
    return { verdict: 'spam', category: 'spam', autoReplyable: false, reason: 'dmarc-fail' }
  }
  return { verdict: 'clean', ...classified }
}
