import type { DmarcPolicy } from '../../mail/authentication/dmarc.ts'
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

/** What is known of who wrote a message. */
export interface Proof {
  readonly authentication: Authentication
  /** What the domain in From asks for when a message is not from it. */
  readonly policy: DmarcPolicy
  /** Whether that domain says by SPF, having no DMARC policy, that it is not from it, and nothing says otherwise. */
  readonly isDenied: boolean
  /** Whether a trusted ARC sealer says that it was from it before it was passed on. */
  readonly isExcused: boolean
  /** Whether it is sure whom From names. */
  readonly isAuthorSure: boolean
  /** Whether the domain in From is proven by DMARC, or by an aligned SPF or DKIM. */
  readonly isAligned: boolean
  /** Whether all of the message was read, and not its header alone. */
  readonly isWhole: boolean
}

/**
 * What is thought of an inbound message. A pure function of what is known about it, with a named reason. A virus weighs
 * most. Where From can be read in two ways, somebody wants one of them to be believed. A DMARC failure means that the domain
 * in From says itself that the message is not from it; where it has no policy of DMARC, its SPF says so with `-all`. What could not be read is believed of an author who is proven, and of
 * nobody else; no machine answers it.
 * @param heedsDmarc whether such a failure counts (authentication.dmarc_reject is not "off")
 */
export function judge(
  classified: { category: Category; autoReplyable: boolean; reason: string },
  proof: Proof,
  opinions: Opinions,
  heedsDmarc: boolean,
): Judged {
  if (opinions.virus !== undefined) {
    return { verdict: 'malicious', category: 'malicious', autoReplyable: false, reason: 'virus' }
  }
  const { isWhole, isAligned } = proof
  const reason =
    whyUnproven(proof, heedsDmarc) ?? (isWhole || isAligned ? undefined : 'unread') ?? whyUnwanted(opinions)
  if (reason !== undefined) return { verdict: 'spam', category: 'spam', autoReplyable: false, reason }
  return { verdict: 'clean', ...classified, autoReplyable: isWhole && classified.autoReplyable }
}

function whyUnwanted({ spamAction, dnsList }: Opinions): string | undefined {
  if (spamAction !== undefined) return `rspamd-${spamAction.replaceAll(' ', '-')}`
  return dnsList === undefined ? undefined : 'dns-list'
}

function whyUnproven(
  { authentication: { dmarc }, policy, isDenied, isExcused, isAuthorSure }: Proof,
  heedsDmarc: boolean,
): string | undefined {
  if (!isAuthorSure) return 'unproven-author'
  if (!heedsDmarc || isExcused) return undefined
  if (dmarc === 'fail') return 'dmarc-fail'
  if (isDenied) return 'spf-fail'
  // What a domain wants kept away unless it is proven is not let in because a name server below it is down.
  if (dmarc === 'temperror' && (policy === 'reject' || policy === 'quarantine')) return 'dmarc-unknown'
  return undefined
}
