import { fork } from 'node:child_process'
import { threadEntry } from '../base/threads.ts'

/** What is wrong with the file of a database, or, in a sentence, why that is not known. */
export type Faults = { readonly faults: readonly string[] } | { readonly unknown: string }

/**
 * Looks whether the file of a database is whole; undefined: it took too long, and nothing is known.
 * @param timeoutMs undefined: every page and every index is read, however long that takes
 * @throws Error when the process that looks ends without a word
 */
export function findFaults(path: string, timeoutMs: number | undefined): Promise<Faults | undefined> {
  const depth = timeoutMs === undefined ? 'deep' : 'quick'
  const child = fork(threadEntry('store/integrity-process'), [path, depth], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const { promise, resolve, reject } = Promise.withResolvers<Faults | undefined>()
  child.once('message', found => resolve(found as Faults))
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    if (signal === 'SIGKILL') resolve(undefined)
    else reject(new Error(`the process that reads the database ended with ${signal ?? code}`))
  })
  return promise
}
