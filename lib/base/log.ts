import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { printableJson } from './control-characters.ts'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** What is never written, whatever object it stands in (rule: no secret and no message body in a log). */
const secretNames = [
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
]

/** A JSON log, one line an entry, with ISO instants, on standard error unless a destination is given. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      // JSON escapes C0 alone, and a log is looked at on a terminal.
      hooks: { streamWrite: printableJson },
      redact: { paths: secretNames.flatMap(name => [name, `*.${name}`]), censor: '[not logged]' },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  )
}
