import type { Ids } from './base/ids.ts'
import type { Log } from './base/log.ts'
import type { LogStyle } from './base/log-style.ts'
import { noMeter } from './base/metrics.ts'
import { programVersion } from './base/package-root.ts'
import { startIdleHeap } from './base/threads.ts'
import type { Clock } from './base/time.ts'
import { openWaysOut, startCarrying } from './carrying.ts'
import { openConfigured, startRenewing } from './certificates.ts'
import { defaultBaseUrl, type Endpoint, formatEndpoint } from './config/endpoint.ts'
import type { Config } from './config/load.ts'
import type { App, Networked } from './core/app/app.ts'
import { startStorageWatch } from './core/app/storage-watch.ts'
import { removeLeftCopy } from './core/backup/copy.ts'
import { startCleaning } from './core/mailbox/cleaning.ts'
import { startIndexing } from './core/mailbox/indexing.ts'
import { noteRunning } from './core/running.ts'
import { loadProviders } from './courier/providers.ts'
import { openData } from './data.ts'
import { createDoors, openHttp, openMetrics, openSmtp } from './doors.ts'
import { startClockWatch } from './queue/clock-watch.ts'
import type { PassedSockets } from './systemd.ts'
import { startUpkeep } from './upkeep.ts'

/** How often the process checks whether it is idle, to give back the memory that work needed. */
const idleHeapLookMs = 10_000
/** After so many such looks it is done again: threads that a burst had started have ended, and what is done each hour has left something. */
const idleHeapAgainLooks = 6

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

/** The functions that close the parts, in the order of opening. */
type Closing = (() => unknown)[]

/** Opens everything, in order: data, the ways out, then the doors. `stop` closes it in reverse. */
export async function startDaemon(parts: DaemonParts): Promise<Daemon> {
  const { config, log, random } = parts
  const closing: Closing = []
  const closeAll = async () => {
    for (const close of closing.reverse()) await close()
  }
  try {
    // These are known once the doors are open.
    let baseUrl = config.base_url ?? ''
    const ports: number[] = []
    const own = { baseUrl: () => baseUrl, ownPorts: () => ports }
    const notePorts = (opened: readonly Endpoint[]) => ports.push(...opened.map(({ port }) => port))

    const metrics = config.metrics.listen.length > 0 ? await createMetricsWhenAsked() : undefined
    const meter = metrics ?? noMeter
    const { app: opened, hold } = await openData({ ...parts, ...own, meter, mayMigrate: true }, closing)
    startWatches(opened, closing)

    const providers = loadProviders()
    const app = openWaysOut(opened, { ...own, providers, random })
    closing.push(() => app.scanner.close())
    await clearLeft(app, closing)
    const endCarrying = await startCarrying(app, { providers, random })
    closing.push(endCarrying)
    const indexing = startIndexing(app)
    closing.push(() => indexing.stop())

    const certificates = await openConfigured(app)
    closing.push(() => certificates.stop())

    const doors = createDoors(app, { certificates, metrics, logStyle: parts.logStyle })
    // All at once: what is carried must come to its end, and be written, however slow a peer at the doors is.
    closing.push(() => Promise.all([endCarrying(), doors.smtp.stop(), doors.http.stop()]))
    const http = await openHttp(doors.http, config, parts)
    notePorts(http)
    baseUrl = config.base_url ?? defaultBaseUrl(http[0]!, config.hostname)
    const { smtp, submission } = await openSmtp(doors.smtp, config, parts)
    notePorts([...smtp, ...submission])

    if (doors.metrics) {
      closing.push(() => doors.metrics?.stop())
      notePorts(await openMetrics(doors.metrics, config, parts))
    }
    void app.dnsLists.test()
    const noteStopped = await noteReady(app, { smtp, submission, http })
    startUpkeeping(app, closing)
    const endRenewing = startRenewing(app, certificates, random)
    if (endRenewing) closing.push(endRenewing)

    closing.push(noteStopped)
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

/** Watches the room on the disk and the clock. */
function startWatches(app: App, closing: Closing): void {
  const storage = startStorageWatch(app)
  closing.push(() => storage.stop())
  closing.push(startClockWatch(app))
}

/** Clears what earlier processes left: spool files, a copy that was not finished, and files without a row. */
async function clearLeft(app: App, closing: Closing): Promise<void> {
  await app.blobs.clearSpool()
  await removeLeftCopy(app.config.data_dir)
  closing.push(startCleaning(app, await app.blobs.list()))
}

/** Notes in the data directory, and in the log, where the daemon is ready. Returns a function that notes that it has stopped. */
async function noteReady(
  { config, clock, log, baseUrl }: App,
  { smtp, submission, http }: Pick<Daemon, 'smtp' | 'submission' | 'http'>,
): Promise<() => Promise<void>> {
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
  // Nobody needs it to stop: where the disk is full there is no room for it.
  return () =>
    noteRunning(config.data_dir, { ...running, stoppedAt: clock.now().toISOString() }).catch(() => {})
}

/** Has the heap shrink while nothing is done, and sweeps at their times. */
function startUpkeeping(app: App, closing: Closing): void {
  const heap = startIdleHeap({ lookMs: idleHeapLookMs, againLooks: idleHeapAgainLooks })
  closing.push(() => heap.stop())
  const upkeep = startUpkeep(app)
  closing.push(() => upkeep.stop())
}
