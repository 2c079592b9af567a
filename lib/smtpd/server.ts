import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import { createTally, tallyMs } from '../base/log.ts'
import { jsonStyle, type LogStyle } from '../base/log-style.ts'
import { Reply } from '../base/reply.ts'
import type { Throttles } from '../core/account/throttles.ts'
import type { Networked } from '../core/app/app.ts'
import { createMainCalls } from '../core/inbound/main-calls.ts'
import { createReceiver } from '../core/inbound/receiver.ts'
import { createSubmissionDoor, submissionCalls } from '../core/submission/door.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import type { DoorName } from './door-name.ts'
import { type OfPeer, startDoorThread } from './door-thread.ts'
import { findCrowd } from './give-way.ts'
import { createSessions, type SessionBounds } from './sessions.ts'
import { createShares } from './shares.ts'
import { canHandOver, createThreads } from './threads.ts'

/** The time between two searches for such sessions. */
export const smtpRoomMs = 1_000
/** Of all places the share that is asked for at a time where nobody is idle. */
const smtpRoomShare = 0.01

export interface SmtpDoorOptions extends SessionBounds {
  readonly certificates: CertificateSet
  /** Those of the API, whose keys the doors of submission take. */
  readonly throttles: Throttles
  /** How many threads hold the sessions; with 1 the main thread does. */
  readonly threads: number
  /** How many sessions each of them has before another one starts. */
  readonly threadSessions: number
  /** How long such a thread may stand still before it is ended. */
  readonly threadTimeoutMs: number
  /** After this without a connection the threads end. */
  readonly threadIdleMs: number
  /** How threads write their log; JSON unless said. */
  readonly logStyle?: LogStyle | undefined
}

export interface Listener {
  listen(host: string, port: number): Promise<AddressInfo>
  /** Takes a socket that listens already, by its descriptor. */
  adopt(descriptor: number): Promise<AddressInfo>
}

export interface SmtpDoor extends Listener {
  /** How many sessions are open. */
  readonly size: number
  /** The doors of submission, with the same sessions and shares. */
  readonly submission: Listener
  readonly submissions: Listener
  /** New handshakes get these certificates; sessions under way go on. */
  reload(certificates: CertificateSet): void
  /** Listens no more, sends waiting sessions away with 421 and lets messages under way come to their end. */
  stop(): Promise<void>
}

/**
 * The door that mail comes in by (RFC 5321), and those that it is submitted at (RFC 6409). Connections are accepted and counted here, in the main thread, so that none
 * that waits is lost when a thread of sessions dies; then they are handed over to their session.
 */
export function createSmtpDoor(app: Networked, options: SmtpDoorOptions): SmtpDoor {
  const { config, clock, log, meter } = app
  const {
    certificates,
    throttles,
    threads,
    threadSessions,
    threadTimeoutMs,
    threadIdleMs,
    logStyle = jsonStyle,
    ...bounds
  } = options
  const shares = createShares(config.smtp, clock)
  const places = new Map<string, Place>()
  const turnedAway = createTally(clock, tallyMs, counts =>
    log.warn({ counts }, 'SMTP connections were turned away'),
  )
  const listeners: Server[] = []
  let madeRoomMs = Number.NEGATIVE_INFINITY
  const rates = {
    takeMessage: async (address: string, sizeBytes: number) => shares.takeMessage(address, sizeBytes),
    takeBytes: async (address: string, count: number) => shares.takeBytes(address, count),
  }
  const ended = (id: string) => {
    places.get(id)?.release()
    places.delete(id)
  }
  const submission = createSubmissionDoor(app, throttles)
  const receiver = createReceiver(app)
  const own = createSessions({ ...bounds, receiver, submission, certificates, rates, ended })
  const calls = {
    ...createMainCalls(app),
    ...submissionCalls(submission),
    takeMessage: ({ address, count }: OfPeer) => rates.takeMessage(address, count),
    takeBytes: ({ address, count }: OfPeer) => rates.takeBytes(address, count),
  }
  const times = { sessionsEach: threadSessions, timeoutMs: threadTimeoutMs, idleMs: threadIdleMs }
  const start = startDoorThread
  const sessions =
    threads > 1 && canHandOver
      ? createThreads({
          app,
          count: threads,
          bounds,
          certificates,
          ...times,
          logStyle,
          calls,
          own,
          start,
          ended,
        })
      : own

  function accept(door: DoorName, socket: Socket, local: AddressInfo): void {
    const { remoteAddress, remotePort = 0 } = socket
    if (remoteAddress === undefined) {
      // It has gone already.
      socket.destroy()
      return
    }
    const place = shares.connect(remoteAddress)
    if (place instanceof Reply) {
      turnedAway.note(place.text)
      meter.count('smtp_connections_total', place.reason)
      if (place.reason === 'all') void makeRoom()
      turnAway(socket, place)
      return
    }
    meter.count('smtp_connections_total', 'accepted')
    const id = app.ids.next()
    const isTrusted = shares.isTrusted(remoteAddress)
    places.set(id, { remoteAddress, isTrusted, release: place.release })
    const { address: localAddress, port: localPort } = local
    sessions.take({ id, door, remoteAddress, remotePort, localAddress, localPort, isTrusted }, socket)
  }

  /**
   * Those who are let in have their share of places; together they may take all of them. All who are idle give way; where nobody is, some of the
   * others do, for what they do is what mail does.
   */
  async function makeRoom(): Promise<void> {
    const nowMs = clock.monotonicMs()
    if (nowMs - madeRoomMs < smtpRoomMs) return
    madeRoomMs = nowMs
    const strangers = [...places.values()].filter(({ isTrusted }) => !isTrusted)
    const crowd = findCrowd(strangers.map(({ remoteAddress }) => remoteAddress))
    const found = await sessions.findWhoGivesWay(crowd)
    const idle = found.filter(({ rank }) => rank === 'idle')
    const asked = Math.ceil(config.smtp.max_connections * smtpRoomShare)
    sessions.sendAway((idle.length > 0 ? idle : found.slice(0, asked)).map(({ id }) => id))
  }

  async function open(door: DoorName, where: ListenOptions & { fd?: number }): Promise<AddressInfo> {
    // What comes is read in the thread of its session.
    const listener = createServer({ pauseOnConnect: true, noDelay: true })
    listeners.push(listener)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    listener.once('error', reject)
    listener.listen(where, resolve)
    await promise
    listener.off('error', reject)
    listener.on('error', error => log.error({ err: error }, 'the SMTP door can not accept'))
    const local = listener.address() as AddressInfo
    listener.on('connection', socket => accept(door, socket, local))
    return local
  }

  const listenerOf = (door: DoorName): Listener => ({
    listen: (host, port) => open(door, { host, port, ipv6Only: true }),
    adopt: descriptor => open(door, { fd: descriptor }),
  })

  return {
    get size() {
      return sessions.size
    },
    ...listenerOf('smtp'),
    submission: listenerOf('submission'),
    submissions: listenerOf('submissions'),
    reload: set => sessions.reload(set),
    async stop() {
      for (const listener of listeners) listener.close()
      await sessions.stop()
    },
  }
}

/** A connection that has its place at the door. */
interface Place {
  readonly remoteAddress: string
  readonly isTrusted: boolean
  release(): void
}

/** It is told, and not waited for: who comes too often would otherwise keep a socket each time. */
function turnAway(socket: Socket, { code, enhanced, text }: Reply): void {
  socket.on('error', () => {})
  socket.end(`${code} ${enhanced} ${text}\r\n`)
  socket.destroySoon()
}
