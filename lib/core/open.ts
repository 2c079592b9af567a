import { availableParallelism, hostname } from 'node:os'
import { dnsTimeoutMs } from '../base/network.ts'
import { programVersion } from '../base/package-root.ts'
import { bucketOwnerName } from '../blob/bucket/owner.ts'
import { durationMs } from '../config/duration.ts'
import { createAddressGuard, interfaceAddresses } from '../courier/address-guard.ts'
import { createDns } from '../courier/dns.ts'
import { resolverSilent } from '../courier/outcome.ts'
import { watchDns } from '../courier/watched-dns.ts'
import { createWebhookCourier } from '../courier/webhook/courier.ts'
import { createQueue } from '../queue/queue.ts'
import { createTextReader } from '../reading/attachment/text-reader.ts'
import { createMailReader } from '../reading/pool.ts'
import { createRenderer } from '../rendering/renderer.ts'
import { ensureInstallation } from './account/setup.ts'
import type { App } from './app/app.ts'
import { createReaders } from './app/stream.ts'
import { createEventStream } from './events/stream.ts'
import { createWaiters } from './mailbox/waiters.ts'
import { nodeName } from './nodes/node-name.ts'
import { createNodes } from './nodes/nodes.ts'
import { settingsMarks } from './nodes/settings-marks.ts'
import { openBlobs } from './open-blobs.ts'
import { type DeskParts, openDesk } from './open-desk.ts'

/**
 * Bytes of messages that the reading threads have at once, of small ones (those in memory) and of large ones; of one block
 * of addresses half as many. What a thread has is read before what waits, so of small ones it is little: others come to their turn soon.
 */
const readingSmallBytes = 2 * 1024 * 1024
const readingLargeBytes = 96 * 1024 * 1024
/** How long a message waits until it may be read (451 4.3.2 after that). */
const readingWaitMs = 60_000
/** After it, a reading thread that has nothing to do is ended, for what it grew to. */
const readingIdleMs = 30_000
/** What making one thing there may take: 25 MB on a machine that is busy with others. */
const renderingMs = 60_000
/** Threads for reading, where the setting does not say how many: one for each core, within these. */
const readingThreadsMin = 2
const readingThreadsMax = 8
/** Attachments that wait to be read, of one party half as many, and how long. */
const attachmentsWaiting = 100
const attachmentWaitMs = 30_000

export interface AppParts extends DeskParts {
  /** Random numbers in [0, 1). */
  readonly random: () => number
  /** The ports that this server listens on; no webhook may lead there. */
  readonly ownPorts: () => readonly number[]
}

/** Opens the data directory (made when missing) and everything in it; the first time, makes what an installation has. */
export async function openApp(parts: AppParts): Promise<{ app: App }> {
  const { config, clock, ids, log, random, baseUrl } = parts
  const desk = await openDesk(parts)
  const { store, meter } = desk
  const { webhook } = config
  const dns = watchDns(createDns({ servers: config.dns.servers, timeoutMs: dnsTimeoutMs }), {
    clock,
    log,
    answersAgain: () =>
      void app.queue
        .releaseThoseThatSaid(resolverSilent)
        .catch(err =>
          log.warn(
            { err },
            'Could not retry mail immediately after DNS answered again. mailboxd retries it within 30 s',
          ),
        ),
  })
  const webhookGuard = createAddressGuard({
    clock,
    allowNetworks: webhook.allow_networks,
    ownAddresses: interfaceAddresses,
    ownPorts: parts.ownPorts,
  })
  const nodes = createNodes({
    store,
    clock,
    log,
    id: await nodeName(config.data_dir),
    name: hostname(),
    version: programVersion(),
    settings: settingsMarks(config),
    blobs: config.blobs ?? 'disk',
    bucketOwner: () => bucketOwnerName(config.data_dir),
    hasFiles: async () => (await app.blobs.list()).length > 0,
  })
  const app: App = {
    ...desk,
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
    blobs: await openBlobs({ config, clock, log, meter }),
    queue: createQueue({
      store,
      clock,
      ids,
      random,
      members: nodes,
      ...(webhook.retry.length > 0 && { waits: { webhook: webhook.retry.map(durationMs) } }),
    }),
    nodes,
    mailReader: createMailReader({
      hostname: config.hostname,
      dns: { servers: config.dns.servers, timeoutMs: dnsTimeoutMs },
      trustedSealers: config.authentication.trusted_arc_sealers,
      threads: config.reading.threads || defaultThreads(),
      timeoutMs: durationMs(config.reading.timeout),
      heapBytes: config.reading.memory,
      smallBytes: readingSmallBytes,
      largeBytes: readingLargeBytes,
      waitMs: readingWaitMs,
      idleMs: readingIdleMs,
      clock,
      log,
      meter,
    }),
    renderer: createRenderer({
      timeoutMs: renderingMs,
      heapBytes: config.reading.memory,
      idleMs: readingIdleMs,
      log,
    }),
    textReader: createTextReader({
      timeoutMs: durationMs(config.reading.timeout),
      heapBytes: config.reading.memory,
      waiting: attachmentsWaiting,
      waitMs: attachmentWaitMs,
      idleMs: readingIdleMs,
    }),
    underWay: new Map(),
    get waiters() {
      return waiters
    },
    readers: createReaders(nodes),
    get stream() {
      return stream
    },
    get baseUrl() {
      return baseUrl()
    },
  }
  const stream = createEventStream(app)
  const waiters = createWaiters(app)
  await ensureInstallation(app)
  return { app }
}

function defaultThreads(): number {
  return Math.min(Math.max(availableParallelism(), readingThreadsMin), readingThreadsMax)
}
