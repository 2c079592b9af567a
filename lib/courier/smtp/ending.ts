import type { ReplyClass } from '../../base/reply-class.ts'
import type { ReplyRule } from '../../mail/report/reply-rules.ts'
import type { Outcome } from '../outcome.ts'
import { judge, type Stage } from './judgement.ts'
import { type RemoteReply, readReply } from './remote-reply.ts'
import type { Answer } from './session.ts'

/** How the attempt ended at one host. */
export interface Ending {
  readonly outcome: Omit<Outcome, 'durationMs'>
  /** Whether it is the end of the attempt, whatever hosts are left. */
  readonly isFinal: boolean
  /** Whether the host answered, and said "not now". */
  readonly isDeferral?: boolean
  /** Whether this system has no way to the address, which says nothing of the other side. */
  readonly hasNoWay?: boolean
  /** Whether a session that had waited was dead before any of the message left. */
  readonly isStale?: boolean
}

/** What a host's answer means. */
export function endingOf(answer: Answer, rules: readonly ReplyRule[]): Ending {
  const { stage, text, isLost } = answer
  // A connection lost after the final dot may have been a delivery. Later may double the message, and that is
  // the better fault (RFC 5321 §4.5.3.2.6, RFC 1047); another host now would nearly surely double it.
  const isFinal = answer.sent === 'all'
  if (isLost) {
    const ending = silent(stage === 'connect' ? '4.4.1' : '4.4.2', text)
    return { ...ending, isFinal, hasNoWay: answer.hasNoWay === true }
  }
  const reply = answer.lines === undefined ? undefined : readReply(answer.lines)
  if (reply === undefined) return { ...silent('4.5.0', `not an SMTP reply: ${text}`.slice(0, 1000)), isFinal }
  const judgement = judge(stage, reply, rules)
  const isTransient = judgement.result === 'transient'
  return {
    outcome: { ...judgement, ...reply, ...showingOf(stage, reply, judgement.replyClass) },
    // A host that takes no mail, or has a fault of its own, speaks for itself alone.
    isFinal: !isTransient && stage !== 'connect' && judgement.replyClass !== 'host',
    isDeferral: isTransient && reply.code < 500,
  }
}

/**
 * A host that turns everybody away at the door does not answer. One that says 421, 4.7.x or "too many" later wants less
 * (RFC 3463 X.7: policy).
 */
function showingOf(
  stage: Stage,
  { code, enhanced }: RemoteReply,
  replyClass: ReplyClass | undefined,
): Required<Pick<Outcome, 'showing'>> {
  if (stage === 'connect') return { showing: 'fails' }
  const isTooMuch = code === 421 || enhanced?.startsWith('4.7.') === true || replyClass === 'rate'
  return { showing: isTooMuch ? 'slows' : 'answers' }
}

/** The host did not answer. */
export function silent(enhanced: string, text: string): Ending {
  return { outcome: { ...unheard(enhanced, text).outcome, showing: 'fails' }, isFinal: false }
}

/** Nothing was heard from the host, or nothing that is proof. */
export function unheard(enhanced: string, text: string): Ending {
  return { outcome: { result: 'transient', enhanced, text }, isFinal: false }
}

/** We know that it can't be carried, whoever is asked. */
export function refused(enhanced: string, text: string): Ending {
  return { outcome: { result: 'permanent', enhanced, text }, isFinal: true }
}

/** Of the failures at two hosts, in the order tried, the one to report. */
export function moreTelling(first: Ending | undefined, second: Ending): Ending {
  if (first === undefined) return second
  // What one host says of itself is no proof while another may still answer.
  if (first.outcome.result !== second.outcome.result)
    return first.outcome.result === 'transient' ? first : second
  return first.outcome.code === undefined && second.outcome.code !== undefined ? second : first
}
