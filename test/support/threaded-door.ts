import type { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { greetedDialog } from './smtp-dialog.ts'
import { openDoor, type TestDoor, type TestDoorSettings } from './smtp-door.ts'
import { until } from './until.ts'

export interface ThreadedDoor extends TestDoor {
  /** The threads that were started, the dead ones too. */
  readonly workers: readonly Worker[]
}

/** A door whose sessions are in two threads, which are ready. */
export async function openThreadedDoor(t: Test, settings: TestDoorSettings = {}): Promise<ThreadedDoor> {
  const workers: Worker[] = []
  const noteWorker = (worker: Worker) => {
    if (worker.threadName === 'smtp') workers.push(worker)
  }
  process.on('worker', noteWorker)
  t.teardown(() => process.off('worker', noteWorker))
  const toml = `${settings.toml ?? ''}\n[log]\nlevel = "fatal"\n`
  const door = await openDoor(t, { threads: 2, ...settings, toml })
  // The first connection has them start, and is held by the main thread.
  const first = await greetedDialog(door.port)
  const isReady = () => door.log.filter(({ msg }) => msg === 'a thread of SMTP sessions is ready').length
  await until('both threads ready', () => isReady() === 2, 60_000)
  await first.say('QUIT')
  await first.closed()
  await until('its place free', () => door.log.some(({ msg }) => msg === 'session ended'))
  return { ...door, workers }
}
