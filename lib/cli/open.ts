import { parseEndpoint } from '../config/endpoint.ts'
import type { App } from '../core/app/app.ts'
import { openApp } from '../core/open.ts'
import { baseUrlOf } from './base-url.ts'
import type { Installation } from './installation.ts'
import { partsOf } from './rows.ts'

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
  const parts = await partsOf(installation, mayMake)
  const { config } = parts
  const { app } = await openApp({
    ...parts,
    random: Math.random,
    ownPorts: () =>
      [
        ...config.http.listen,
        ...config.smtp.listen,
        ...config.submission.listen,
        ...config.submission.listen_tls,
      ].map(text => parseEndpoint(text).port),
    baseUrl: baseUrlOf(config),
  })
  try {
    return await work(app)
  } finally {
    app.webhookCourier.close()
    await app.blobs.close()
    await app.store.close()
  }
}
