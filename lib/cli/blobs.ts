import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { logStyle } from '../base/log-style.ts'
import { noMeter } from '../base/meter.ts'
import type { Config } from '../config/load.ts'
import type { OpenBlobs } from '../core/backup/verify.ts'
import { openBlobs } from '../core/open-blobs.ts'

/** Where large raws are, by the settings, for what works on a database without opening all of it. */
export function blobsOf(config: Config): OpenBlobs {
  const log = createLog('warn', undefined, logStyle('auto', undefined))
  return read => openBlobs({ config, clock: systemClock, log, meter: noMeter, read })
}
