import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

export interface Contained {
  /** The process outside, of which all others are descendants. */
  readonly pid: number
  /** Ends it and everything that it started. Twice is harmless. */
  stop(): Promise<void>
}

export interface ContainedOptions {
  /** Standard output and error go into this file. */
  readonly log: string
  readonly env?: Record<string, string>
  /** A mount namespace of its own, so that the command may bind directories over the system's. */
  readonly mounts?: boolean
}

/**
 * Starts a server that forks, in a PID namespace of its own: whatever it daemonises dies with it, and with this
 * process, even when that is killed. Needs root.
 */
export function startContained(
  command: string,
  args: readonly string[],
  options: ContainedOptions,
): Contained {
  const log = openSync(options.log, 'a')
  const unshare = ['unshare', '--pid', '--fork', '--kill-child', ...(options.mounts ? ['--mount'] : [])]
  // The first process of the namespace stays a shell: a server that changes its user loses the signal of its parent's death.
  const first = ['sh', '-c', '"$@"; exit $?', 'sh']
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '--', ...unshare, '--', ...first, command, ...args],
    {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...options.env },
    },
  )
  closeSync(log)
  return { pid: child.pid ?? 0, stop: () => stop(child) }
}

/** The kernel ends a namespace with its first process, and lets that one go only after all the others are gone. */
async function stop(unshare: ChildProcess): Promise<void> {
  if (unshare.pid === undefined || unshare.exitCode !== null || unshare.signalCode !== null) return
  const exit = once(unshare, 'exit')
  const first = childrenOf(unshare.pid)[0]
  if (first) process.kill(first, 'SIGKILL')
  else unshare.kill('SIGKILL')
  await exit
}

/** The process ids of the direct children of a process, none when it is gone. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Kills a child process and waits for its end. */
export async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}
