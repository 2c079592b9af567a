import { createIds } from '../../lib/base/ids.ts'
import { createLog } from '../../lib/base/log.ts'
import { systemClock } from '../../lib/base/time.ts'
import type { Config } from '../../lib/config/load.ts'
import type { App } from '../../lib/core/app/app.ts'
import { openApp } from '../../lib/core/open.ts'

/** Works on a data directory whose daemon does not run; makes it when it is missing. */
export async function withInstallation<T>(config: Config, work: (app: App) => Promise<T>): Promise<T> {
  const { app } = await openApp({
    mayMigrate: true,
    config,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('error'),
    random: Math.random,
    baseUrl: () => 'http://bench',
    ownPorts: () => [],
  })
  try {
    return await work(app)
  } finally {
    app.webhookCourier.close()
    await app.mailReader.stop()
    await app.store.close()
  }
}
