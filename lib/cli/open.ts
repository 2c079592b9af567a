import { existsSync, statSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { logStyle } from '../base/log-style.ts'
import { noMeter } from '../base/meter.ts'
import { defaultBaseUrl, parseEndpoint } from '../config/endpoint.ts'
import { ConfigFault } from '../config/fault.ts'
import { type Config, loadConfig, localConfig } from '../config/load.ts'
import type { App } from '../core/app/app.ts'
import type { OpenBlobs } from '../core/backup/verify.ts'
import { databasePath, openApp } from '../core/open.ts'
import { openBlobs } from '../core/open-blobs.ts'

/** The user that the unit of systemd runs the daemon as. */
export const daemonUser = 'mailboxd'

export const systemConfigPath = '/etc/mailboxd/mailboxd.toml'

/** Which installation is meant: by `--config` or MAILBOXD_CONFIG, by `--data`, or neither. */
export interface Installation {
  readonly config?: string
  /** The data directory of local mode. */
  readonly data?: string
}

/** The configuration that is named; without any that of the system, or else of local mode in this directory. */
export async function findConfig({ config, data }: Installation): Promise<Config> {
  if (config !== undefined) return loadConfig(config)
  if (data !== undefined) return localConfig({ dataDir: data })
  return existsSync(systemConfigPath) ? loadConfig(systemConfigPath) : localConfig()
}

/** What the configuration is called in what is said of it. */
export function configSource({ config, data }: Installation): string {
  if (config !== undefined) return config
  return data === undefined && existsSync(systemConfigPath) ? systemConfigPath : 'local mode'
}

/** @throws ConfigFault where there is no data: an installation is made by the daemon alone, for its own user */
export function requireInstallation(installation: Installation, config: Config): void {
  if (existsSync(databasePath(config.data_dir))) return
  const message = `there is no installation in ${config.data_dir}: start mailboxd, which makes it, or name the one that you mean with --config (a server), MAILBOXD_CONFIG, or --data (local mode)`
  throw new ConfigFault(configSource(installation), [{ path: 'data_dir', message }])
}

/**
 * Opens the database that the daemon uses, whether it runs or not, does `work`, and closes it.
 * @param mayMake whether it is made where there is none, in a data directory that belongs to the daemon's user
 * @throws ConfigFault where there is none
 */
export async function withApp<T>(
  installation: Installation,
  work: (app: App) => Promise<T>,
  { mayMake = false }: { mayMake?: boolean } = {},
): Promise<T> {
  const config = await findConfig(installation)
  if (!mayMake) requireInstallation(installation, config)
  becomeOwner(config.data_dir)
  const { app } = await openApp({
    config,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('warn', undefined, logStyle('auto', undefined)),
    mayMigrate: false,
    random: Math.random,
    ownPorts: () =>
      [
        ...config.http.listen,
        ...config.smtp.listen,
        ...config.submission.listen,
        ...config.submission.listen_tls,
      ].map(text => parseEndpoint(text).port),
    baseUrl: () => config.base_url ?? defaultBaseUrl(parseEndpoint(config.http.listen[0]!), config.hostname),
  })
  try {
    return await work(app)
  } finally {
    app.webhookCourier.close()
    await app.disk.close()
    await app.store.close()
  }
}

/** Where large raws are, by the settings, for what works on a database without opening all of it. */
export function blobsOf(config: Config): OpenBlobs {
  const log = createLog('warn', undefined, logStyle('auto', undefined))
  return read => openBlobs({ config, clock: systemClock, log, meter: noMeter, read })
}

/**
 * root becomes the user that the daemon runs as: whom the data belongs to or, before there is any, who the unit names.
 * Gives whether it could.
 */
export function becomeDaemonUser(dataDir: string): boolean {
  if (process.getuid?.() !== 0) return true
  if (existsSync(dataDir)) {
    becomeOwner(dataDir)
    return true
  }
  try {
    process.setgroups?.([daemonUser])
    process.setgid?.(daemonUser)
    process.setuid?.(daemonUser)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_CREDENTIAL') return false
    throw error
  }
}

/** root becomes the user that the data belongs to: a file of root's in there would lock the daemon out. */
export function becomeOwner(dataDir: string): void {
  if (process.getuid?.() !== 0 || !existsSync(dataDir)) return
  const { uid, gid } = statSync(dataDir)
  if (uid === 0) return
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}
