import { Socket } from 'node:net'
import type { LogStyle } from '../base/log-style.ts'
import type { Networked } from '../core/app/app.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import type { DoorCalls, DoorThread, DoorThreadParts } from './door-thread.ts'
import { inOrder } from './give-way.ts'
import type { SessionBounds, Sessions } from './sessions.ts'

/** How often in this time the main thread checks for that. */
export const smtpThreadLooks = 4
/** When one that could not start is started again. */
const smtpThreadRestartMs = 10_000
/** Peers of whom it is remembered that a message of theirs ended such a thread; the first one makes room. */
export const smtpSuspects = 1_000

/** Whether this Node can hand an accepted connection over to another thread (26.6 and newer, and late ones of 24). */
export const canHandOver = Object.getOwnPropertySymbols(Socket.prototype).some(
  ({ description }) => description === 'messaging_transfer_symbol',
)

export interface ThreadsParts {
  readonly app: Pick<Networked, 'config' | 'clock' | 'log' | 'meter' | 'storage' | 'hold'>
  readonly count: number
  /** Another one starts when those that are there have so many sessions each. */
  readonly sessionsEach: number
  readonly bounds: SessionBounds
  readonly certificates: CertificateSet
  /** How long one of them may stand still. */
  readonly timeoutMs: number
  /** After this without a connection they end, for what they grew to. */
  readonly idleMs: number
  readonly logStyle: LogStyle
  readonly calls: DoorCalls
  /** Those in this thread: they take what comes while no other is ready. */
  readonly own: Sessions
  /** `startDoorThread`. */
  start(parts: DoorThreadParts): DoorThread
  /** As in lib/smtpd/sessions.ts. */
  ended(id: string): void
}

/**
 * Sessions in threads, of which the first starts with the first connection, another one when those before have enough to do, and all end when there
 * has been no connection for long; each goes to the one that has the fewest. One that dies is replaced, and whose message it was reading is suspect from then on: their small
 * messages are read where only they can be harmed.
 */
export function createThreads(parts: ThreadsParts): Sessions {
  const { app, bounds, calls, ended, own, timeoutMs } = parts
  const { clock } = app
  const threads = new Set<DoorThread>()
  const ready = new Set<DoorThread>()
  const suspects = new Set<string>()
  let { certificates } = parts
  let isStopped = false
  let usedAtMs = 0
  let looking: NodeJS.Timeout | undefined

  function open(): void {
    if (isStopped || looking === undefined || threads.size >= parts.count) return
    const thread = parts.start({
      config: app.config,
      bounds,
      pairs: certificates.pairs,
      suspects: [...suspects],
      logStyle: parts.logStyle,
      app,
      timeoutMs,
      calls,
      ended,
      ready() {
        if (threads.has(thread)) ready.add(thread)
      },
      died(culprit) {
        threads.delete(thread)
        if (culprit !== undefined) suspect(culprit)
        // One that could not even start would fail again at once.
        if (ready.delete(thread)) open()
        else setTimeout(open, smtpThreadRestartMs).unref()
      },
    })
    threads.add(thread)
  }

  const held = () => [...threads].reduce((sum, { size }) => sum + size, 0)

  function openAsNeeded(): void {
    if (isStopped) return
    looking ??= setInterval(endUnused, parts.idleMs / smtpThreadLooks).unref()
    const sessions = own.size + held()
    while (threads.size < parts.count && sessions >= threads.size * parts.sessionsEach) open()
  }

  function endUnused(): void {
    const nowMs = clock.monotonicMs()
    if (own.size + held() > 0) usedAtMs = nowMs
    if (nowMs - usedAtMs < parts.idleMs) return
    clearInterval(looking)
    looking = undefined
    for (const thread of threads) void thread.stop()
    threads.clear()
    ready.clear()
  }

  function suspect(party: string): void {
    suspects.add(party)
    if (suspects.size > smtpSuspects) suspects.delete(suspects.values().next().value!)
    for (const thread of threads) thread.suspect(party)
  }

  function findLeast(): Sessions {
    let least: Sessions = own
    for (const thread of ready) if (least === own || thread.size < least.size) least = thread
    return least
  }

  return {
    get size() {
      return own.size + held()
    },
    take(admitted, socket) {
      openAsNeeded()
      usedAtMs = clock.monotonicMs()
      findLeast().take(admitted, socket)
    },
    reload(set) {
      certificates = set
      for (const sessions of [own, ...threads]) sessions.reload(set)
    },
    async findWhoGivesWay(crowd) {
      const found = [own, ...threads].map(sessions => sessions.findWhoGivesWay(crowd))
      return inOrder((await Promise.all(found)).flat())
    },
    sendAway(ids) {
      for (const sessions of [own, ...threads]) sessions.sendAway(ids)
    },
    async stop() {
      isStopped = true
      clearInterval(looking)
      await Promise.all([own, ...threads].map(sessions => sessions.stop()))
    },
  }
}
