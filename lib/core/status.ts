import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { programVersion } from '../base/package-root.ts'
import { type LeftStrays, listStrayFiles, readLeftStrays } from '../blob/disk.ts'
import { findAccount } from '../store/account.ts'
import { countDomainsByStatus } from '../store/domains.ts'
import { findLastEventAt } from '../store/events.ts'
import { countFull } from '../store/inboxes.ts'
import { findServerSize } from '../store/postgres/state.ts'
import { countQueueEntries } from '../store/queue-entries.ts'
import type { Rows } from './app/app.ts'
import { freeBytesOf } from './app/storage.ts'
import { findNodes } from './nodes/list.ts'
import { readRunning } from './running.ts'

export { describeLeftStrays } from '../blob/disk.ts'

export interface Status {
  readonly version: string
  /** `up` or `down`, with since when as far as that is known. */
  readonly daemon: {
    readonly state: 'up' | 'down'
    readonly since: string | null
    readonly version: string | null
    /** It is down without a word of its own, since nobody knows when: it was killed, crashed, or the machine lost its power. */
    readonly endedWithoutWord: boolean
  }
  readonly doors: {
    readonly smtp: readonly string[]
    readonly submission: readonly string[]
    readonly http: readonly string[]
  }
  /** The ids of the nodes that take nothing from the queue, for `node drain` told them so. */
  readonly draining: readonly string[]
  readonly hostname: string
  readonly accountDomain: string
  readonly dataDir: string
  readonly deliveryMode: string
  readonly pods: number
  readonly inboxes: number
  readonly queue: { readonly all: number; readonly leased: number; readonly held: number }
  /** Bytes: of the database with its log, and free on its disk; and whether that is too little for anything new to be taken in. */
  readonly disk: { readonly database: number; readonly free: number; readonly isFull: boolean }
  /** Files without a row that were moved to `stray/` of the data directory in the last 30 days. */
  readonly strays: number
  /** The last search for files, and for objects, without a row, if it found so many that it moved none; else null. */
  readonly straysLeft: { readonly files: LeftStrays | null; readonly objects: LeftStrays | null }
  /** How many inboxes and pods accept no mail because of `storage.inbox_bytes` and `storage.pod_bytes`. */
  readonly full: { readonly inboxes: number; readonly pods: number }
  /** Of the domains that were added, how many are in which state. */
  readonly domains: Readonly<Record<string, number>>
  readonly lastReceivedAt: string | null
  readonly lastSentAt: string | null
}

/** What the operator sees first. */
export async function readStatus(app: Rows): Promise<Status> {
  const { config, store } = app
  const account = await findAccount(store.read)
  const { isUp, last } = await readRunning(config.data_dir)
  const since = isUp ? last?.startedAt : last?.stoppedAt
  return {
    version: programVersion(),
    daemon: {
      state: isUp ? 'up' : 'down',
      since: since ?? null,
      version: isUp ? (last?.version ?? null) : null,
      endedWithoutWord: !isUp && last?.stoppedAt === null,
    },
    doors:
      isUp && last
        ? { smtp: last.smtp, submission: last.submission ?? [], http: last.http }
        : { smtp: [], submission: [], http: [] },
    draining: await findDraining(app, isUp),
    hostname: config.hostname,
    accountDomain: config.account_domain,
    dataDir: config.data_dir,
    deliveryMode: config.delivery.mode,
    pods: account?.podCount ?? 0,
    inboxes: account?.inboxCount ?? 0,
    queue: await countQueueEntries(store.read),
    disk: await diskOf(app),
    strays: (await listStrayFiles(config.data_dir)).length,
    straysLeft: { files: null, objects: null, ...(await readLeftStrays(config.data_dir)) },
    full: await countFull(store.read, {
      inboxKiB: Math.floor(config.storage.inbox_bytes / 1024),
      podKiB: Math.floor(config.storage.pod_bytes / 1024),
    }),
    domains: await countDomainsByStatus(store.read),
    lastReceivedAt: await findLastEventAt(store.read, 'message.received'),
    lastSentAt: await findLastEventAt(store.read, 'message.sent'),
  }
}

async function findDraining(app: Rows, isUp: boolean): Promise<string[]> {
  const nodes = await findNodes(app, { isAlone: app.store.dialect === 'sqlite', isUp })
  return nodes.filter(({ state }) => state === 'draining').map(({ id }) => id)
}

async function diskOf(app: Rows): Promise<Status['disk']> {
  const { database, log, free } = await readDisk(app)
  return { database: database + log, free, isFull: free < app.config.min_free }
}

/** Bytes of the database and of the log of its file, and free on the disk of the data directory. */
export async function readDisk({
  config: { data_dir: dataDir },
  store,
}: Pick<Rows, 'config' | 'store'>): Promise<{ database: number; log: number; free: number }> {
  const path = join(dataDir, 'mailboxd.sqlite')
  const sizeOf = (file: string) =>
    stat(file).then(
      found => found.size,
      () => 0,
    )
  const free = await freeBytesOf(dataDir)
  if (store.dialect === 'postgres') return { database: await findServerSize(store.read), log: 0, free }
  return { database: await sizeOf(path), log: await sizeOf(`${path}-wal`), free }
}
