import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { BucketOut } from './blobs-fault.ts'
import { createLogOutput } from './log-output.ts'
import { jsonStyle, type LogStyle, styledLine } from './log-style.ts'
import { isStoragePassing, StorageUnreachable } from './storage-fault.ts'

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
