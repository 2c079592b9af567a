import type { DmarcPolicy } from '../../mail/authentication/dmarc.ts'
import type { Classified } from '../../mail/message/automatic.ts'
import type { Authentication, AutoReplyReason, Category, VerdictName } from '../../model/message.ts'

export interface Judged {
  readonly verdict: VerdictName
  readonly category: Category
  readonly autoReplyable: boolean
  readonly autoReplyReason: AutoReplyReason
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
  /** Whether a program answers proven authors alone: not where authentication is off, as in local mode. */
  readonly requiresProof: boolean
  /** Whether all of the message was read, and not its header alone. */
  readonly isWhole: boolean
}

/**
 * Returns what is thought of an inbound message: a pure function of what is known about it, with a named reason. A virus
 * weighs most. A message whose From can be read in two ways is spam, because somebody wants one of them to be believed.
 * So is one that fails DMARC where the domain in From asks for quarantine or reject, or, without a DMARC record, says
 * `-all` by SPF. `p=none` asks for no action: then only `dmarc` is `fail`. A message that could not be read is spam unless
 * its author is proven. Programs answer only people and agents who are proven.
 * @param heedsDmarc whether such a failure counts (authentication.dmarc_reject is not "off")
 */
export function judge(classified: Classified, proof: Proof, opinions: Opinions, heedsDmarc: boolean): Judged {
  const unwanted = { autoReplyable: false, autoReplyReason: 'spam' } as const
  if (opinions.virus !== undefined) {
    return { verdict: 'malicious', category: 'malicious', ...unwanted, reason: 'virus' }
  }
  const { isWhole, isAligned, requiresProof } = proof
  const reason =
    whyUnproven(proof, heedsDmarc) ?? (isWhole || isAligned ? undefined : 'unread') ?? whyUnwanted(opinions)
  if (reason !== undefined) return { verdict: 'spam', category: 'spam', ...unwanted, reason }
  const judged = { verdict: 'clean', ...classified } as const
  // Of a message that could not be read it is not proven that a person wrote it.
  const isProven = isWhole && (isAligned || !requiresProof)
  if (!classified.autoReplyable || isProven) return judged
  return { ...judged, autoReplyable: false, autoReplyReason: 'unproven' }
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
  if (isDenied) return 'spf-fail'
  if (policy !== 'quarantine' && policy !== 'reject') return undefined
  if (dmarc === 'fail') return 'dmarc-fail'
  // A name server that is down does not let in what the domain wants kept away unless it is proven.
  return dmarc === 'temperror' ? 'dmarc-unknown' : undefined
}
