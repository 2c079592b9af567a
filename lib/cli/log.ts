import type { Log } from '../base/log.ts'
import { logStyle } from '../base/log-style.ts'
import type { Config } from '../config/load.ts'

/**
 * The log of a command, which nobody reads: what is to be known it says itself, or ends with. Only with `log.level` "debug" or "trace" it is
 * written, to standard error.
 */
export async function commandLog({ log: { level, format } }: Pick<Config, 'log'>): Promise<Log> {
  if (level !== 'debug' && level !== 'trace') return quietLog
  const { createLog } = await import('../base/log.ts')
  return createLog(level, undefined, logStyle(format, undefined))
}

const nothing = () => {}

/** A log that nobody reads. Who has it does not load the one that is written. */
export const quietLog: Log = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  isLevelEnabled: () => false,
  child: () => quietLog,
}
