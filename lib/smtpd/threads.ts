import { Socket } from 'node:net'
import { limits } from '../base/limits.ts'
import type { Networked } from '../core/app/app.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import { type DoorCalls, type DoorThread, startDoorThread } from './door-thread.ts'
import type { SessionBounds, Sessions } from './sessions.ts'

/** Whether this Node can hand an accepted connection over to another thread (26.6 and newer, and late ones of 24). */
export const canHandOver = Object.getOwnPropertySymbols(Socket.prototype).some(
  ({ description }) => description === 'messaging_transfer_symbol',
)

export interface ThreadsParts {
  readonly app: Pick<Networked, 'config' | 'clock' | 'log'>
  readonly count: number
  readonly bounds: SessionBounds
  readonly certificates: CertificateSet
  /** How long one of them may stand still. */
  readonly timeoutMs: number
  readonly calls: DoorCalls
  /** As in lib/smtpd/sessions.ts. */
  ended(id: string): void
}

/**
 * Sessions in threads; a connection goes to the one that has the fewest. One that dies is replaced, and whose message it
 * was reading is suspect from then on: their small messages are read where only they can be harmed.
 */
export function createThreads(parts: ThreadsParts): Sessions & { readonly ready: Promise<unknown> } {
  const { app, bounds, calls, ended, timeoutMs } = parts
  const threads = new Map<DoorThread, { isReady: boolean }>()
  const suspects = new Set<string>()
  let { certificates } = parts
  let isStopped = false

  function open(): DoorThread {
    const state = { isReady: false }
    const thread = startDoorThread({
      config: app.config,
      bounds,
      pairs: certificates.pairs,
      suspects: [...suspects],
      app,
      timeoutMs,
      calls,
      ended,
      died(culprit) {
        threads.delete(thread)
        if (culprit !== undefined) suspect(culprit)
        if (isStopped) return
        // One that dies before it is ready would do so again at once.
        if (state.isReady) open()
        else setTimeout(() => isStopped || open(), limits.smtpThreadRestartMs).unref()
      },
    })
    threads.set(thread, state)
    thread.ready.then(
      () => {
        state.isReady = true
      },
      () => {},
    )
    return thread
  }

  function suspect(party: string): void {
    suspects.add(party)
    if (suspects.size > limits.smtpSuspects) suspects.delete(suspects.values().next().value!)
    for (const thread of threads.keys()) thread.suspect(party)
  }

  /** One that is ready goes before one that still starts. */
  function findLeast(): DoorThread | undefined {
    const all = [...threads]
    const ready = all.filter(([, { isReady }]) => isReady)
    return (ready.length > 0 ? ready : all)
      .map(([thread]) => thread)
      .reduce<DoorThread | undefined>((least, one) => (least && least.size <= one.size ? least : one), undefined)
  }

  const ready = Promise.all(Array.from({ length: parts.count }, () => open().ready))
  // Whoever waits for it is told.
  ready.catch(() => {})
  return {
    ready,
    get size() {
      return [...threads.keys()].reduce((sum, { size }) => sum + size, 0)
    },
    take(admitted, socket) {
      const thread = findLeast()
      if (thread) thread.take(admitted, socket)
      else {
        socket.destroy()
        ended(admitted.id)
      }
    },
    reload(set) {
      certificates = set
      for (const thread of threads.keys()) thread.reload(set)
    },
    async stop() {
      isStopped = true
      await Promise.all([...threads.keys()].map(thread => thread.stop()))
    },
  }
}
