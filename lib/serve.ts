import { setTimeout as pause } from 'node:timers/promises'
import {
  BackupFault,
  BlobsFault,
  DatabaseDamaged,
  DiskFailed,
  SchemaFault,
  StorageForbidden,
  StorageUnreachable,
  tellSystemFault,
  UnreleasedSchema,
  withInodes,
} from './base/faults.ts'
import { forbiddenOf, tellForbidden } from './base/file-permissions.ts'
import { createIds } from './base/ids.ts'
import { createLog, type Log } from './base/log.ts'
import { faultText, jsonStyle, logStyle } from './base/log-style.ts'
import { nodeClockMs, stopPeersMs, systemClock } from './base/time.ts'

import { type DaemonArguments, readDaemonArguments } from './cli/arguments.ts'
import { checkCertificates } from './cli/certificates.ts'
import { asOwner } from './cli/installation.ts'
import { checkDatabasePassword } from './cli/secret-files.ts'
import { serverFindings } from './cli/server-findings.ts'
import { writeText } from './cli/terminal.ts'
import { welcome } from './cli/welcome.ts'
import { formatEndpoint } from './config/endpoint.ts'
import { ConfigFault, configFaultExitCode } from './config/fault.ts'
import { type Config, loadConfig, localConfig } from './config/load.ts'
import type { App } from './core/app/app.ts'
import { SecretKeyFault } from './core/app/secret-key.ts'
import { getDomainByName } from './core/domains/domains.ts'
import { DatabaseMissing } from './core/missing-database.ts'
import { readRunning } from './core/running.ts'
import { type Daemon, type DaemonParts, startDaemon } from './daemon.ts'
import { DataDirectoryBusy } from './store/dialect/lock.ts'
import { type ServiceManager, serviceManagerOf } from './systemd.ts'
import { CertificateFault } from './tls/pair.ts'

/** How long those may take to be told no who wait for a disk that has failed. */
const diskFailedMs = 1_000
/** What a process may take to stop, before it is stopped (SIGTERM). */
const stopMs = 10_000

/** Runs mailboxd as this process: arguments, configuration, signals, exit code. Resolves when it has stopped. */
export async function serve(
  argv: readonly string[],
  version: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const given = readDaemonArguments(argv, version, environment)
  if (typeof given === 'number') return given
  // Everything that is written holds mail or keys.
  process.umask(0o077)
  const isLocal = given.config === undefined
  const say = (text: string) =>
    writeText('stderr', faultText(text, logStyle('auto', environment.JOURNAL_STREAM)))
  let config: Config
  try {
    config = isLocal ? await localConfigOf(given) : await loadConfig(given.config!)
    const found = [await checkCertificates(config), await checkDatabasePassword(config)]
    const faults = found.flatMap(one => one.faults)
    if (faults.length > 0) throw new ConfigFault(given.config!, faults)
  } catch (error) {
    if (error instanceof ConfigFault) {
      say(`${error.message}\n`)
      return configFaultExitCode
    }
    const fault = tellFault(error, undefined)
    if (fault === undefined) throw error
    say(`mailboxd can not start: ${fault}\n`)
    return 1
  }
  const asUser = asOwner(config.data_dir, ['mailboxd', ...argv].join(' '))
  if (asUser !== undefined) {
    say(
      `mailboxd can not start: ${config.data_dir} belongs to another user, who could not use what root would leave in it. Start it as that one: ${asUser}\n`,
    )
    return 1
  }
  const style = logStyle(config.log.format, environment.JOURNAL_STREAM)
  const log = createLog(config.log.level, undefined, style)
  const manager = serviceManagerOf(environment, process.pid)
  const parts = {
    config,
    log,
    logStyle: style,
    clock: systemClock,
    ids: createIds(systemClock, config.database === undefined ? undefined : nodeClockMs),
    random: Math.random,
    chosenBy: (setting: string) => (isLocal ? chosenOption(given, setting) : setting),
    sockets: manager.sockets,
  }
  const { toStop, outOfTime } = hearSignals(log)
  return Promise.race([outOfTime, run(parts, { isLocal, manager, toStop })])
}

/** What was said, and of what was not what the last start on this data used: whoever wrote a port down finds it again. */
async function localConfigOf({ data, port, smtpPort }: DaemonArguments): Promise<Config> {
  const place = data === undefined ? {} : { dataDir: data }
  const { last } = await readRunning(localConfig(place).data_dir)
  const choose = (chosen: number | undefined, addresses: readonly string[] = []) => {
    if (chosen !== undefined) return `${loopback}:${chosen}`
    // What listened elsewhere was a server.
    return addresses.find(address => address.startsWith(`${loopback}:`))
  }
  const http = choose(port, last?.http)
  const smtp = choose(smtpPort, last?.smtp)
  const submission = choose(undefined, last?.submission)
  return localConfig({
    ...place,
    ...(http !== undefined && { http }),
    ...(smtp !== undefined && { smtp }),
    ...(submission !== undefined && { submission }),
  })
}

const loopback = '127.0.0.1'

/** The option that said the port of this setting: then it is that one or none. */
function chosenOption({ port, smtpPort }: DaemonArguments, setting: string): string | undefined {
  if (setting === 'http.listen') return port === undefined ? undefined : '--port'
  return setting === 'smtp.listen' && smtpPort !== undefined ? '--smtp-port' : undefined
}

/** Starts the daemon and stops it when it is asked to; gives the exit code. */
async function run(
  parts: DaemonParts,
  { isLocal, manager, toStop }: { isLocal: boolean; manager: ServiceManager; toStop: Promise<void> },
): Promise<number> {
  let daemon: Daemon
  try {
    daemon = await startDaemon(parts)
  } catch (error) {
    return tellStartFailure(error, parts)
  }
  let isStopping = false
  let looked = Promise.resolve()
  process.on('SIGHUP', () => daemon.reload())
  manager.ready(parts.log)
  if (!isLocal) {
    await warnAtStart(daemon.app).catch(error =>
      parts.log.error({ err: error }, 'what loses mail could not be looked for'),
    )
    // A bucket that is away has who asks wait.
    looked = warnOfBucket(daemon.app, () => isStopping)
  }
  if (isLocal) {
    const endpoints = {
      smtp: formatEndpoint(daemon.smtp[0]!),
      submission: formatEndpoint(daemon.submission[0]!),
      baseUrl: daemon.app.baseUrl,
    }
    writeText('stdout', await welcome(daemon.app, endpoints))
  }
  const failure = await Promise.race([toStop, daemon.failed])
  isStopping = true
  manager.stopping(parts.log)
  if (failure) return giveUp(failure, parts.log)
  try {
    // One that answers has answered by now, and what was asked of it leaves no file.
    await Promise.race([looked, pause(stopPeersMs, undefined, { ref: false })])
    await daemon.stop()
    return 0
  } catch (error) {
    parts.log.error({ err: error }, 'stopping failed')
    return 1
  }
}

/**
 * Nobody knows any more what the disk holds of what was written last; who starts anew reads it. Nothing is closed, for that would take
 * over into the database what is doubtful. The same where another process has the database of a server.
 */
async function giveUp(failure: Error, log: Log): Promise<number> {
  log.fatal(
    { err: failure },
    failure instanceof DiskFailed
      ? 'the disk failed to keep what was written; exiting, to read it again at the next start'
      : 'what keeps others from the database was lost and can not be had again; exiting, to ask for it at the next start',
  )
  // Who waits is told no meanwhile.
  await new Promise(resolve => setTimeout(resolve, diskFailedMs))
  return 1
}

/** What loses mail, or will, in a line each. */
async function warnAtStart(app: App): Promise<void> {
  const { account_domain: domain, delivery } = app.config
  const found = await serverFindings(app.config)
  for (const { level, code, subject, message } of found) {
    // One that has expired was told loudly when it was read.
    if (code === 'certificate' && level === 'error') continue
    app.log.warn({ code, subject }, message)
  }
  // A laboratory's has no DNS.
  if (delivery.mode === 'capture') return
  const { status } = await getDomainByName(app, domain)
  if (status === 'verified') return
  app.log.warn(
    { code: 'domain_not_verified', subject: domain, status },
    'mailboxctl dns check says which DNS records are to be published',
  )
}

/** That large mail will be put off, before the first of it comes. @param isStopping whether the bucket may be closed by now */
async function warnOfBucket({ blobs, config, log }: App, isStopping: () => boolean): Promise<void> {
  try {
    for await (const page of blobs.listDistant()) if (page) break
  } catch (error) {
    if (isStopping()) return
    const why = error instanceof Error ? error.message : String(error)
    log.error({ code: 'bucket_failed', subject: config.blobs }, `large mail is put off: ${why}`)
  }
}

/** What an operator can mend is said in a sentence; all else with its stack. */
function tellStartFailure(error: unknown, { config, log, logStyle: style = jsonStyle }: DaemonParts): number {
  const say = (text: string) => writeText('stderr', faultText(text, style))
  if (
    error instanceof CertificateFault ||
    error instanceof SecretKeyFault ||
    error instanceof DatabaseMissing ||
    error instanceof UnreleasedSchema
  ) {
    say(`${error.message}\n`)
    return configFaultExitCode
  }
  // A restart would meet the same damage.
  const damage = DatabaseDamaged.of(error)
  if (damage) {
    say(`mailboxd can not start: ${tellSystemFault(damage)}\n`)
    return configFaultExitCode
  }
  const isTold =
    error instanceof DataDirectoryBusy ||
    error instanceof BackupFault ||
    error instanceof SchemaFault ||
    error instanceof StorageUnreachable ||
    error instanceof StorageForbidden ||
    error instanceof BlobsFault
  const told = isTold ? error.message : tellFault(error, config.data_dir)
  if (told === undefined) log.fatal({ err: error }, 'mailboxd can not start')
  else say(`mailboxd can not start: ${told}\n`)
  return 1
}

/** As `tellSystemFault`, for a daemon: what is not its user's becomes that, and nobody runs it as root. */
function tellFault(error: unknown, dataDir: string | undefined): string | undefined {
  const forbidden = forbiddenOf(error, dataDir)
  if (forbidden) return tellForbidden(forbidden)
  return tellSystemFault(dataDir === undefined ? error : withInodes(error, dataDir))
}

/**
 * Hears SIGTERM and SIGINT from before the daemon says "ready": one that comes in the middle of a start is heeded when the
 * start is through.
 */
function hearSignals(log: Log): { toStop: Promise<void>; outOfTime: Promise<number> } {
  const toStop = Promise.withResolvers<void>()
  const outOfTime = Promise.withResolvers<number>()
  let isAsked = false
  const hear = () => {
    if (isAsked) return
    isAsked = true
    toStop.resolve()
    // Nothing that was promised is lost by this: promises are made after the commit.
    setTimeout(() => {
      log.warn('stopping took too long; exiting')
      outOfTime.resolve(0)
    }, stopMs - 500).unref()
  }
  process.on('SIGTERM', hear)
  process.on('SIGINT', hear)
  return { toStop: toStop.promise, outOfTime: outOfTime.promise }
}
