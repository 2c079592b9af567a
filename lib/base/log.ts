import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { jsonStyle, type LogStyle, styledLine } from './log-style.ts'

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

/** A log on standard error unless a destination is given: JSON, one line an entry with ISO instants, unless the style says otherwise. */
export function createLog(
  level: LogLevel,
  destination?: DestinationStream,
  style: LogStyle = jsonStyle,
): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      hooks: { streamWrite: line => styledLine(line, style) },
      redact: { paths: secretNames.flatMap(name => [name, `*.${name}`]), censor: '[not logged]' },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  )
}
