import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Test } from 'tap'
import { openDisk } from '../../lib/blob/disk.ts'
import { builtProgram } from './built.ts'
import { callCtl } from './called-ctl.ts'
import { requireConsistency } from './consistency.ts'
import { madeOnce } from './made-once.ts'
import { type Finished, runProgram } from './program.ts'
import { until } from './until.ts'

/** mailboxd in local mode, as a developer starts it in a directory of theirs. However it ends, its data must not contradict themselves. */
export interface LocalDaemon {
  /** What it has printed. */
  readonly printed: string
  /** What stands on standard error so far. */
  readonly log: string
  readonly smtpPort: number
  readonly baseUrl: string
  readonly process: ChildProcess
  /** Asks it to stop; gives its exit code. */
  stop(): Promise<number | null>
}

export async function startLocalDaemon(
  t: Test,
  dir: string,
  ...args: readonly string[]
): Promise<LocalDaemon> {
  const child = spawn(process.execPath, [builtProgram('mailboxd'), ...args], { cwd: dir, stdio: 'pipe' })
  const dataDir = resolve(dir, args[args.indexOf('--data') + 1 || args.length] ?? 'mailboxd-data')
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    const exit = once(child, 'exit')
    child.kill(signal)
    const [code] = await exit
    await requireConsistency(dataDir, code === 0 ? 'stopped' : 'killed', () => openDisk(dataDir))
    return code
  }
  t.teardown(() => end('SIGKILL'))
  let printed = ''
  let log = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    log += text
  })
  await until('the text of local mode', () => {
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${log}`)
    return printed.endsWith('\n\n')
  })
  return {
    printed,
    get log() {
      return log
    },
    smtpPort: Number(/^ {2}SMTP +127\.0\.0\.1:(\d+)$/m.exec(printed)?.[1]),
    baseUrl: /^ {2}API +(http:\/\/127\.0\.0\.1:\d+)\/v1 /m.exec(printed)?.[1] ?? '',
    process: child,
    stop: () => end('SIGTERM'),
  }
}

/** Puts into `dir` what a local daemon leaves there that was started and stopped: made once for a run. */
export async function makeLocalInstallation(t: Test, dir: string): Promise<void> {
  const made = await madeOnce('local', async path => {
    mkdirSync(path)
    const code = await (await startLocalDaemon(t, path)).stop()
    if (code !== 0) throw new Error(`a local daemon ended with ${code}`)
  })
  cpSync(made, dir, { recursive: true })
}

/** Runs mailboxctl in the directory of a local daemon. */
export function runCtl(dir: string, ...args: readonly string[]): Promise<Finished> {
  return runProgram(process.execPath, [builtProgram('mailboxctl'), ...args], '', { cwd: dir })
}

/** mailboxctl in the directory of a local daemon, which answers in JSON. @throws Error with what it said, when it fails */
export function ctlIn(dir: string) {
  return async (command: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await callCtl(dir, '--json', ...command.split(' '), ...args)
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
}
