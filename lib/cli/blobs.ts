import { noMeter } from '../base/metrics.ts'
import { systemClock } from '../base/time.ts'
import type { Config } from '../config/load.ts'
import type { OpenBlobs } from '../core/backup/verify.ts'
import { type OpenBucket, openBlobs, openBucketBlobs } from '../core/open-blobs.ts'
import { commandLog } from './log.ts'

/** Where large raws are, by the settings, for what works on a database without opening all of it. */
export function blobsOf(config: Config): OpenBlobs {
  return async () => openBlobs(await partsOf(config))
}

/** The bucket alone. */
export function bucketOf(config: Config): OpenBucket {
  return async () => openBucketBlobs(await partsOf(config))
}

async function partsOf(config: Config) {
  return { config, clock: systemClock, log: await commandLog(config), meter: noMeter }
}
