import { cutChain, referencesMax } from '../header/message-id.ts'
import { isReplySubject } from '../quote/subject.ts'

/** The longest chain of References that we send. */
const sentReferences = 50

/**
 * The Message-IDs under which the parent of a message may be known, the likeliest first: In-Reply-To, then References
 * from the last to the first. Behind each the form that ours have, for a program on the way changed its case or put its
 * local part in quotes, which changes no address (RFC 5322 §3.4.1).
 */
export function parentCandidates(message: {
  readonly inReplyTo: readonly string[]
  readonly references: readonly string[]
}): string[] {
  const ids = new Set([...message.inReplyTo, ...message.references.toReversed()])
  const spelled = new Set([...ids].flatMap(id => [id, plainForm(id)]))
  return [...spelled].slice(0, referencesMax)
}

/** In lower case, without the quotes that a local part does not need. */
function plainForm(id: string): string {
  return id.toLowerCase().replace(/^<"([\w.+=-]{1,200})"@/, '<$1@')
}

/**
 * What a reply says of its parent (RFC 5322 §3.6.4): In-Reply-To is the parent, References its chain and it. A parent
 * without References lends its In-Reply-To instead; one without a Message-ID can only be followed by its chain.
 */
export function replyThreading(parent: {
  readonly rfcMessageId: string | null
  readonly references: readonly string[]
  readonly inReplyTo?: string | null
}): { inReplyTo: string | null; references: string[] } {
  const { rfcMessageId, references, inReplyTo } = parent
  const chain = references.length > 0 ? references : inReplyTo ? [inReplyTo] : []
  const ids = new Set(chain.filter(id => id !== rfcMessageId))
  if (rfcMessageId !== null) ids.add(rfcMessageId)
  return { inReplyTo: rfcMessageId, references: cutChain([...ids], sentReferences) }
}

/** The subject of a reply: with `Re: ` before it, unless something that means the same stands there already. */
export function replySubject(subject: string): string {
  return isReplySubject(subject) ? subject : `Re: ${subject}`.trimEnd()
}
