import { readFileSync } from 'node:fs'
import { childrenOf } from '../test/support/contained.ts'

export interface ProcessFigures {
  /** User and system time of the whole tree, ended children included, between start and stop. */
  readonly cpuSeconds: number
  /** The same of the first thread of the root process alone: what one event loop takes bounds a larger machine. */
  readonly mainThreadCpuSeconds: number
  /** Largest sum, over the samples, of what the processes held (VmRSS); a page that they share counts in each. */
  readonly rssBytes: number
  /** What they hold at the end, shared pages counted once (Pss). */
  readonly pssBytes: number
  readonly processes: number
}

/** `getconf CLK_TCK`, which is 100 on every Linux that Node runs on. */
const ticksPerSecond = 100
const sampleMs = 100

/** Watches a process and all its descendants until `stop`. */
export function watchProcesses(root: number): { stop(): ProcessFigures } {
  const before = cpuTicks(root)
  const mainBefore = mainThreadTicks(root)
  let rssBytes = 0
  let processes = 0
  const sample = () => {
    const tree = treeOf(root)
    processes = Math.max(processes, tree.length)
    rssBytes = Math.max(rssBytes, sum(tree.map(pid => kilobytes(`/proc/${pid}/status`, 'VmRSS') * 1024)))
  }
  sample()
  const sampling = setInterval(sample, sampleMs)
  return {
    stop() {
      clearInterval(sampling)
      sample()
      // Once: for as long as it is read, the process waits for each page of memory that it takes.
      const pssBytes = sum(treeOf(root).map(pid => kilobytes(`/proc/${pid}/smaps_rollup`, 'Pss') * 1024))
      // One process alone knows its own peak, between two samples as well.
      if (processes === 1) rssBytes = Math.max(rssBytes, kilobytes(`/proc/${root}/status`, 'VmHWM') * 1024)
      return {
        cpuSeconds: (cpuTicks(root) - before) / ticksPerSecond,
        mainThreadCpuSeconds: (mainThreadTicks(root) - mainBefore) / ticksPerSecond,
        rssBytes,
        pssBytes,
        processes,
      }
    },
  }
}

/** What one process and its descendants hold now, in bytes. */
export function residentBytes(root: number): number {
  return sum(treeOf(root).map(pid => kilobytes(`/proc/${pid}/status`, 'VmRSS') * 1024))
}

function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)]
}

function cpuTicks(root: number): number {
  return sum(treeOf(root).map(pid => sum(timesOf(`/proc/${pid}/stat`))))
}

/** Its own time, without that of ended children. */
function mainThreadTicks(pid: number): number {
  return sum(timesOf(`/proc/${pid}/task/${pid}/stat`).slice(0, 2))
}

/** Fields 14 to 17 of a file `stat` in /proc: utime stime cutime cstime; field 2 may hold spaces and brackets. */
function timesOf(path: string): number[] {
  const stat = read(path)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).map(Number)
}

function kilobytes(path: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(read(path))?.[1] ?? 0)
}

/** A process may be gone between the listing and the reading. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
