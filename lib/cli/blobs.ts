import { systemClock } from '../base/clock.ts'
import { noMeter } from '../base/meter.ts'
import type { DistantBlobs } from '../blob/bucket/distant.ts'
import type { Config } from '../config/load.ts'
import type { OpenBlobs } from '../core/backup/verify.ts'
import { type BlobsParts, openBlobs, openBucketBlobs } from '../core/open-blobs.ts'
import type { Db } from '../store/dialect/dialect.ts'
import { commandLog } from './log.ts'

/** Where large raws are, by the settings, for what works on a database without opening all of it. */
export function blobsOf(config: Config): OpenBlobs {
  return async read => openBlobs(await partsOf(config, read))
}

/** The bucket alone. */
export function bucketOf(config: Config): (read: Db) => Promise<DistantBlobs | undefined> {
  return async read => openBucketBlobs(await partsOf(config, read))
}

async function partsOf(config: Config, read: Db): Promise<BlobsParts> {
  return { config, clock: systemClock, log: await commandLog(config), meter: noMeter, read }
}
