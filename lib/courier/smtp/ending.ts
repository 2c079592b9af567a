import type { ReplyClass } from '../../base/reply.ts'
import { oneLine } from '../../base/text.ts'
import { type Named, withoutMessageWords } from '../../mail/report/repeated-words.ts'
import type { ReplyRule } from '../../mail/report/reply-rules.ts'
import { type Outcome, resolverSilent, type Stage } from '../outcome.ts'
import { judge } from './judgement.ts'
import { type RemoteReply, readReply } from './remote-reply.ts'
import type { Answer } from './session.ts'

/** How soon an address that does not answer is tried again; the time doubles. */
export const addressProbeMs = 30_000
/** How soon mail is tried again that could not be tried because our own DNS resolver did not answer. */
export const resolverAgainMs = 25_000

/** How the attempt ended at one host. */
export interface Ending {
  readonly outcome: Omit<Outcome, 'durationMs'>
  /** Whether it is the end of the attempt, whatever hosts are left. */
  readonly isFinal: boolean
  /** Whether the host answered, and said "not now". */
  readonly isDeferral?: boolean
  /** Whether a session that had waited was dead before any of the message left. */
  readonly isStale?: boolean
  /**
   * Whether it answered nothing after it had greeted us. It is there, and why it fell silent or hung up may be the sender, the
   * recipient or the message, so it shows nothing of the servers.
   */
  readonly isLost?: boolean
}

/** What a host's answer means. @param named whom the transaction named */
export function endingOf(answer: Answer, rules: readonly ReplyRule[], named: Named): Ending {
  const { stage, text, isLost } = answer
  // A connection lost after the final dot may have been a delivery. Later may double the message, and that is
  // the better fault (RFC 5321 §4.5.3.2.6, RFC 1047); another host now would nearly surely double it.
  const isFinal = answer.sent === 'all'
  if (isLost) {
    if (answer.hasNoWay) return unreachable(text)
    return { ...unanswered(stage, stage === 'connect' ? '4.4.1' : '4.4.2', text), isFinal }
  }
  const { lines = '' } = answer
  const reply = readReply(lines)
  if (reply === undefined) {
    const said = text === '' ? oneLine(lines) : text
    return { ...unanswered(stage, '4.5.0', `not an SMTP reply: ${said}`.slice(0, 1000)), isFinal }
  }
  const judgement = judge(stage, reply, rules, named)
  const isTransient = judgement.result === 'transient'
  return {
    outcome: { ...judgement, ...reply, stage, ...showingOf(stage, reply, judgement.replyClass) },
    // A host that takes no mail, or has a fault of its own, speaks for itself alone. What is no refusal may have been a delivery, too.
    isFinal: isTransient
      ? isFinal && reply.code < 400
      : stage !== 'connect' && judgement.replyClass !== 'host',
    isDeferral: isTransient && reply.code < 500,
  }
}

/**
 * What a reply shows of the servers as a group, which many share. At the door it is about us: who says 421, 4.7.x or "too many"
 * there wants less (RFC 3463 X.7: policy), and who turns everybody away takes no mail. After that it is about one sender and one
 * recipient, whom a tenant chose and may own; there only what is plainly said of our connections shows more than that they answer.
 */
function showingOf(
  stage: Stage,
  { code, enhanced, text }: RemoteReply,
  replyClass: ReplyClass | undefined,
): Required<Pick<Outcome, 'showing'>> {
  const isTooMuch = enhanced?.startsWith('4.7.') === true || replyClass === 'rate'
  if (stage === 'connect') return { showing: code === 421 || isTooMuch ? 'slows' : 'fails' }
  // "Try again later" is read as greylisting; beside a code for faults of the host (RFC 3463 X.3) it is one.
  const isGreylisted = replyClass === 'greylist' && !enhanced?.startsWith('4.3.')
  if (ofOneMail.has(replyClass) || isGreylisted) return { showing: 'answers' }
  return { showing: wantsLess(stage, code, isTooMuch, text) ? 'slows' : 'answers' }
}

function wantsLess(stage: Stage, code: number, isTooMuch: boolean, text: string): boolean {
  // A message can make a host hang up. That it means whoever connects is believed only where it says so, in words of its own.
  if (stage === 'message') {
    const words = withoutMessageWords(unquoted(text))
    return code === 421 && (aboutUs.test(words) || fromAddress.test(words))
  }
  const words = unquoted(text)
  // What one tenant's recipients were refused for is counted in the session, and over with it.
  if (ownErrors.test(words)) return false
  // RFC 5321 §3.8: 421 ends the connection, whatever was asked.
  if (code === 421) return true
  return isTooMuch && stage !== 'data' && (aboutUs.test(words) || anyAddress.test(words))
}

/** It has counted the refusals of this session (Postfix: smtpd_hard_error_limit; Exim: smtp_accept_max_nonmail, unknown users). */
const ownErrors =
  /\btoo many (?:\w+ )?(?:errors|mistakes|(?:invalid|unknown|bad|rejected|non-?existent|failed) (?:recipients?|users?|addresses|commands|rcpts?))\b/i

/** What concerns a sender, a recipient or a message, and nobody else's. */
const ofOneMail: ReadonlySet<ReplyClass | undefined> = new Set(['sender', 'recipient', 'full', 'content'])

/** It speaks of connections, or of the host that connects. */
const aboutUs =
  /\b(?:connections?|sessions?)\b|\b(?:your|sending|connecting|client|remote) (?:mail )?(?:ip|host|server|mta|client|network)\b/i
const anyAddress = /\[?\b\d{1,3}(?:\.\d{1,3}){3}\b(?!\.?\w)|\b(?:[0-9a-f]{1,4}:){3}/i
/** Any other address may be one that stands in the message. */
const fromAddress = /\bfrom \[?(?:\d{1,3}(?:\.\d{1,3}){3}\b(?!\.?\w)|(?:[0-9a-f]{1,4}:){3})/i

/** Without the addresses that it repeats: whoever chose those would have chosen the words. */
function unquoted(text: string): string {
  return text
    .replace(/"[^"]*"|<[^<>]*>/g, ' ')
    .split(/\s/)
    .filter(word => !word.includes('@'))
    .join(' ')
}

/** The host did not answer: before it greeted us it does so for everybody. */
function unanswered(stage: Stage, enhanced: string, text: string): Ending {
  const { outcome } = unheard(enhanced, text)
  if (stage !== 'connect') return { outcome, isFinal: false, isLost: true }
  return { outcome: { ...outcome, showing: 'fails' }, isFinal: false }
}

/** It was not connected to, because it has not answered again and again: that shows nothing that was not known. */
export function passedOver(address: string, triedAgainInMs: number): Ending {
  const { outcome } = unheard('4.4.1', `not tried: ${address} has not answered for a while`)
  return { outcome: { ...outcome, triedAgainInMs }, isFinal: false }
}

/** This machine has no way to it, which says nothing of the other side. */
function unreachable(text: string): Ending {
  const { outcome } = unheard('4.4.1', text)
  return { outcome: { ...outcome, triedAgainInMs: addressProbeMs }, isFinal: false }
}

/** Our own resolver does not answer, which says nothing of the domain. */
export function noResolver(): Ending {
  const { outcome } = unheard('4.4.3', resolverSilent)
  return { outcome: { ...outcome, triedAgainInMs: resolverAgainMs }, isFinal: true }
}

/** Nothing was heard from the host, or nothing that is proof: that is about it, or the way to it, whatever our words for it are. */
export function unheard(enhanced: string, text: string): Ending {
  return { outcome: { result: 'transient', enhanced, text, replyClass: 'host' }, isFinal: false }
}

/** We know that it can't be carried, whoever is asked. */
export function refused(enhanced: string, text: string): Ending {
  return { outcome: { result: 'permanent', enhanced, text }, isFinal: true }
}

/**
 * Of the failures at two hosts, in the order tried, the one to report. It shows what either shows; one that is there takes
 * away that the other is not, because mail for others may go to it.
 */
export function moreTelling(first: Ending | undefined, second: Ending): Ending {
  if (first === undefined) return second
  const told = toReport(first, second)
  const other = told === first ? second : first
  const { showing, ...outcome } = told.outcome
  const both = [showing, other.outcome.showing]
  const isLost = first.isLost === true || second.isLost === true
  const shown =
    both.find(one => one !== undefined && one !== 'fails') ??
    (isLost ? undefined : both.find(one => one !== undefined))
  return { ...told, isLost, outcome: shown === undefined ? outcome : { ...outcome, showing: shown } }
}

function toReport(first: Ending, second: Ending): Ending {
  // What one host says of itself is no proof while another may still answer.
  if (first.outcome.result !== second.outcome.result)
    return first.outcome.result === 'transient' ? first : second
  return first.outcome.code === undefined && second.outcome.code !== undefined ? second : first
}
