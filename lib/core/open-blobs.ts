import { BucketOut } from '../base/faults.ts'
import { createTally, type Log, tallyMs } from '../base/log.ts'
import type { Meter } from '../base/metrics.ts'
import { createOutage } from '../base/outage.ts'
import { readFirstLine } from '../base/text.ts'
import type { Clock } from '../base/time.ts'

import type { Blobs } from '../blob/blobs.ts'
import type { DistantBlobs } from '../blob/bucket/distant.ts'
import { openDisk } from '../blob/disk.ts'
import { durationMs } from '../config/duration.ts'
import { readBucketUrl } from '../config/format.ts'
import type { Config } from '../config/load.ts'

export interface BlobsParts {
  readonly config: Pick<Config, 'data_dir' | 'blobs' | 's3'>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
}

/** Opens the bucket of the settings, if they name one. */
export type OpenBucket = () => Promise<DistantBlobs | undefined>

/** Opens where the large raws are, as the settings say. */
export async function openBlobs(parts: BlobsParts): Promise<Blobs> {
  return (await openBucketBlobs(parts)) ?? openDisk(parts.config.data_dir)
}

/** Opens the bucket that the settings name, and the data directory beside it; undefined where they name none. */
export async function openBucketBlobs({
  config: { data_dir: dataDir, blobs, s3 },
  clock,
  log,
  meter,
}: BlobsParts): Promise<DistantBlobs | undefined> {
  const named = blobs === undefined ? undefined : readBucketUrl(blobs)
  if (!named) return undefined
  // Nobody else needs to load what speaks to a bucket.
  const { openDistant } = await import('../blob/bucket/distant.ts')
  const { openS3 } = await import('../blob/bucket/s3.ts')
  const left = createTally(clock, tallyMs, counts =>
    log.warn(
      { counts },
      'objects of deleted messages could not be removed from the bucket; the sweep of each day moves them to stray/, where they are deleted after 30 days',
    ),
  )
  const outage = createOutage(
    { clock, log },
    {
      begin:
        'the bucket does not do what it is asked: large mail is put off (451), and large messages are not read or sent (503)',
      end: 'the bucket does again what it is asked',
    },
  )
  const bucket = openS3(
    {
      endpoint: s3.endpoint ?? `https://s3.${s3.region}.amazonaws.com`,
      region: s3.region,
      bucket: named.bucket,
      encryption: s3.encryption === 'none' ? undefined : s3.encryption,
      timeoutMs: durationMs(s3.timeout),
      credentials: async () => ({
        accessKeyId: s3.access_key_id ?? '',
        secretAccessKey: await readFirstLine(s3.secret_access_key_file ?? ''),
      }),
    },
    (method, why) => {
      meter.count('bucket_requests_total', method, why ? 'failed' : 'done')
      // What is not removed is told by itself (`left`), and nobody waits for it.
      if (method === 'DELETE') return
      if (why instanceof BucketOut) outage.failed({ why: why.message })
      else outage.worked()
    },
  )
  return openDistant(await openDisk(dataDir), {
    dataDir,
    bucket,
    clock,
    cacheBytes: s3.cache,
    left: error => left.note(error instanceof Error ? error.message : String(error)),
    prefix: named.beginning === '' ? '' : `${named.beginning}/`,
  })
}
