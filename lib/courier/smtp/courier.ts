import type { Clock } from '../../base/clock.ts'
import type { Dns } from '../../base/dns.ts'
import { limits } from '../../base/limits.ts'
import type { Log } from '../../base/log.ts'
import { loadReplyRules, type ReplyRule } from '../../mail/report/reply-rules.ts'
import type { AddressGuard } from '../address-guard.ts'
import { findAddresses, findMxHosts, toAscii } from '../mx.ts'
import type { Outcome } from '../outcome.ts'
import { loadProviders, type Providers } from '../providers.ts'
import { AddressStanding } from './address-standing.ts'
import { openSession, type SessionOptions } from './connect.ts'
import { type Ending, endingOf, moreTelling, refused, silent, unheard } from './ending.ts'
import { findObjection } from './extensions.ts'
import { SessionPool } from './pool.ts'
import { type Answer, abortError, type Raw, SmtpSession, type SmtpTimeouts, type Watch } from './session.ts'

/** One message to one recipient. */
export interface SmtpDelivery {
  /** Only for the log. */
  readonly id: string
  /** The reverse-path; empty for the null reverse-path. */
  readonly mailFrom: string
  readonly rcptTo: string
  /** The domain whose MX is asked. */
  readonly domain: string
  /** The length of `raw`, for SIZE (RFC 1870). */
  readonly sizeBytes: number
  /** Whether `raw` has bytes above 127 (RFC 6152). */
  readonly is8Bit?: boolean
  /** Whether its header section has UTF-8 (RFC 6532). */
  readonly isUtf8?: boolean
}

export interface SmtpCourierOptions {
  readonly dns: Dns
  readonly clock: Clock
  readonly log?: Log | undefined
  /** Our name, said with EHLO. */
  readonly hostname: string
  /** Other names of this server, in lower case: no mail goes to hosts that have one of them. */
  readonly ownNames?: readonly string[] | undefined
  /** Which addresses a stranger's MX record may lead to. */
  readonly guard: Pick<AddressGuard, 'refusal'>
  /** 25 in life. */
  readonly port: number
  /** Connect to IPv6 addresses too; without a PTR record of its own an IPv6 address is refused by many. */
  readonly useIpv6?: boolean | undefined
  /** The local address to connect from, of each family. */
  readonly sourceAddress?:
    | { readonly ipv4?: string | undefined; readonly ipv6?: string | undefined }
    | undefined
  readonly timeouts?: Partial<SmtpTimeouts> | undefined
  /** How long a connection waits for the next message. */
  readonly idleMs?: number | undefined
  /** Numbers in [0, 1), for the order of MX hosts of equal preference. */
  readonly random?: (() => number) | undefined
  readonly rules?: readonly ReplyRule[] | undefined
  /** Large providers, whose domains share what they may get. */
  readonly providers?: Providers | undefined
}

/** Who watches an attempt, and says whether it may go where it turns out to lead. */
export interface Progress extends Watch {
  /** Whether it is the turn of this group of mail servers; else the attempt ends, untried. */
  isTurnOf(group: string): Promise<boolean>
}

const unwatched: Progress = {
  signal: new AbortController().signal,
  heard() {},
  commit() {},
  isTurnOf: async () => true,
}

export interface SmtpCourier {
  /** Carries the message to its MX, once. Throws only when `raw` can't be read. */
  carry(delivery: SmtpDelivery, raw: Raw, progress?: Progress): Promise<Outcome>
  /** Ends idle connections with QUIT and what is still carried with a transient outcome; wait for yours first. */
  close(): Promise<void>
}

/** Carries mail straight to the MX hosts of a domain (RFC 5321 §5.1). */
export function createSmtpCourier(options: SmtpCourierOptions): SmtpCourier {
  const { dns, clock, log, hostname, guard, port, sourceAddress, useIpv6 = false, random } = options
  const timeouts: SmtpTimeouts = { ...limits.smtpClientTimeouts, ...options.timeouts }
  const sessionOptions: SessionOptions = { hostname, port, timeouts, sourceAddress }
  const providers = options.providers ?? loadProviders()
  const rules = options.rules ?? loadReplyRules()
  const ours = new Set([hostname.toLowerCase(), ...(options.ownNames ?? [])])
  const pool = new SessionPool(options.idleMs)
  const standing = new AddressStanding(clock)
  const busy = new Set<SmtpSession>()
  const stopping = new AbortController()

  async function carry(delivery: SmtpDelivery, raw: Raw, progress = unwatched): Promise<Outcome> {
    const beganMs = clock.monotonicMs()
    const deadline = new AbortController()
    const late = new Error(`no end within ${timeouts.totalMs} ms`)
    const timer = setTimeout(() => deadline.abort(late), timeouts.totalMs)
    try {
      const signal = AbortSignal.any([deadline.signal, stopping.signal, progress.signal])
      const { outcome } = await carryToDomain(delivery, raw, {
        signal,
        heard: () => progress.heard(),
        commit: () => progress.commit(),
        isTurnOf: group => progress.isTurnOf(group),
      })
      const { showing, ...rest } = outcome
      // What we broke off ourselves says nothing of the other side.
      const shown = showing === undefined || stopping.signal.aborted ? {} : { showing }
      return { ...rest, ...shown, durationMs: Math.round(clock.monotonicMs() - beganMs) }
    } finally {
      clearTimeout(timer)
    }
  }

  async function carryToDomain(delivery: SmtpDelivery, raw: Raw, progress: Progress): Promise<Ending> {
    const { signal } = progress
    // Quoted local parts may hold these, but they would end the path early in the hands of many a server.
    if (/[\x00-\x1f\x7f<>]/.test(delivery.rcptTo)) return refused('5.1.3', 'the address can not be sent to')
    if (/[\x00-\x1f\x7f<>]/.test(delivery.mailFrom)) return refused('5.1.7', 'the reverse-path is malformed')
    const mx = await findMxHosts(dns, delivery.domain, random, host => ours.has(host))
    if ('failure' in mx) {
      const isFailing = mx.failure.result === 'transient'
      return { outcome: { ...mx.failure, ...(isFailing && { showing: 'fails' }) }, isFinal: true }
    }
    if (!(await progress.isTurnOf(providers.ofHost(mx.group)?.name ?? mx.group))) {
      const { outcome } = unheard('4.4.1', 'it is not the turn of this destination')
      return { outcome: { ...outcome, isUntried: true }, isFinal: true }
    }
    let best: Ending | undefined
    let deferrals = 0
    for (const host of mx.hosts) {
      if (signal.aborted) break
      const found = await findAddresses(dns, host, useIpv6)
      if ('failure' in found)
        best = moreTelling(best, { outcome: { ...found.failure, host }, isFinal: false })
      for (const address of 'addresses' in found ? found.addresses : []) {
        if (signal.aborted) break
        const reason = guard.refusal(address, port)
        if (reason !== undefined) {
          best = moreTelling(best, guarded(host, reason))
          continue
        }
        if (!standing.mayTry(address)) {
          best = moreTelling(best, silent('4.4.1', `not tried: ${address} has not answered for a while`))
          continue
        }
        const ending = await carryTo(host, address, delivery, raw, progress)
        if (!stopping.signal.aborted) standing.note(address, ending.outcome.showing !== 'fails')
        log?.debug({ deliveryId: delivery.id, ...ending.outcome, isFinal: ending.isFinal }, 'SMTP host tried')
        if (ending.isFinal) return ending
        best = moreTelling(best, ending)
        if (ending.isDeferral) deferrals++
        if (deferrals >= limits.mxDeferrals) return best
      }
    }
    return best ?? unheard('4.4.7', abortError(signal).message)
  }

  async function carryTo(
    host: string,
    address: string,
    delivery: SmtpDelivery,
    raw: Raw,
    watch: Watch,
  ): Promise<Ending> {
    const at = (ending: Ending): Ending => ({ ...ending, outcome: { ...ending.outcome, host, address } })
    const waiting = pool.take(address)
    if (waiting !== undefined) {
      const ending = await carryBy(waiting, delivery, raw, watch)
      if (ending.isStale !== true) return at(ending)
    }
    const session = await openSession(host, address, sessionOptions, watch)
    if (session instanceof SmtpSession) return at(await carryBy(session, delivery, raw, watch))
    return at(endingOf(session, rules))
  }

  /** One transaction in a session, which is given back or ended after it. */
  async function carryBy(
    session: SmtpSession,
    delivery: SmtpDelivery,
    raw: Raw,
    watch: Watch,
  ): Promise<Ending> {
    const mailFrom = onTheWire(delivery.mailFrom)
    const rcptTo = onTheWire(delivery.rcptTo)
    const { sizeBytes, is8Bit = false, isUtf8 = false } = delivery
    const encrypted = session.tls === undefined ? {} : { tls: session.tls }
    const objection = findObjection({ ...delivery, mailFrom, rcptTo }, session.extensions)
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
      answer = await session.send({ mailFrom, rcptTo, sizeBytes, is8Bit, isUtf8 }, raw, watch)
    } finally {
      busy.delete(session)
    }
    const { outcome, ...ending } = endingOf(answer, rules)
    const isGone = answer.isLost || outcome.code === 421
    const isStale = isReused && isGone && answer.sent === 'none' && !watch.signal.aborted
    if (outcome.result === 'delivered') pool.give(session)
    else if (isGone || outcome.code === undefined || answer.sent !== 'none') session.close()
    else void giveBack(session)
    return { ...ending, isStale, outcome: { ...outcome, ...encrypted } }
  }

  /** After a refusal the transaction is undone, so that the next one does not inherit it. */
  async function giveBack(session: SmtpSession): Promise<void> {
    busy.add(session)
    const isReset = await session.reset()
    busy.delete(session)
    if (isReset && !stopping.signal.aborted) pool.give(session)
    else session.close()
  }

  return {
    carry,
    async close() {
      stopping.abort(new Error('the server is stopping'))
      for (const session of busy) session.close()
      await pool.close()
    },
  }
}

/** Where mail may not go is no proof while another host may still take it; alone it is. */
function guarded(host: string, reason: string): Ending {
  const text = `the mail server ${host} points at ${reason}`
  return { outcome: { result: 'permanent', enhanced: '5.4.4', text, host }, isFinal: false }
}

/** The address with its domain as A-labels; the local part is the recipient's own (RFC 6531 §3.2). */
function onTheWire(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at + 1) + toAscii(address.slice(at + 1))
}

/** The bytes that an attempt carries. */
export interface Cargo {
  readonly sizeBytes: number
  readonly is8Bit: boolean
  readonly isUtf8: boolean
  readonly raw: Raw
}
