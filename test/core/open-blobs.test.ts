import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { v7 } from 'uuid'
import { BlobsFault } from '../../lib/base/faults.ts'
import { createLog } from '../../lib/base/log.ts'
import { noMeter } from '../../lib/base/metrics.ts'
import { systemClock } from '../../lib/base/time.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { openBlobs } from '../../lib/core/open-blobs.ts'
import { startBucket } from '../support/bucket.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('an outage of the bucket is told once, and each request is counted as what became of it', async t => {
  const bucket = await startBucket(t)
  const dataDir = temporaryDir(t)
  const config = parseConfig(
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dataDir}"\n${bucket.toml}`,
    'test',
  )
  const lines: object[] = []
  const log = createLog('warn', { write: line => void lines.push(JSON.parse(line)) })
  const counted: string[] = []
  const meter = { ...noMeter, count: (...count: string[]) => void counted.push(count.join(' ')) }
  const blobs = await openBlobs({ config, clock: systemClock, log, meter })
  t.teardown(() => blobs.close())
  const keep = async () => {
    const path = blobs.spoolPath(v7())
    writeFileSync(path, 'a large message')
    await blobs.keep({ id: v7(), sizeBytes: 15, sha256: hash('sha256', 'a large message') }, path)
  }
  await keep()
  counted.length = 0
  await bucket.stop()
  t.equal(await blobs.remove(v7()), false, 'what is not removed is left to the sweep')
  t.match(lines.splice(0), [{ msg: /^objects of deleted messages could not be removed/ }], 'and is no outage')
  for (let count = 0; count < 2; count++) t.ok((await keep().catch(error => error)) instanceof BlobsFault)
  await bucket.start()
  await keep()
  t.match(lines, [
    { level: 'error', why: /can not be asked/, msg: /^the bucket does not do what it is asked/ },
    { level: 'warn', failed: 2, msg: 'the bucket does again what it is asked' },
  ])
  t.strictSame(
    counted.filter(line => line.includes('PUT')),
    ['failed', 'failed', 'done'].map(how => `bucket_requests_total PUT ${how}`),
  )
})
