import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'

/** A thread that works on the database beside this one. */
export interface KeptThread {
  /** Has it come to the end of what it is at, and waits for that. */
  stop(): Promise<void>
}

/** When one that died is started again. */
const restartMs = 10_000

/**
 * Starts a thread that is to be there all the time, and starts it again when it dies. It does not keep the process alive.
 * Any message to it means that it is to end.
 * @param died called with why, each time that it does so by itself
 */
export function keepThread<Told>(
  begin: () => Worker,
  told: (message: Told) => void,
  died: (why: string) => void,
): KeptThread {
  let worker: Worker
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function start(): void {
    let why = 'it ended'
    worker = begin()
    worker.unref()
    worker.on('message', told)
    worker.on('error', error => {
      why = String(error)
    })
    worker.on('exit', () => {
      if (isStopped) return
      died(why)
      timer = setTimeout(start, restartMs).unref()
    })
  }

  start()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      if (worker.threadId === -1) return
      worker.ref()
      worker.postMessage('stop')
      await once(worker, 'exit')
    },
  }
}
