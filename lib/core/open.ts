import { availableParallelism, hostname } from 'node:os'
import { limits } from '../base/limits.ts'
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
  const dns = watchDns(createDns({ servers: config.dns.servers, timeoutMs: limits.dnsTimeoutMs }), {
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
  return Math.min(Math.max(availableParallelism(), limits.readingThreadsMin), limits.readingThreadsMax)
}
