import type { ReplyClass } from '../../base/reply.ts'
import { type Named, withoutAddresses, withoutMessageWords } from '../../mail/report/repeated-words.ts'
import { findRule, type ReplyRule } from '../../mail/report/reply-rules.ts'
import type { Stage } from '../outcome.ts'
import type { RemoteReply } from './remote-reply.ts'

export interface Judgement {
  readonly result: 'delivered' | 'transient' | 'permanent'
  readonly replyClass?: ReplyClass
}

/**
 * What a reply means for the recipient: by its first digit, whatever the rest (RFC 5321 §4.2.1), unless the
 * stage or a rule makes it doubtful. Doubt is transient.
 * @param named whom the transaction named: names that a tenant chose, and a reply may repeat
 */
export function judge(
  stage: Stage,
  reply: RemoteReply,
  rules: readonly ReplyRule[],
  named: Named,
): Judgement {
  const rule = ruleAt(stage, reply, rules, named)
  const about = rule === undefined ? {} : { replyClass: classAt(stage, rule.replyClass) }
  const kind = Math.floor(reply.code / 100)
  if (kind === 2 && stage === 'message') return { result: 'delivered' }
  // 2yz and 3yz elsewhere are out of step: the peer says yes to what was not asked.
  if (kind !== 5) return { ...about, result: 'transient' }
  // Said before any recipient was named, so it is about us or about that host. "No mail here" is about the host, for good
  // (RFC 7504 §3; RFC 5321 §3.1, unless it is a policy against us): when all hosts say so, there is nobody to try.
  if (stage === 'connect') {
    const isHostOnly = reply.code === 521 || (reply.code === 554 && !reply.enhanced?.startsWith('5.7.'))
    const isOfItself = about.replyClass === undefined || about.replyClass === 'host'
    return { ...about, result: isHostOnly && isOfItself ? 'permanent' : 'transient' }
  }
  if (rule !== undefined && rule.result !== 'code') return { ...about, result: rule.result }
  // A policy against whoever connects; another host, or another day, may have another one.
  if (stage === 'mail' && reply.enhanced?.startsWith('5.7.')) return { ...about, result: 'transient' }
  // RFC 5321 §4.5.3.1.10: 552 to RCPT is the old way to say 452, unless it names the size of the message.
  const isTooLarge = reply.enhanced === '5.3.4' || reply.enhanced === '5.2.3'
  if (stage === 'rcpt' && reply.code === 552 && !isTooLarge) return { ...about, result: 'transient' }
  return { ...about, result: 'permanent' }
}

/** The rule that knows the reply by its codes and its own words, and not by words that it repeats. */
function ruleAt(
  stage: Stage,
  reply: RemoteReply,
  rules: readonly ReplyRule[],
  named: Named,
): ReplyRule | undefined {
  const rule = findRule(rules, { ...reply, text: withoutAddresses(reply.text, named) })
  if (stage !== 'message' || rule?.replyClass !== 'recipient') return rule
  // Some know only after the final dot that nobody is there. Subjects and names of files may stand in such a reply, and say so
  // as well: so an enhanced code must say it, or words beside the recipient's address.
  if (reply.enhanced !== undefined && ofRecipients.test(reply.enhanced)) return rule
  const own = findRule(rules, { ...reply, text: withoutAddresses(withoutMessageWords(reply.text), named) })
  const isNamed = withoutMessageWords(reply.text).toLowerCase().includes(named.rcptTo.toLowerCase())
  return own?.replyClass !== 'recipient' || isNamed ? own : undefined
}

/** Codes for the state of an address or a mailbox (RFC 3463 X.1, X.2), and what Exchange says of an address that it does not have. */
const ofRecipients = /^[45]\.(?:[12]\.\d+|4\.1)$/

/** Before the recipient is named nothing can be about them: at the door it is about that host, and at MAIL about who sends. */
function classAt(stage: Stage, replyClass: ReplyClass): ReplyClass {
  if (replyClass !== 'recipient' && replyClass !== 'full') return replyClass
  if (stage === 'connect') return 'host'
  return stage === 'mail' ? 'sender' : replyClass
}
