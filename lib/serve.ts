import { systemClock } from './base/clock.ts'
import { createIds } from './base/ids.ts'
import { limits } from './base/limits.ts'
import { createLog, type Log } from './base/log.ts'
import { readDaemonArguments } from './cli/arguments.ts'
import { checkCertificates } from './cli/certificates.ts'
import { welcomeBack, welcomeFirst } from './cli/welcome.ts'
import { formatEndpoint } from './config/endpoint.ts'
import { ConfigFault, configFaultExitCode } from './config/fault.ts'
import { type Config, loadConfig, localConfig } from './config/load.ts'
import { SecretKeyFault } from './core/app/secret-key.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { DataDirectoryBusy } from './store/dialect/lock.ts'
import { NewerSchema } from './store/migrations/migrate.ts'
import { CertificateFault } from './tls/pair.ts'

/** Runs mailboxd as this process: arguments, configuration, signals, exit code. Resolves when it has stopped. */
export async function serve(argv: readonly string[], version: string): Promise<number> {
  const given = readDaemonArguments(argv, version)
  if (typeof given === 'number') return given
  // Everything that is written holds mail or keys.
  process.umask(0o077)
  const isLocal = given.config === undefined
  let config: Config
  try {
    config = isLocal
      ? localConfig(given.data === undefined ? {} : { dataDir: given.data })
      : await loadConfig(given.config!)
    const { faults } = await checkCertificates(config)
    if (faults.length > 0) throw new ConfigFault(given.config!, faults)
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    process.stderr.write(`${error.message}\n`)
    return configFaultExitCode
  }
  const log = createLog(config.log.level)
  let daemon: Daemon
  try {
    const parts = {
      config,
      log,
      clock: systemClock,
      ids: createIds(systemClock),
      random: Math.random,
      mayMovePorts: isLocal,
    }
    daemon = await startDaemon(parts)
  } catch (error) {
    return tellStartFailure(error, log)
  }
  if (isLocal) {
    const endpoints = { smtp: formatEndpoint(daemon.smtp[0]!), baseUrl: daemon.app.baseUrl }
    process.stdout.write(
      daemon.isNew ? await welcomeFirst(daemon.app, endpoints) : welcomeBack(daemon.app, endpoints),
    )
  }
  return untilStopped(daemon, log)
}

/** What an operator can mend is said in a sentence; all else with its stack. */
function tellStartFailure(error: unknown, log: Log): number {
  if (error instanceof CertificateFault || error instanceof SecretKeyFault) {
    process.stderr.write(`${error.message}\n`)
    return configFaultExitCode
  }
  if (error instanceof DataDirectoryBusy || error instanceof NewerSchema || isListenFault(error)) {
    process.stderr.write(`mailboxd can not start: ${error.message}\n`)
    return 1
  }
  log.fatal({ err: error }, 'mailboxd can not start')
  return 1
}

function isListenFault(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error && 'syscall' in error && (error.syscall === 'listen' || error.syscall === 'bind')
  )
}

function untilStopped(daemon: Daemon, log: Log): Promise<number> {
  return new Promise(resolve => {
    let isStopping = false
    const stop = () => {
      if (isStopping) return
      isStopping = true
      // Nothing that was promised is lost by this: promises are made after the commit.
      setTimeout(() => {
        log.warn('stopping took too long; exiting')
        resolve(0)
      }, limits.stopMs - 500).unref()
      daemon.stop().then(
        () => resolve(0),
        error => {
          log.error({ err: error }, 'stopping failed')
          resolve(1)
        },
      )
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    process.on('SIGHUP', () => daemon.reload())
  })
}
