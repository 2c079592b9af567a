import type { Socket } from 'node:net'
import { type Transferable, Worker } from 'node:worker_threads'
import type { LogStyle } from '../base/log-style.ts'
import type { Noted } from '../base/metrics.ts'
import {
  type Answer,
  type Call,
  createAnswerer,
  createThreadMark,
  createThreadWatch,
  findCulprit,
  placesIn,
  threadEntry,
} from '../base/threads.ts'

import type { Networked } from '../core/app/app.ts'
import type { MainCalls } from '../core/inbound/main-calls.ts'
import type { SubmissionCalls } from '../core/submission/door.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import type { GivesWay } from './give-way.ts'
import type { Admitted, SessionBounds, Sessions } from './sessions.ts'

/** Memory for objects of one such thread; the bytes of messages are not among them. */
const smtpThreadHeapBytes = 512 * 1024 * 1024

/** What a thread of sessions is started with. */
export interface DoorThreadData {
  readonly config: Networked['config']
  readonly bounds: SessionBounds
  readonly pairs: CertificateSet['pairs']
  /** What the thread is at, to be seen from outside while it computes. */
  readonly mark: SharedArrayBuffer
  /** Whose small messages are read elsewhere (lib/reading/near.ts). */
  readonly suspects: readonly string[]
  /** How it writes its log. */
  readonly logStyle: LogStyle
  /** Whether there is room for mail (lib/core/app/storage.ts). */
  readonly storage: SharedArrayBuffer
}

/** What goes to the thread. */
export type ToDoor =
  | { readonly take: Admitted; readonly socket: Socket }
  | { readonly answers: readonly Answer[] }
  | { readonly reload: CertificateSet['pairs'] }
  | { readonly suspect: string }
  | { readonly findWhoGivesWay: { readonly crowd: string | undefined } }
  | { readonly sendAway: readonly string[] }
  | { readonly stop: true }

/** What comes from it. */
export type FromDoor =
  | { readonly calls: readonly Call[] }
  /** Connections that have ended. */
  | { readonly ended: readonly string[] }
  /** What was counted in it. */
  | { readonly noted: readonly Noted[] }
  | { readonly ready: true }
  /** The answer to one question, in the order of these. */
  | { readonly givesWay: readonly GivesWay[] }
  | { readonly stopped: true }

/** All that a thread of sessions has done by the main thread. */
export type DoorCalls = MainCalls &
  SubmissionCalls & { takeMessage(of: OfPeer): Promise<void>; takeBytes(of: OfPeer): Promise<void> }

/** Bytes of the peer at this address. */
export interface OfPeer {
  readonly address: string
  readonly count: number
}

export interface DoorThreadParts extends Omit<DoorThreadData, 'mark' | 'storage'> {
  readonly app: Pick<Networked, 'clock' | 'log' | 'meter' | 'storage'>
  /** How long it may be at one message, or its event loop stand still. */
  readonly timeoutMs: number
  readonly calls: DoorCalls
  /** Called with each connection that has ended, also by the death of the thread. */
  ended(id: string): void
  /** Called once when it can take connections. */
  ready(): void
  /** Called once when it has died; `culprit` is the party whose message it was reading. */
  died(culprit: string | undefined): void
}

/** Sessions in a thread of their own, seen from the main thread. */
export interface DoorThread extends Sessions {
  /** The small messages of this party are to be read elsewhere. */
  suspect(party: string): void
}

const mebibyte = 1024 * 1024

/**
 * Starts a thread that holds sessions. When it dies, by itself or because it stands still, its connections are closed and
 * their peers try again; what it had handed over to be written is written.
 */
export function startDoorThread(parts: DoorThreadParts): DoorThread {
  const { config, bounds, pairs, suspects, logStyle, app, calls } = parts
  const mark = createThreadMark()
  const connections = new Set<string>()
  const storage = app.storage.shared
  const workerData: DoorThreadData = { config, bounds, pairs, mark, suspects, logStyle, storage }
  const worker = new Worker(threadEntry('smtpd/worker'), {
    name: 'smtp',
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: smtpThreadHeapBytes / mebibyte },
  })
  const post = (message: ToDoor, transfer: readonly Transferable[] = []) =>
    worker.postMessage(message, transfer)
  const answer = createAnswerer(calls, answers => post({ answers }))
  const asked: ((givesWay: readonly GivesWay[]) => void)[] = []
  const stopped = Promise.withResolvers<void>()
  let isStopping = false
  let why: string | undefined
  const watch = createThreadWatch(placesIn(mark), parts.timeoutMs, app.clock, () => {
    why ??= `it stood still for ${parts.timeoutMs} ms`
    worker.terminate()
  })

  worker.on('message', (message: FromDoor) => {
    if ('calls' in message) answer(message.calls)
    else if ('ended' in message) for (const id of message.ended) release(id)
    else if ('noted' in message) app.meter.add(message.noted)
    else if ('givesWay' in message) asked.shift()?.(message.givesWay)
    else if ('ready' in message) {
      app.log.debug('a thread of SMTP sessions is ready')
      parts.ready()
    } else stopped.resolve()
  })
  worker.on('error', error => {
    why ??= String(error)
  })
  worker.on('exit', () => {
    watch.stop()
    for (const id of connections) release(id)
    for (const answered of asked.splice(0)) answered([])
    stopped.resolve()
    if (isStopping) return
    const culprit = findCulprit(mark)
    app.meter.count('smtp_thread_deaths_total')
    app.log.error({ why: why ?? 'it ended', culprit }, 'a thread of SMTP sessions ended')
    parts.died(culprit)
  })

  function release(id: string): void {
    if (!connections.delete(id)) return
    if (connections.size === 0) watch.stop()
    parts.ended(id)
  }

  return {
    get size() {
      return connections.size
    },
    take(admitted, socket) {
      connections.add(admitted.id)
      watch.start()
      post({ take: admitted, socket }, [socket as unknown as Transferable])
    },
    reload: certificates => post({ reload: certificates.pairs }),
    findWhoGivesWay(crowd) {
      if (connections.size === 0) return Promise.resolve([])
      const { promise, resolve } = Promise.withResolvers<readonly GivesWay[]>()
      asked.push(resolve)
      post({ findWhoGivesWay: { crowd } })
      return promise
    },
    sendAway: ids => post({ sendAway: ids }),
    suspect: party => post({ suspect: party }),
    async stop() {
      isStopping = true
      // One that holds nothing may be starting still.
      if (connections.size > 0) {
        post({ stop: true })
        await stopped.promise
      }
      await worker.terminate()
    },
  }
}
