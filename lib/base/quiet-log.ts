import type { Log } from './log.ts'

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
