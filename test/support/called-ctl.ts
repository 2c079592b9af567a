import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Finished } from './program.ts'

interface Call {
  readonly dir: string
  readonly args: readonly string[]
}

let caller: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/**
 * Runs mailboxctl in the directory of a local daemon as `runCtl` does, but from its sources and in a process that has run others before: to begin is most of what a
 * call takes. For stories of what commands do; how the program begins and ends is asked of the program.
 */
export function callCtl(dir: string, ...args: readonly string[]): Promise<Finished> {
  const answer = last.then(() => callNow({ dir, args }))
  last = answer.catch(() => {})
  return answer
}

function callNow(call: Call): Promise<Finished> {
  caller ??= fork(join(import.meta.dirname, 'ctl-caller.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const child = caller
  // While nothing is asked it holds nobody up, and it ends with this process.
  const hold = (is: 'ref' | 'unref') => {
    child[is]()
    child.channel?.[is]()
  }
  return new Promise((resolve, reject) => {
    hold('ref')
    const ended = () => reject(new Error(`mailboxctl ${call.args.join(' ')} ended its process`))
    child.once('exit', ended)
    child.once('message', (finished: Finished) => {
      child.off('exit', ended)
      hold('unref')
      resolve(finished)
    })
    child.send(call)
  })
}
