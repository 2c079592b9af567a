import type { Worker } from 'node:worker_threads'

/** How often the full-text index looks for new messages. */
export const indexPollMs = 200

/** A thread that works on the database beside this one. */
export interface KeptThread {
  /** Has it come to the end of what it is at, and waits for that. */
  stop(): Promise<void>
}

export interface ThreadWork<Told> {
  /** Starts it. It ends when it is told 'stop'. */
  begin(isFirst: boolean): Worker
  told(message: Told): void
  /** Called with why, each time that it died by itself. */
  died(why: string): void
  /** Another value than before when there may be something to do. */
  version(): unknown
  /** Whether it is kept from its work and tries again; `was` when the message is about something else. */
  isHindered(message: Told, was: boolean): boolean
  /** For how long nothing is to be done before it is ended. */
  readonly idleMs: number
}

/** When one that died is started again. */
const restartMs = 10_000

/**
 * Starts a thread that is there while there is something to do, and starts it again when it dies. It does not keep the process
 * alive. A thread that waits costs 10 MB, so it is ended when nothing has been committed for a while, and begun with the next commit.
 */
export function keepThread<Told>(work: ThreadWork<Told>): KeptThread {
  let worker: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let isStopped = false
  let isEnding = false
  let isHindered = false
  let seen: unknown
  let quietLooks = 0

  function start(isFirst: boolean): void {
    let why = 'it ended'
    const started = work.begin(isFirst)
    worker = started
    started.unref()
    started.on('message', (message: Told) => {
      isHindered = work.isHindered(message, isHindered)
      work.told(message)
    })
    started.on('error', error => {
      why = String(error)
    })
    started.on('exit', () => {
      worker = undefined
      if (isStopped || isEnding) return
      work.died(why)
      restart = setTimeout(start, restartMs, false).unref()
    })
  }

  function look(): void {
    const now = work.version()
    quietLooks = now === seen ? quietLooks + 1 : 0
    seen = now
    // While one that was told to end is at its last step, or one that died is not yet begun again, there is nothing to decide.
    if (worker && !isEnding && !isHindered && quietLooks * indexPollMs >= work.idleMs) {
      isEnding = true
      worker.postMessage('stop')
    } else if (!worker && isEnding && quietLooks * indexPollMs < work.idleMs) {
      isEnding = false
      start(false)
    }
  }

  start(true)
  const looking = setInterval(look, indexPollMs).unref()
  return {
    async stop() {
      isStopped = true
      clearInterval(looking)
      clearTimeout(restart)
      if (!worker) return
      // One that dies meanwhile has ended, too.
      const exit = new Promise(resolve => worker?.once('exit', resolve))
      worker.ref()
      worker.postMessage('stop')
      await exit
    },
  }
}
