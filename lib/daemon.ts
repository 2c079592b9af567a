import { availableParallelism } from 'node:os'
import type { Clock } from './base/clock.ts'
import { startIdleHeap } from './base/idle-heap.ts'
import type { Ids } from './base/ids.ts'
import { limits } from './base/limits.ts'
import type { Log } from './base/log.ts'
import type { LogStyle } from './base/log-style.ts'
import { noMeter } from './base/meter.ts'
import { programVersion } from './base/package-root.ts'
import { durationMs } from './config/duration.ts'
import { defaultBaseUrl, type Endpoint, formatEndpoint, parseEndpoint } from './config/endpoint.ts'
import type { Config } from './config/load.ts'
import { createThrottles } from './core/account/throttles.ts'
import type { Networked } from './core/app/app.ts'
import { startStorageWatch } from './core/app/storage-watch.ts'
import { removeLeftCopy } from './core/backup/copy.ts'
import { deliver } from './core/delivery/deliver.ts'
import { routesOf } from './core/delivery/routes.ts'
import { createKeptStsPolicies } from './core/delivery/sts-policies.ts'
import { sendScheduledDraft } from './core/drafts/send.ts'
import { startCleaning } from './core/mailbox/cleaning.ts'
import { startIndexing } from './core/mailbox/indexing.ts'
import { shareCertificate } from './core/nodes/shared-certificate.ts'
import { noteRunning } from './core/running.ts'
import { createScreening } from './core/screening.ts'
import { createWebhooks } from './core/webhooks/tell.ts'
import { createAddressGuard, interfaceAddresses } from './courier/address-guard.ts'
import { createSecureDns } from './courier/encryption/secure-dns.ts'
import { hasAddress } from './courier/host-address.ts'
import { loadProviders } from './courier/providers.ts'
import { shareAnswers } from './courier/shared-dns.ts'
import { createSmtpCourier } from './courier/smtp/courier.ts'
import { sourceOf } from './courier/smtp/routes.ts'
import { openData } from './data.ts'
import { openDoor, openSmtp } from './doors.ts'
import { createHttpDoor } from './http/server.ts'
import { createMetricsDoor } from './metrics/door.ts'
import { createLook } from './metrics/look.ts'
import { startClockWatch } from './queue/clock-watch.ts'
import { createRunner, type Runner } from './queue/runner.ts'
import { createSmtpDoor } from './smtpd/server.ts'
import type { PassedSockets } from './systemd.ts'
import { issuedPaths } from './tls/acme/issued.ts'
import { openCertificates } from './tls/certificates.ts'
import { startUpkeep } from './upkeep.ts'

export interface DaemonParts {
  readonly config: Config
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** How threads write theirs; JSON unless said. */
  readonly logStyle?: LogStyle
  readonly random: () => number
  /** As in lib/doors.ts. */
  chosenBy(setting: string): string | undefined
  /** Sockets that the service manager passed on, by their descriptors. */
  readonly sockets: PassedSockets
}

export interface Daemon {
  readonly app: Networked
  readonly smtp: readonly Endpoint[]
  /** Where mail is submitted, with STARTTLS first. */
  readonly submission: readonly Endpoint[]
  readonly http: readonly Endpoint[]
  /** Reads the TLS certificates again; what is wrong with one is logged and the old one stays. */
  reload(): Promise<void>
  /** Takes nothing new, ends what is under way or gives it back to the queue, and closes everything. */
  stop(): Promise<void>
  /** Resolves when the disk has failed to keep what was written, or this node can not have its lock on the server again: only a restart heals that. */
  readonly failed: Promise<Error>
}

/** Opens everything, in order: data, then the ways out, then the doors. `stop` closes it in reverse. */
export async function startDaemon(parts: DaemonParts): Promise<Daemon> {
  const { config, clock, log } = parts
  const closing: (() => unknown)[] = []
  const closeAll = async () => {
    for (const close of closing.reverse()) await close()
  }
  try {
    let baseUrl = config.base_url ?? ''
    const metrics = config.metrics.listen.length > 0 ? await createMetricsWhenAsked() : undefined
    const ports: number[] = []
    const { app: opened, hold } = await openData(
      {
        ...parts,
        meter: metrics ?? noMeter,
        mayMigrate: true,
        baseUrl: () => baseUrl,
        ownPorts: () => ports,
      },
      closing,
    )
    const storage = startStorageWatch(opened)
    closing.push(() => storage.stop())
    closing.push(startClockWatch(opened))
    const dns = shareAnswers(opened.dns, clock)
    const guard = createAddressGuard({
      clock,
      allowNetworks: config.delivery.allow_networks,
      ownAddresses: interfaceAddresses,
      ownPorts: () => ports,
    })
    const providers = loadProviders()
    const courier = createSmtpCourier({
      providers,
      dns,
      secureDns:
        config.dns.validating_server === undefined
          ? undefined
          : createSecureDns({ server: config.dns.validating_server, timeoutMs: limits.dnsTimeoutMs }),
      stsPolicies: createKeptStsPolicies(opened, dns, guard),
      guard,
      clock,
      log,
      hostname: config.hostname,
      port: config.delivery.port,
      ownNames: config.acme.names,
      ownAddresses: config.delivery.public_addresses,
      routes: routesOf(config),
      sourceAddress: sourceOf(config.delivery.source_address),
      useIpv6: config.delivery.ipv6,
      random: parts.random,
      mostAtAddress: config.delivery.concurrency_per_destination,
    })
    const { scanner, dnsLists } = createScreening(opened)
    closing.push(() => scanner.close())
    const app: Networked = Object.create(opened, {
      courier: { value: courier },
      scanner: { value: scanner },
      dnsLists: { value: dnsLists },
    })
    await app.blobs.clearSpool()
    await removeLeftCopy(config.data_dir)
    closing.push(startCleaning(app, await app.blobs.list()))
    const { queue } = app
    const recover = async () => {
      const recovered = await queue.recover()
      if (recovered > 0) log.info({ recovered }, 'queue entries of a killed process are due again')
    }
    await recover()
    app.nodes.watch(recover)
    const mostEach = config.delivery.concurrency_per_destination
    const ofOthers = { concurrency: mostEach, perMinute: 0, first: limits.paceFirst }
    const deliveries = queue.scheduler({
      kind: 'delivery',
      concurrency: config.delivery.concurrency,
      allowanceOf: name => providers.named(name) ?? ofOthers,
    })
    const drafts = queue.scheduler({
      kind: 'draft',
      concurrency: limits.draftsAtOnce,
      slow: limits.draftsAtOnce,
      allowanceOf: () => ({ concurrency: 1, perMinute: 0 }),
    })
    const webhooks = createWebhooks(app, parts.random)
    const calls = queue.scheduler({
      kind: 'webhook',
      concurrency: config.webhook.concurrency * limits.webhookTurns,
      allowanceOf: url => ({ concurrency: webhooks.concurrencyOf(url), perMinute: 0 }),
    })
    const runners = [
      createRunner({
        queue,
        kind: 'delivery',
        scheduler: deliveries,
        perform: entry => deliver(app, entry, deliveries.attemptOf(entry)),
        log,
      }),
      createRunner({
        queue,
        kind: 'draft',
        scheduler: drafts,
        perform: entry => sendScheduledDraft(app, entry),
        log,
      }),
      createRunner({ queue, kind: 'webhook', scheduler: calls, perform: webhooks.tell, log }),
    ]
    for (const one of runners) one.start()
    let carriedEnd: Promise<void> | undefined
    const endCarrying = () => {
      carriedEnd ??= endRunners(runners, async () => {
        queue.stop()
        webhooks.stop()
        await courier.close()
      })
      return carriedEnd
    }
    closing.push(endCarrying)
    const indexing = startIndexing(app)
    closing.push(() => indexing.stop())

    const { acme } = config
    const certificates = await openCertificates({
      pairs: config.tls.certificate,
      issued: acme.directory === undefined ? undefined : issuedPaths(config.data_dir),
      dataDir: config.data_dir,
      hostname: config.hostname,
      clock,
      log,
    })
    closing.push(() => certificates.stop())
    const throttles = createThrottles(app)
    const smtpDoor = createSmtpDoor(app, {
      throttles,
      certificates: certificates.current,
      idleTimeoutMs: limits.smtpIdlePeerMs,
      sessionTimeoutMs: durationMs(config.smtp.session_timeout),
      dataTimeoutMs: durationMs(config.smtp.data_timeout),
      maxMessages: limits.smtpMessages,
      threads: config.smtp.threads || Math.min(availableParallelism(), limits.smtpThreadsMax),
      threadSessions: limits.smtpThreadSessions,
      threadTimeoutMs: limits.smtpThreadStillMs,
      threadIdleMs: limits.smtpThreadIdleMs,
      logStyle: parts.logStyle,
    })
    certificates.onChange(smtpDoor.reload)
    const httpDoor = createHttpDoor(app, throttles)
    // All at once: what is carried must come to its end, and be written, however slow a peer at the doors is.
    closing.push(() => Promise.all([endCarrying(), smtpDoor.stop(), httpDoor.stop()]))
    const http = await openDoor(httpDoor, {
      ...parts,
      setting: 'http.listen',
      addresses: config.http.listen,
      descriptors: parts.sockets.http,
    })
    ports.push(...http.map(one => one.port))
    baseUrl = config.base_url ?? defaultBaseUrl(http[0]!, config.hostname)
    const { smtp, submission } = await openSmtp(smtpDoor, config, parts)
    ports.push(...[...smtp, ...submission].map(one => one.port))
    if (metrics) {
      const certificatesEnd = () => certificates.current.pairs.map(pair => pair.notAfter)
      const look = createLook(app, metrics, { smtp: smtpDoor, http: httpDoor, certificatesEnd })
      const door = createMetricsDoor(metrics, look, log)
      closing.push(() => door.stop())
      const asked = { setting: 'metrics.listen', addresses: config.metrics.listen, descriptors: [] }
      const opened = await openDoor(door, { ...parts, ...asked })
      ports.push(...opened.map(one => one.port))
      log.info({ metrics: opened.map(formatEndpoint) }, 'metrics can be asked for')
    }
    void dnsLists.test()
    const running = {
      version: programVersion(),
      pid: process.pid,
      startedAt: clock.now().toISOString(),
      stoppedAt: null,
      smtp: smtp.map(formatEndpoint),
      submission: submission.map(formatEndpoint),
      http: http.map(formatEndpoint),
    }
    await noteRunning(config.data_dir, running)
    log.info({ smtp: running.smtp, submission: running.submission, http: running.http, baseUrl }, 'ready')
    const heap = startIdleHeap({ lookMs: limits.idleHeapLookMs, againLooks: limits.idleHeapAgainLooks })
    closing.push(() => heap.stop())
    const upkeep = startUpkeep(app)
    closing.push(() => upkeep.stop())
    if (acme.directory !== undefined) {
      const names = acme.names.length > 0 ? acme.names : [config.hostname]
      const order = { directory: acme.directory, names }
      const settings = {
        ...parts,
        ...order,
        contact: acme.contact,
        listen: acme.listen.map(parseEndpoint),
        dataDir: config.data_dir,
        hasAddress: (name: string) => hasAddress(app.dns, name),
        onIssued: () => certificates.look(),
        ...(config.database !== undefined && { shared: shareCertificate(app, order) }),
      }
      const startWhenLoaded = async () => {
        const { startRenewal } = await import('./tls/acme/renewal.ts')
        return startRenewal(settings)
      }
      // Nobody waits for what it loads: "ready" has been said, and a signal must find who hears it.
      const renewal = startWhenLoaded()
      closing.push(async () => (await renewal).stop())
    }

    // Nobody needs it to stop: where the disk is full there is no room for it.
    closing.push(() =>
      noteRunning(config.data_dir, { ...running, stoppedAt: clock.now().toISOString() }).catch(() => {}),
    )
    // The first of all to end: nothing more is claimed, whatever else takes its time. How it ends is met further down.
    closing.push(() => void endCarrying().catch(() => {}))

    return {
      app,
      smtp,
      submission,
      http,
      reload: () => certificates.reload(),
      failed: Promise.race([app.store.failed, ...(hold ? [hold.failed] : [])]),
      async stop() {
        log.info('stopping')
        await closeAll()
        log.info('stopped')
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** With what makes the text of metrics, which nobody else needs to load. */
async function createMetricsWhenAsked() {
  const { createMetrics } = await import('./metrics/registry.ts')
  return createMetrics()
}

/** Claims nothing more, and breaks off what has not come to its end in its share of the time to stop. */
async function endRunners(runners: readonly Runner[], breakOff: () => Promise<void>): Promise<void> {
  const drained = Promise.all(runners.map(one => one.stop()))
  await Promise.race([drained, new Promise(resolve => setTimeout(resolve, limits.stopCarriedMs).unref())])
  await breakOff()
  await drained
}
