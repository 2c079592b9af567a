import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** Of the log, what is kept in memory while nobody reads it; how often it is tried again then, and for how long at the end of the process. */
export const logWaitingBytes = 1024 * 1024
const logRetryMs = 50
const logFlushMs = 1_000

/** Where lines of the log go. */
export interface LogOutput {
  /** Writes a line, keeps it for later when nobody reads, and leaves it out when too much is kept. Never waits. */
  write(line: string): void
  /** Writes what is kept, and waits for who reads a second at the most: for the end of a process. */
  flushSync(): void
}

/** What has made a descriptor one that does not wait: it would be closed with them. */
const held: Socket[] = []
const asleep = new Int32Array(new SharedArrayBuffer(4))

/**
 * The lines of a log on a descriptor. Who reads it may stop to, and a write would then hold the whole process up for as long.
 * @param dropped called with how many lines were left out, once somebody reads again
 */
export function createLogOutput(descriptor: number, dropped: (lines: number) => void): LogOutput {
  const fd = withoutWaiting(descriptor)
  const waiting: Buffer[] = []
  let waitingBytes = 0
  let lost = 0
  let timer: NodeJS.Timeout | undefined

  /** Gives whether all of it was written. */
  function drain(): boolean {
    while (waiting.length > 0) {
      const first = waiting[0]!
      const written = tryWrite(fd, first)
      waitingBytes -= written
      if (written < first.length) {
        waiting[0] = first.subarray(written)
        return false
      }
      waiting.shift()
    }
    return true
  }

  function retry(): void {
    timer = undefined
    if (!drain()) waitForReader()
    else if (lost > 0) tellLost()
  }

  function tellLost(): void {
    const lines = lost
    lost = 0
    dropped(lines)
  }

  function waitForReader(): void {
    timer ??= setTimeout(retry, logRetryMs).unref()
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      // A line of which a part was written is ended in any case.
      if (waitingBytes > 0 && waitingBytes + bytes.length > logWaitingBytes) {
        lost++
        return
      }
      waiting.push(bytes)
      waitingBytes += bytes.length
      if (timer === undefined && !drain()) waitForReader()
    },
    flushSync() {
      for (let left = logFlushMs; !drain() && left > 0; left -= logRetryMs) {
        Atomics.wait(asleep, 0, 0, logRetryMs)
      }
      if (lost > 0 && waiting.length === 0) tellLost()
    },
  }
}

/** How many of these bytes were written. What can not be written at all, for nobody will read it, counts as written. */
function tryWrite(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : bytes.length
  }
}

/** A descriptor of the same pipe or socket on which a write fails rather than wait; files and terminals stay as they are. */
function withoutWaiting(descriptor: number): number {
  const stats = fstatSync(descriptor)
  if (!stats.isFIFO() && !stats.isSocket()) return descriptor
  try {
    // One of our own: to wait or not is a property of the open file, which other programs may share.
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    // A socket, a pipe of another user's, or no Linux.
    held.push(new Socket({ fd: descriptor, readable: false, writable: true }).unref())
    return descriptor
  }
}
