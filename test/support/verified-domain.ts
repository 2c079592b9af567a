import type { App } from '../../lib/core/app/app.ts'
import { ensureDomain } from '../../lib/core/domains/domains.ts'

/** A second domain of the server, as if its records had been published and found. */
export async function addVerifiedDomain(app: App, domain: string): Promise<void> {
  await ensureDomain(app, domain)
  await app.store.write(async db => {
    await db
      .updateTable('domain')
      .set({ status: 'verified', verifiedAt: '2026-01-01T00:00:00.000Z' })
      .where('domain', '=', domain)
      .execute()
  })
}
