import type { Test } from 'tap'
import { parseConfig } from '../../lib/config/load.ts'
import { ensureInstallation } from '../../lib/core/account/setup.ts'
import type { App } from '../../lib/core/app/app.ts'
import type { Store } from '../../lib/store/open.ts'
import { findSecretKey, insertSecretKey } from '../../lib/store/secrets.ts'
import { startApi } from './api-app.ts'

/** An App whose rules work on this store. */
export async function appOn(t: Test, store: Store, toml: string): Promise<App> {
  const { app } = await startApi(t)
  const config = parseConfig(
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${app.config.data_dir}"\n${toml}`,
    'test',
  )
  const mine: App = Object.create(app, { store: { value: store }, config: { value: config } })
  // Secrets are sealed under the key of that server, which must be in force here, too.
  const secretKey = await findSecretKey(app.store.read)
  if (secretKey) await store.write(db => insertSecretKey(db, secretKey))
  await ensureInstallation(mine)
  return mine
}
