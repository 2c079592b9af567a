import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** It was broken off by a signal, and has left nothing. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff'
  /** As a shell has it: 128 and the number of the signal. */
  readonly exitCode: number

  constructor(signal: (typeof signals)[number]) {
    super(`ended by ${signal}: nothing was done`)
    this.exitCode = 128 + constants.signals[signal]
  }
}

/**
 * Does what must clear up behind itself when a signal ends it.
 * @param work fails when the signal that it is given is aborted, as long as it can be undone
 * @throws BrokenOff when it did
 */
export async function breakable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  const hear = (signal: (typeof signals)[number]) => abort.abort(new BrokenOff(signal))
  for (const signal of signals) process.on(signal, hear)
  try {
    return await work(abort.signal)
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error
  } finally {
    for (const signal of signals) process.off(signal, hear)
  }
}
