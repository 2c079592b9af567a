import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import { type Meter, noMeter } from '../base/meter.ts'
import { SchemaFault } from '../base/schema-fault.ts'
import type { SecretBox } from '../base/secret-box.ts'
import { durationMs } from '../config/duration.ts'
import type { Config } from '../config/load.ts'
import { createAddressGuard, interfaceAddresses } from '../courier/address-guard.ts'
import { createDns } from '../courier/dns.ts'
import { createWebhookCourier } from '../courier/webhook/courier.ts'
import { createQueue } from '../queue/queue.ts'
import { createTextReader } from '../reading/attachment/text-reader.ts'
import { createMailReader } from '../reading/pool.ts'
import { createRenderer } from '../rendering/renderer.ts'
import { openStore } from '../store/open.ts'
import { ensureInstallation } from './account/setup.ts'
import type { App } from './app/app.ts'
import { nodeName } from './app/node-name.ts'
import { openSecrets } from './app/secrets.ts'
import { createStorage } from './app/storage.ts'
import { createReaders } from './app/stream.ts'
import { keepBeforeUpgrade } from './backup/upgrade.ts'
import { createEventStream } from './events/stream.ts'
import { createWaiters } from './mailbox/waiters.ts'
import { openBlobs } from './open-blobs.ts'

export interface AppParts {
  readonly config: Config
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Nothing is counted without one. */
  readonly meter?: Meter
  /** Random numbers in [0, 1). */
  readonly random: () => number
  /** Whether a database of an older schema is brought up to date: by the daemon, which has it for itself, and nobody else. */
  readonly mayMigrate: boolean
  /** Asked when an answer needs it: the port of the API may be known only after it listens. */
  readonly baseUrl: () => string
  /** The ports that this server listens on; no webhook may lead there. */
  readonly ownPorts: () => readonly number[]
}

/** Where the database of a data directory is. */
export const databasePath = (dataDir: string) => join(dataDir, 'mailboxd.sqlite')

/** Opens the data directory (made when missing) and everything in it; the first time, makes what an installation has. */
export async function openApp(parts: AppParts): Promise<{ app: App; isNew: boolean }> {
  const { config, clock, ids, log, random, baseUrl, meter = noMeter } = parts
  await mkdir(config.data_dir, { recursive: true, mode: 0o700 })
  const { webhook } = config
  const dns = createDns({ servers: config.dns.servers, timeoutMs: limits.dnsTimeoutMs })
  const webhookGuard = createAddressGuard({
    clock,
    allowNetworks: webhook.allow_networks,
    ownAddresses: interfaceAddresses,
    ownPorts: parts.ownPorts,
  })
  const beforeMigration = async (lastStep: number) => {
    if (!parts.mayMigrate) {
      throw new SchemaFault(
        'the database is of an older mailboxd than this program: start mailboxd, which brings it up to date, or use the older mailboxctl',
      )
    }
    await keepBeforeUpgrade(config.data_dir, lastStep, log)
  }
  const store = await openStore(databasePath(config.data_dir), clock, beforeMigration, meter)
  let secrets: SecretBox
  try {
    secrets = await openSecrets({ store, dataDir: config.data_dir, clock, log })
  } catch (error) {
    await store.close()
    throw error
  }
  const app: App = {
    config,
    clock,
    ids,
    log,
    meter,
    dns,
    webhookGuard,
    webhookCourier: createWebhookCourier({
      dns,
      clock,
      guard: webhookGuard,
      allowHttp: webhook.allow_http,
      timeoutMs: durationMs(webhook.timeout),
      // The turns of webhooks decide before how many calls are under way: a call that waits for a connection uses up its
      // time.
      maxConnections: webhook.concurrency,
      maxConnectionsPerOrigin: webhook.concurrency,
    }),
    store,
    storage: createStorage(),
    secrets,
    disk: await openBlobs({ config, clock, log, meter, read: store.read }),
    queue: createQueue({
      store,
      clock,
      ids,
      random,
      node: await nodeName(config.data_dir),
      ...(webhook.retry.length > 0 && { waits: { webhook: webhook.retry.map(durationMs) } }),
    }),
    mailReader: createMailReader({
      hostname: config.hostname,
      dns: { servers: config.dns.servers, timeoutMs: limits.dnsTimeoutMs },
      trustedSealers: config.authentication.trusted_arc_sealers,
      threads: config.reading.threads || defaultThreads(),
      timeoutMs: durationMs(config.reading.timeout),
      heapBytes: config.reading.memory,
      smallBytes: limits.readingSmallBytes,
      largeBytes: limits.readingLargeBytes,
      waitMs: limits.readingWaitMs,
      idleMs: limits.readingIdleMs,
      clock,
      log,
      meter,
    }),
    renderer: createRenderer({
      timeoutMs: limits.renderingMs,
      heapBytes: config.reading.memory,
      idleMs: limits.readingIdleMs,
      log,
    }),
    textReader: createTextReader({
      timeoutMs: durationMs(config.reading.timeout),
      heapBytes: config.reading.memory,
      waiting: limits.attachmentsWaiting,
      waitMs: limits.attachmentWaitMs,
      idleMs: limits.readingIdleMs,
    }),
    underWay: new Map(),
    get waiters() {
      return waiters
    },
    readers: createReaders(),
    get stream() {
      return stream
    },
    get baseUrl() {
      return baseUrl()
    },
  }
  const stream = createEventStream(app)
  const waiters = createWaiters(app)
  return { app, ...(await ensureInstallation(app)) }
}

function defaultThreads(): number {
  return Math.min(Math.max(availableParallelism(), limits.readingThreadsMin), limits.readingThreadsMax)
}
