import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { BucketOut, isStoragePassing, StorageUnreachable } from './faults.ts'
import { jsonStyle, type LogStyle, styledLine } from './log-style.ts'
import type { Clock } from './time.ts'

/** What is written to: of pino what is used of it. */
export interface Log
  extends Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'isLevelEnabled'> {
  child(fields: object): Log
}
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** What is never written, whatever object it stands in (rule: no secret and no message body in a log). */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'token',
  'secret',
  'password',
  'privateKey',
  'body',
  'bodyText',
  'bodyHtml',
  'raw',
  'content',
])

/** A log on standard error unless a destination is given: JSON, one line an entry with ISO instants, unless the style says otherwise. */
export function createLog(
  level: LogLevel,
  destination?: DestinationStream,
  style: LogStyle = jsonStyle,
): Log {
  const output =
    destination ??
    standardError(lines => log.warn({ lines }, 'lines of the log were left out: nobody read it'))
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: label => ({ level: label }),
        log: fields => withoutSecrets(fields),
      },
      serializers: { err: fieldsOfError },
      hooks: {
        streamWrite: line => styledLine(line, style),
        logMethod(given, write, level) {
          // An outage is told once, by who sees that it begins and ends; what fails in it, and there may be much, is no trouble of its own.
          const isOfOutage = level > info && isAboutOutage(given[0])
          if (isOfOutage) this.info(...given)
          else write.apply(this, given)
        },
      },
    },
    output,
  )
  // Its formatters see no field of a child.
  const { child } = log
  log.child = function childWithoutSecrets(this: Log, fields: object): Log {
    return child.call(this, withoutSecrets(fields as Record<string, unknown>))
  }
  return log
}

/** Of what others keep from it for a while, and there may be many who meet it, the place in the program says nothing. */
function fieldsOfError(error: Error): Record<string, unknown> {
  const { stack, ...fields } = stdSerializers.err(error)
  const isPassing = isStoragePassing(error) || error instanceof BucketOut
  return withoutSecrets({ ...fields, ...(!isPassing && { stack }) })
}

const info = 30

function isAboutOutage(fields: unknown): boolean {
  return (
    typeof fields === 'object' &&
    fields !== null &&
    'err' in fields &&
    (fields.err instanceof StorageUnreachable || fields.err instanceof BucketOut)
  )
}

/**
 * The fields without what is never written, in them or one level down. Pino's own `redact` does that by paths, and each line that has
 * none of them took it six times as long as the line itself: 12 µs.
 */
function withoutSecrets(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let safe = fields
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    const written = secretNames.has(name) && value !== undefined ? '[not logged]' : within(name, value, depth)
    if (written === value) continue
    if (safe === fields) safe = { ...fields }
    safe[name] = written
  }
  return safe
}

function within(name: string, value: unknown, depth: number): unknown {
  // What an error has is looked through when it is made into fields.
  const isLeaf = typeof value !== 'object' || value === null || Array.isArray(value) || name === 'err'
  return depth === 0 || isLeaf ? value : withoutSecrets(value as Record<string, unknown>, depth - 1)
}

/** Standard error, which nobody may be reading. */
function standardError(dropped: (lines: number) => void): DestinationStream {
  const output = createLogOutput(2, dropped)
  process.once('exit', () => output.flushSync())
  return output
}

/** Of the log, what is kept in memory while nobody reads it; how often it is tried again then, and for how long at the end of the process. */
export const logWaitingBytes = 1024 * 1024
const logRetryMs = 50
const logFlushMs = 1_000

/** Where lines of the log go. */
interface LogOutput {
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

/** How often the log says what strangers make happen again and again. */
export const tallyMs = 60_000

/** Counts what strangers make happen as often as they like, so that the log says it once in a while and not each time. */
interface Tally {
  /** One more of these. The first after a silence is told at once, with what was counted since the last time. */
  note(what: string): void
}

/**
 * @param everyMs how long nothing is told after something was
 * @param tell is given how many there were of each since it was called last
 */
export function createTally(
  clock: Clock,
  everyMs: number,
  tell: (counts: Readonly<Record<string, number>>) => void,
): Tally {
  const counts = new Map<string, number>()
  let toldAt: number | undefined
  return {
    note(what) {
      counts.set(what, (counts.get(what) ?? 0) + 1)
      const now = clock.monotonicMs()
      if (toldAt !== undefined && now - toldAt < everyMs) return
      toldAt = now
      tell(Object.fromEntries(counts))
      counts.clear()
    },
  }
}
