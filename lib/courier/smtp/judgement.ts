import type { ReplyClass } from '../../base/reply-class.ts'
import { findRule, type ReplyRule } from '../../mail/report/reply-rules.ts'
import type { RemoteReply } from './remote-reply.ts'

/** What was asked when the reply came: to begin, MAIL, RCPT, DATA, or the message up to its final dot. */
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data' | 'message'

export interface Judgement {
  readonly result: 'delivered' | 'transient' | 'permanent'
  readonly replyClass?: ReplyClass
}

/**
 * What a reply means for the recipient: by its first digit, whatever the rest (RFC 5321 §4.2.1), unless the
 * stage or a rule makes it doubtful. Doubt is transient.
 */
export function judge(stage: Stage, reply: RemoteReply, rules: readonly ReplyRule[]): Judgement {
  const rule = findRule(rules, reply)
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

/** Before the recipient is named nothing can be about them: at the door it is about that host, and at MAIL about who sends. */
function classAt(stage: Stage, replyClass: ReplyClass): ReplyClass {
  if (replyClass !== 'recipient' && replyClass !== 'full') return replyClass
  if (stage === 'connect') return 'host'
  return stage === 'mail' ? 'sender' : replyClass
}
