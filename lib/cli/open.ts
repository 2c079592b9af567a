import { existsSync, statSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { defaultBaseUrl, parseEndpoint } from '../config/endpoint.ts'
import { type Config, loadConfig, localConfig } from '../config/load.ts'
import type { App } from '../core/app/app.ts'
import { openApp } from '../core/open.ts'

export const systemConfigPath = '/etc/mailboxd/mailboxd.toml'

/** The configuration of `--config`; without it that of the system, or else of local mode in this directory. */
export async function findConfig(path: string | undefined): Promise<Config> {
  if (path !== undefined) return loadConfig(path)
  return existsSync(systemConfigPath) ? loadConfig(systemConfigPath) : localConfig()
}

/** Opens the database that the daemon uses, whether it runs or not, does `work`, and closes it. */
export async function withApp<T>(configPath: string | undefined, work: (app: App) => Promise<T>): Promise<T> {
  const config = await findConfig(configPath)
  becomeOwner(config.data_dir)
  const { app } = await openApp({
    config,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('warn'),
    random: Math.random,
    ownPorts: () => [...config.http.listen, ...config.smtp.listen].map(text => parseEndpoint(text).port),
    baseUrl: () => config.base_url ?? defaultBaseUrl(parseEndpoint(config.http.listen[0]!), config.hostname),
  })
  try {
    return await work(app)
  } finally {
    app.webhookCourier.close()
    await app.store.close()
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
