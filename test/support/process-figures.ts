import { readdirSync, readFileSync, statSync } from 'node:fs'

/** What a process takes of the machine. */
export interface Figures {
  readonly rssBytes: number
  /** Open files and sockets. */
  readonly descriptors: number
  /** For how long its main thread had a processor, and waited for one that others had. */
  readonly ranMs: number
  readonly waitedMs: number
}

/** Reads them from /proc; undefined when the process has ended. */
export function readFigures(pid: number): Figures | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    if (kilobytes === undefined) return undefined
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
    return {
      rssBytes: Number(kilobytes) * 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      ranMs: Number(ran) / 1e6,
      waitedMs: Number(waited) / 1e6,
    }
  } catch {
    return undefined
  }
}

/** How many bytes a file has, 0 when it is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
