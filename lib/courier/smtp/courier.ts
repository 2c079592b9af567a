import { type JoinedAbort, joinAborts } from '../../base/concurrency.ts'
import type { Log } from '../../base/log.ts'
import type { Dns } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { literalAddress } from '../../mail/address/address.ts'
import { loadReplyRules, type ReplyRule } from '../../mail/report/reply-rules.ts'
import type { AddressGuard } from '../address-guard.ts'
import { createAuthenticatedDns } from '../encryption/authenticated-dns.ts'
import { findDomainTls, hostTls, opportunistic } from '../encryption/host-tls.ts'
import type { SecureDns } from '../encryption/secure-dns.ts'
import { policyNotAsked, type StsPolicies } from '../encryption/sts-policies.ts'
import {
  type AddressResult,
  findAddresses,
  findMxHosts,
  literalAddresses,
  literalHost,
  loopsBack,
  toAscii,
} from '../mx.ts'
import type { Result, Unfinished } from '../outcome.ts'
import { loadProviders, type Providers } from '../providers.ts'
import type { TlsResult } from '../tls-result.ts'
import { isResolverSilent } from '../watched-dns.ts'
import { AddressSlots } from './address-slots.ts'
import { AddressStanding } from './address-standing.ts'
import { createCarrier, forbidden } from './carrier.ts'
import type { SessionOptions } from './connect.ts'
import { type Ending, moreTelling, noResolver, passedOver, refused, unheard } from './ending.ts'
import type { NoticeParameters } from './extensions.ts'
import { findRoute, type Route, type SourceAddress } from './routes.ts'
import { abortError, type Raw, type SmtpTimeouts, smtpClientTimeouts, type Watch } from './session.ts'
import { carryToSmarthost, hasAnswered } from './smarthost.ts'
import { TlsMemory } from './tls-memory.ts'

/** Servers that answer 4xx before an attempt ends. */
export const mxDeferrals = 5
/** How long an attempt waits for a connection to an address that has its share of them. */
const addressWaitMs = 1_000
/** How often it is looked whether other mail waits for a server that stays silent. */
const silenceLookMs = 250

/** One message to one recipient. */
export interface SmtpDelivery {
  /** Whose it is, for what is done in turns of pods. */
  readonly podId?: string
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
  /** What who sent it asks to be told, for hosts that offer DSN (RFC 3461). */
  readonly notice?: NoticeParameters
  /** It tells of faults of TLS, and is to arrive in spite of them (RFC 8460 §3): no policy is asked for, nothing counted. */
  readonly isTlsReport?: boolean
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
  readonly sourceAddress?: SourceAddress | undefined
  /** Addresses that are this server for others: mail that leads there is ours to keep or to lose (RFC 5321 §5.1). */
  readonly ownAddresses?: readonly string[] | undefined
  readonly routes?: readonly Route[] | undefined
  readonly timeouts?: Partial<SmtpTimeouts> | undefined
  /** How long a connection waits for the next message. */
  readonly idleMs?: number | undefined
  /** Numbers in [0, 1), for the order of MX hosts of equal preference. */
  readonly random?: (() => number) | undefined
  readonly rules?: readonly ReplyRule[] | undefined
  /** A resolver on this machine that validates: with it, DANE (RFC 7672). */
  readonly secureDns?: SecureDns | undefined
  /** With these, MTA-STS (RFC 8461). */
  readonly stsPolicies?: StsPolicies | undefined
  /** Certificates in PEM to believe in, instead of the system's. */
  readonly ca?: string | undefined
  /** Large providers, whose domains share what they may get. */
  readonly providers?: Providers | undefined
  /** How many connections one address gets at once, unless it is a provider's; no bound unless given. */
  readonly mostAtAddress?: number | undefined
}

/** What is asked and told while an attempt is made. */
export interface Progress extends Pick<Watch, 'commit'> {
  /** Whether it is a first attempt, which is repeated soon if the server is only slow. */
  readonly isFirst: boolean
  /** Whether other mail waits for what this attempt holds: then a server does not have all the time that RFC 5321 gives it. */
  isWaitedFor(): boolean
  /**
   * Whether mail for `domain` may go to the destination that it turned out to go to, a group of mail servers or the
   * domain itself; else the attempt ends, untried. What the attempt shows from then on is of it.
   */
  mayGoTo(destination: string, domain: string): Promise<boolean>
}

const unwatched: Progress = {
  isFirst: false,
  isWaitedFor: () => false,
  commit() {},
  mayGoTo: async () => true,
}

/** What the steps of an attempt need of it. */
type Steps = Watch & Pick<Progress, 'mayGoTo'>

export interface SmtpCourier {
  /** Carries the message to its MX, once. Throws only when `raw` can't be read. */
  carry(delivery: SmtpDelivery, raw: Raw, progress?: Progress): Promise<Result>
  /** Ends idle connections with QUIT, and cuts off what is still carried; wait for yours first. */
  close(): Promise<void>
}

/** Carries mail straight to the MX hosts of a domain (RFC 5321 §5.1). */
export function createSmtpCourier(options: SmtpCourierOptions): SmtpCourier {
  const { dns, clock, log, hostname, guard, port, sourceAddress, useIpv6 = false, random } = options
  const timeouts: SmtpTimeouts = { ...smtpClientTimeouts, ...options.timeouts }
  const { secureDns, stsPolicies, ca, routes = [] } = options
  const memory = new TlsMemory(clock, ca)
  const sessionOptions: SessionOptions = { clock, memory, hostname, port, timeouts, sourceAddress }
  const providers = options.providers ?? loadProviders()
  const rules = options.rules ?? loadReplyRules()
  const ownAddresses = new Set(options.ownAddresses)
  const ours = new Set([hostname.toLowerCase(), ...(options.ownNames ?? [])])
  const isOurs = (there: AddressResult) =>
    'addresses' in there && there.addresses.some(address => ownAddresses.has(address))
  const carrier = createCarrier(sessionOptions, { rules, idleMs: options.idleMs })
  const standing = new AddressStanding(clock)
  const addresses = new AddressSlots(addressWaitMs)
  const stopping = new AbortController()

  async function carry(delivery: SmtpDelivery, raw: Raw, progress = unwatched): Promise<Result> {
    const beganMs = clock.monotonicMs()
    const ended = joinAborts(stopping.signal)
    const timer = setTimeout(
      () => ended.abort(new Error(`no end within ${timeouts.totalMs} ms`)),
      timeouts.totalMs,
    )
    const silence = new Silence(progress, timeouts, ended)
    try {
      const tlsResults: TlsResult[] = []
      const ending = await carryToDomain(delivery, raw, tlsResults, {
        signal: ended.signal,
        heard: () => silence.heard(),
        commit() {
          silence.stop()
          progress.commit()
        },
        mayGoTo: (destination, domain) => progress.mayGoTo(destination, domain),
      })
      if (isUntried(ending)) return { result: ending }
      const { outcome } = ending
      if (isOpen(outcome) && silence.isTooLong && progress.isFirst) return { result: 'too-slow' }
      const isStopped = stopping.signal.aborted
      if (isOpen(outcome) && isStopped) return { result: 'cut-off' }
      const { showing, ...rest } = outcome
      const isCounted =
        tlsResults.length > 0 && !delivery.isTlsReport && literalAddress(delivery.domain) === undefined
      return {
        ...rest,
        // What we broke off ourselves says nothing of the other side.
        ...(showing !== undefined && !isStopped && { showing }),
        ...(isCounted && { tlsResults }),
        durationMs: Math.round(clock.monotonicMs() - beganMs),
      }
    } finally {
      clearTimeout(timer)
      silence.stop()
      ended.leave()
    }
  }

  async function carryToDomain(
    delivery: SmtpDelivery,
    raw: Raw,
    tlsResults: TlsResult[],
    progress: Steps,
  ): Promise<Ending | Untried> {
    const { signal } = progress
    // Quoted local parts may hold these, but they would end the path early in the hands of many a server.
    if (/[\x00-\x1f\x7f<>]/.test(delivery.rcptTo)) return refused('5.1.3', 'the address can not be sent to')
    if (/[\x00-\x1f\x7f<>]/.test(delivery.mailFrom)) return refused('5.1.7', 'the reverse-path is malformed')
    const route = findRoute(routes, toAscii(delivery.domain).toLowerCase())
    if (route?.smarthost === undefined) return carryToMx(delivery, raw, tlsResults, progress, route)
    if (!(await progress.mayGoTo(`smarthost:${route.smarthost.host}`, delivery.domain))) return 'no-slot'
    const parts = { dns, carrier, useIpv6, log }
    const ending = await carryToSmarthost(parts, delivery, raw, progress, route, route.smarthost)
    if (!route.fallsBack || ending.isFinal || hasAnswered(ending) || signal.aborted) return ending
    const direct = await carryToMx(delivery, raw, tlsResults, progress, undefined)
    return isUntried(direct) || direct.isFinal ? direct : moreTelling(ending, direct)
  }

  async function carryToMx(
    delivery: SmtpDelivery,
    raw: Raw,
    tlsResults: TlsResult[],
    progress: Steps,
    route: Route | undefined,
  ): Promise<Ending | Untried> {
    const { signal } = progress
    const seen = secureDns && createAuthenticatedDns(secureDns)
    const lookups = seen ?? dns
    const literal = literalAddress(delivery.domain)
    const mx =
      literal === undefined
        ? await findMxHosts(lookups, delivery.domain, random, host => ours.has(host))
        : literalHost(literal)
    if ('failure' in mx) {
      if (mx.failure.result === 'permanent') return { outcome: mx.failure, isFinal: true }
      // Whatever servers it led to before: that its DNS fails is nothing about them.
      if (!(await progress.mayGoTo(delivery.domain, delivery.domain))) return 'no-slot'
      if (mx.isSilence && (await isResolverSilent(dns))) return noResolver()
      return { outcome: { ...mx.failure, showing: 'fails' }, isFinal: true }
    }
    // What is no domain has no policy, and nobody who is told how its TLS does.
    const isOpportunistic = delivery.isTlsReport === true || literal !== undefined
    const given = await findDomainTls(
      { domain: toAscii(delivery.domain).toLowerCase().replace(/\.$/, ''), port, secureDns, seen },
      isOpportunistic ? undefined : stsPolicies,
      { podId: delivery.podId ?? '-', signal },
    )
    if (given === undefined) return unheard('4.4.7', abortError(signal).message)
    // It may be one that demands TLS: what we have no time for is no reason to go without.
    if (given.sts.isUnasked) return unheard('4.4.5', policyNotAsked)
    // After its policy was asked for: how long that takes is the domain's affair, and no place of the servers is held for it.
    const provider = mx.group === undefined ? undefined : providers.ofHosts(mx.hosts)
    const group = provider?.name ?? mx.group
    if (!(await progress.mayGoTo(group ?? delivery.domain, delivery.domain))) return 'no-slot'
    const { domain, sts } = given
    const note = (host: string, policyType: TlsResult['policyType'], type: TlsResult['type']) =>
      tlsResults.push({ policyDomain: domain, policyType, type, host })
    if (sts.fault) note('', 'sts', sts.fault.type)
    const source = route?.sourceAddress
    const by = source && { sourceAddress: source, route: Object.values(source).join() }
    let best: Ending | undefined
    let deferrals = 0
    const findOf = (host: string) =>
      literal === undefined
        ? findAddresses(lookups, host, useIpv6)
        : // One that may not be reached is refused for good, and not until there is IPv6.
          literalAddresses(literal, useIpv6 || guard.refusal(literal, port) !== undefined)
    const found = new Map<string, AddressResult>()
    for (const host of mx.hosts) {
      if (signal.aborted) break
      const preference = mx.preferences.get(host)!
      // Of all that are preferred alike before any of them is tried: where one is ours, the others would send the mail to us.
      const alike = mx.hosts.filter(one => !found.has(one) && mx.preferences.get(one) === preference)
      await Promise.all(alike.map(async one => found.set(one, await findOf(one))))
      const ours = alike.find(one => isOurs(found.get(one)!))
      if (ours !== undefined) {
        const { failure } = loopsBack(domain)
        best = moreTelling(best, { outcome: { ...failure, host: ours }, isFinal: false })
        break
      }
      const there = found.get(host)!
      if ('failure' in there) {
        if (there.isSilence && (await isResolverSilent(dns))) return noResolver()
        best = moreTelling(best, { outcome: { ...there.failure, host }, isFinal: false })
      }
      const tls = 'failure' in there || isOpportunistic ? opportunistic : await hostTls(host, given)
      if ('type' in tls) {
        note(host, tls.type === 'dnssec-invalid' ? 'tlsa' : 'sts', tls.type)
        best = moreTelling(best, forbidden(host, tls))
        continue
      }
      for (const address of 'addresses' in there ? there.addresses : []) {
        if (signal.aborted) break
        const reason = guard.refusal(address, port)
        if (reason !== undefined) {
          best = moreTelling(best, guarded(host, reason))
          continue
        }
        const turn = standing.mayTry(address)
        if (turn !== true) {
          best = moreTelling(best, passedOver(address, turn.inMs))
          continue
        }
        const stop = { host, address, tls, by, noteTls: note }
        const most = provider?.concurrency ?? options.mostAtAddress ?? Number.POSITIVE_INFINITY
        // Other hosts of the domain are for when this one fails, and not for when it has enough to do.
        const leave = await addresses.enter(address, most, delivery.podId ?? '-', signal)
        if (!leave) return 'address-full'
        const carry = () => carrier.carryTo(stop, delivery, raw, progress)
        const ending = await standing.watch(address, signal, carry).finally(leave)
        log?.debug({ deliveryId: delivery.id, ...ending.outcome, isFinal: ending.isFinal }, 'SMTP host tried')
        if (ending.isFinal) return ending
        best = moreTelling(best, ending)
        if (ending.isDeferral) deferrals++
        if (deferrals >= mxDeferrals) return best
      }
    }
    return best ?? unheard('4.4.7', abortError(signal).message)
  }

  return {
    carry,
    async close() {
      stopping.abort(new Error('the server is stopping'))
      await carrier.close()
    },
  }
}

/** Why no server was asked. */
type Untried = Extract<Unfinished, 'no-slot' | 'address-full'>

const isUntried = (ending: Ending | Untried): ending is Untried => typeof ending === 'string'

/** Whether nothing was said that decides about the message. */
const isOpen = ({ result, code, triedAgainInMs }: Ending['outcome']) =>
  result === 'transient' && code === undefined && triedAgainInMs === undefined

/**
 * Ends an attempt whose other side stays silent while other mail waits: a first attempt after a moment, for it is repeated soon, and any
 * other one after some seconds. Not once the mail may have been taken.
 */
class Silence {
  readonly #progress: Pick<Progress, 'isFirst' | 'isWaitedFor'>
  readonly #timeouts: SmtpTimeouts
  readonly #ended: Pick<JoinedAbort, 'abort'>
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  isTooLong = false

  constructor(
    progress: Pick<Progress, 'isFirst' | 'isWaitedFor'>,
    timeouts: SmtpTimeouts,
    ended: Pick<JoinedAbort, 'abort'>,
  ) {
    this.#progress = progress
    this.#timeouts = timeouts
    this.#ended = ended
    this.#wait(progress.isFirst ? timeouts.firstGreetingMs : timeouts.silentMs)
  }

  /** The other side gave a whole reply. */
  heard(): void {
    if (this.#isOver) return
    clearTimeout(this.#timer)
    this.#wait(this.#timeouts.silentMs)
  }

  /** It may stay silent from now on. */
  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #wait(ms: number, inMs = ms): void {
    this.#timer = setTimeout(() => {
      if (!this.#progress.isWaitedFor()) return this.#wait(ms, silenceLookMs)
      this.isTooLong = true
      this.#ended.abort(new Error(`no answer within ${ms / 1000} s, and other mail waited`))
    }, inMs)
  }
}

/** Where mail may not go is no proof while another host may still take it; alone it is. */
function guarded(host: string, reason: string): Ending {
  const text = `the mail server ${host} points at ${reason}`
  return { outcome: { result: 'permanent', enhanced: '5.4.4', text, host }, isFinal: false }
}

/** The bytes that an attempt carries. */
export interface Cargo {
  readonly sizeBytes: number
  readonly is8Bit: boolean
  readonly isUtf8: boolean
  readonly raw: Raw
}
