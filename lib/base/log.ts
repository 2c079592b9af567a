import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { createLogOutput } from './log-output.ts'
import { jsonStyle, type LogStyle, styledLine } from './log-style.ts'

/** What is written to: of pino what is used of it. */
export interface Log
  extends Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'isLevelEnabled'> {
  child(fields: object): Log
}
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
  const output =
    destination ??
    standardError(lines => log.warn({ lines }, 'lines of the log were left out: nobody read it'))
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      hooks: { streamWrite: line => styledLine(line, style) },
      redact: { paths: secretNames.flatMap(name => [name, `*.${name}`]), censor: '[not logged]' },
    },
    output,
  )
  return log
}

/** Standard error, which nobody may be reading. */
function standardError(dropped: (lines: number) => void): DestinationStream {
  const output = createLogOutput(2, dropped)
  process.once('exit', () => output.flushSync())
  return output
}
