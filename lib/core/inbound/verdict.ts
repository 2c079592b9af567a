import type { Author } from '../../mail/header/author.ts'
import type { Authentication, Category, VerdictName } from '../../model/message.ts'

export interface Judged {
  readonly verdict: VerdictName
  readonly category: Category
  readonly autoReplyable: boolean
  /** Names why, for the log and for tests. */
  readonly reason: string
}

/** What others say of a message: the scanners, and the lists that its peer may be in. */
export interface Opinions {
  /** The name of the virus in it. */
  readonly virus?: string
  /** What rspamd advises, where that means spam. */
  readonly spamAction?: string
  /** The DNS list that has the peer. */
  readonly dnsList?: string
}

/**
 * What is thought of an inbound message. A pure function of what is known about it, with a named reason. A virus weighs
 * most. A DMARC failure means that the domain in From says itself that the message is not from it. Where From can be read
 * in two ways, somebody wants one of them to be believed.
 * @param author undefined for what is known for what it is without its From
 */
export function judge(
  classified: { category: Category; autoReplyable: boolean; reason: string },
  authentication: Authentication,
  author: Author | undefined,
  { virus, spamAction, dnsList }: Opinions = {},
): Judged {
  if (virus !== undefined) {
    return { verdict: 'malicious', category: 'malicious', autoReplyable: false, reason: 'virus' }
  }
  const spam = (reason: string) =>
    ({ verdict: 'spam', category: 'spam', autoReplyable: false, reason }) as const
  if (author && 'fault' in author) return spam('unproven-author')
  if (authentication.dmarc === 'fail') return spam('dmarc-fail')
  if (spamAction !== undefined) return spam(`rspamd-${spamAction.replaceAll(' ', '-')}`)
  if (dnsList !== undefined) return spam('dns-list')
  return { verdict: 'clean', ...classified }
}
