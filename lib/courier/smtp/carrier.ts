import type { ReplyRule } from '../../mail/report/reply-rules.ts'
import type { HostTls } from '../encryption/host-tls.ts'
import { toAscii } from '../mx.ts'
import type { TlsFault, TlsResult } from '../tls-result.ts'
import { isTlsFault, laneOf, openSession, type SessionOptions } from './connect.ts'
import { type Ending, endingOf, refused } from './ending.ts'
import { findObjection, type NoticeParameters } from './extensions.ts'
import { SessionPool, smtpIdleMs } from './pool.ts'
import { type Answer, type Raw, SmtpSession, type Watch } from './session.ts'

/** What of a message a transaction asks. */
export interface Letter {
  readonly mailFrom: string
  readonly rcptTo: string
  readonly sizeBytes: number
  readonly is8Bit?: boolean
  readonly isUtf8?: boolean
  readonly notice?: NoticeParameters
}

/** A host of a domain on the way. */
export interface Stop {
  readonly host: string
  readonly address: string
  readonly tls: HostTls
  /** How it differs from other hosts: a smarthost, or a route with a source address of its own. */
  readonly by?: Partial<Omit<SessionOptions, 'clock' | 'memory' | 'timeouts' | 'hostname'>> | undefined
  noteTls(host: string, policyType: TlsResult['policyType'], type: TlsResult['type']): void
}

/** Carries messages to single addresses, in sessions that are kept for the next message. */
export interface Carrier {
  carryTo(to: Stop, letter: Letter, raw: Raw, watch: Watch): Promise<Ending>
  /** Ends what is under way, and idle sessions with QUIT. */
  close(): Promise<void>
}

export function createCarrier(
  sessionOptions: SessionOptions,
  { rules, idleMs = smtpIdleMs }: { rules: readonly ReplyRule[]; idleMs?: number | undefined },
): Carrier {
  const pool = new SessionPool(idleMs)
  const busy = new Set<SmtpSession>()

  async function carryTo(to: Stop, letter: Letter, raw: Raw, watch: Watch): Promise<Ending> {
    const { host, address, tls } = to
    const at = (ending: Ending): Ending => ({ ...ending, outcome: { ...ending.outcome, host, address } })
    const waiting = pool.take(host, address, laneOf(host, { ...sessionOptions, ...to.by }, tls))
    if (waiting !== undefined) {
      const ending = await carryBy(waiting, letter, raw, watch)
      if (ending.isStale !== true) return at(ending)
    }
    await pool.makeRoom(address, watch.signal)
    const opening = await openSession(host, address, { ...sessionOptions, ...to.by }, watch, tls)
    if (opening.tls !== undefined)
      to.noteTls(host, tls.policyType, opening.tls === 'success' ? 'success' : opening.tls.type)
    const { begun } = opening
    if (begun instanceof SmtpSession) return at(await carryBy(begun, letter, raw, watch))
    if (!isTlsFault(begun)) return at(endingOf(begun, rules, letter))
    const { outcome, ...ending } = forbidden(host, begun, to.by !== undefined)
    // It was connected to, and answered as far as that.
    return at({ ...ending, outcome: { ...outcome, showing: 'answers' } })
  }

  /** One transaction in a session, which is given back or ended after it. */
  async function carryBy(session: SmtpSession, letter: Letter, raw: Raw, watch: Watch): Promise<Ending> {
    const mailFrom = onTheWire(letter.mailFrom)
    const rcptTo = onTheWire(letter.rcptTo)
    const { sizeBytes, is8Bit = false, isUtf8 = false, notice } = letter
    const encrypted = session.tls === undefined ? {} : { tls: session.tls }
    const objection = findObjection({ ...letter, mailFrom, rcptTo }, session.extensions)
    if (objection !== undefined) {
      pool.give(session)
      const { outcome } = refused(objection.enhanced, objection.text)
      // Another host may have what this one lacks.
      return { outcome: { ...outcome, ...encrypted, showing: 'answers' }, isFinal: false }
    }
    const isReused = session.messages > 0
    busy.add(session)
    let answer: Answer
    try {
      answer = await session.send({ mailFrom, rcptTo, sizeBytes, is8Bit, isUtf8, notice }, raw, watch)
    } finally {
      busy.delete(session)
    }
    const { outcome, ...ending } = endingOf(answer, rules, { mailFrom, rcptTo })
    const isGone = answer.isLost || outcome.code === 421
    const isStale = isReused && isGone && answer.sent === 'none' && !watch.signal.aborted
    if (outcome.result === 'delivered') pool.give(session)
    // Out of step (2yz, 3yz), it may wait for a message as well as for a command.
    else if (isGone || (outcome.code ?? 0) < 400 || answer.sent !== 'none') session.close()
    else void pool.undo(session)
    const isPassedOn = outcome.result === 'delivered' && notice && session.extensions.has('DSN')
    const passed = isPassedOn ? ({ isNoticePassedOn: true } as const) : {}
    return { ...ending, isStale, outcome: { ...outcome, ...encrypted, ...passed } }
  }

  return {
    carryTo,
    async close() {
      for (const session of busy) session.close()
      await pool.close()
    },
  }
}

/**
 * What the policy of the domain forbids is for now: it may be the host's fault, or somebody's between us. It shows nothing of
 * the host, for who has a domain writes its policy.
 */
export function forbidden(host: string, { type, text }: TlsFault, isRoute = false): Ending {
  const enhanced =
    type === 'starttls-not-supported' ? '4.7.10' : type === 'dnssec-invalid' ? '4.4.3' : '4.7.5'
  const whose = isRoute ? 'the route to it' : 'the policy of its domain'
  const said = `not sent to ${host}, as ${whose} demands: ${text}`
  return { outcome: { result: 'transient', enhanced, text: said, host }, isFinal: false }
}

/** The address with its domain as A-labels; the local part is the recipient's own (RFC 6531 §3.2). */
function onTheWire(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at + 1) + toAscii(address.slice(at + 1))
}
