import type { Command } from 'commander'
import { inTime, systemClock } from '../base/time.ts'

import type { Rows } from '../core/app/app.ts'
import { describeLeftStrays, readStatus, type Status } from '../core/status.ts'
import { issuedPaths } from '../tls/acme/issued.ts'
import { listCertificates } from '../tls/list.ts'
import { bucketOf } from './blobs.ts'
import { countOf } from './counted.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf } from './output.ts'
import { commandOf } from './words.ts'

/** How long `mailboxctl status` waits for the bucket. */
const statusBucketMs = 5_000

const day = 86_400_000
const mebibyte = 1024 * 1024

export function addStatusCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'status').action(async () => {
    const status = await ctl.withRows(async rows => {
      const { data_dir: dataDir, tls, acme } = rows.config
      const [certificate] = await listCertificates(
        {
          pairs: tls.certificate,
          issued: acme.directory === undefined ? undefined : issuedPaths(dataDir),
          whyNotIssued: 'not issued yet',
          dataDir,
        },
        systemClock.now(),
      )
      const read = await readStatus(rows)
      const inBucket = rows.config.blobs === undefined ? 0 : await countInBucket(rows, read.strays)
      return { ...read, straysInBucket: inBucket, certificate: certificate ?? null }
    })
    ctl.output().say(status, () => {
      const { daemon, doors, draining, disk, strays, straysInBucket, straysLeft, full, ...more } = status
      const { certificate, domains, ...rest } = more
      const since = daemon.since === null ? '' : ` since ${daemon.since}`
      const drains = draining.map(
        id => `, ${id} drains: nothing leaves its queue until mailboxctl node resume ${id}`,
      )
      const silent = daemon.endedWithoutWord
        ? ', without a word: it was killed, crashed, or lost its power; journalctl -u mailboxd may tell'
        : ''
      const other =
        daemon.version !== null && daemon.version !== status.version ? `, version ${daemon.version}` : ''
      return fieldsOf({
        daemon: `${daemon.state}${since}${silent}${other}${drains.join('')}`,
        doors: tellDoors(doors),
        ...rest,
        disk: `database ${inMebibytes(disk.database)}, free ${inMebibytes(disk.free)}${disk.isFull ? `, which is less than min_free: mail is deferred (452), and the API stores nothing new (503)` : ''}`,
        full: describeFull(full),
        strays: [describeStrays(strays, straysInBucket), ...describeLeft(straysLeft)].join('; '),
        certificate: certificate ? textOf(certificate) : '-',
        domains: Object.keys(domains).length > 0 ? domains : '-',
      })
    })
  })
}

/** How many objects are in `stray/` of the bucket; null if it does not answer in time. */
async function countInBucket({ config }: Rows, onDisk: number): Promise<number | null> {
  const count = async () => {
    const bucket = await bucketOf(config)()
    if (bucket === undefined) return 0
    try {
      let objects = 0
      for await (const page of bucket.listStrays()) objects += page.length
      // The list includes the files in the data directory, which may have become fewer or more meanwhile.
      return Math.max(0, objects - onDisk)
    } finally {
      await bucket.close()
    }
  }
  return inTime<number | null>(
    count().catch(() => null),
    statusBucketMs,
    () => null,
  )
}

function describeFull({ inboxes, pods }: Status['full']): string {
  if (inboxes === 0 && pods === 0) return '-'
  return `${countOf(inboxes, 'inbox', 'inboxes')} and ${countOf(pods, 'pod')} accept no mail (452): they reached storage.inbox_bytes or storage.pod_bytes`
}

function describeStrays(files: number, objects: number | null): string {
  if (objects === null) return `${countOf(files, 'file')}; the bucket did not answer`
  if (files + objects === 0) return '-'
  return `${countOf(files + objects, 'file')} without a row, kept in stray/ for 30 days`
}

function describeLeft(left: Status['straysLeft']): string[] {
  return (['files', 'objects'] as const).flatMap(where => {
    const found = left[where]
    return found ? [`${describeLeftStrays(where, found)} (found at ${found.at})`] : []
  })
}

/** Which door is where. */
function tellDoors(doors: Status['doors']): string {
  const told = Object.entries(doors).filter(([, where]) => where.length > 0)
  return told.map(([name, where]) => `${name} ${where.join(' ')}`).join(', ') || '-'
}

function textOf({
  source,
  names,
  notAfter,
  problem,
}: {
  source: string
  names: string | null
  notAfter: string | null
  problem: string | null
}): string {
  const left =
    notAfter === null ? undefined : Math.floor((Date.parse(notAfter) - systemClock.now().getTime()) / day)
  const ends = left === undefined ? undefined : left < 0 ? `expired ${-left} days ago` : `${left} days left`
  return [source, names, ends, problem].filter(part => part !== null && part !== undefined).join(', ')
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB`
}
