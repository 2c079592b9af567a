import { hash } from 'node:crypto'
import { durationMs } from '../../config/duration.ts'
import { writeStsPolicy } from '../../mail/domain/mta-sts.ts'
import type { App } from '../app/app.ts'
import { findHolder, isUsable } from './usable.ts'

/** The MTA-STS policy (RFC 8461) of the domains here, the same for all; undefined: they have none. */
function ownSts({ config }: Pick<App, 'config'>): string | undefined {
  const { mode, max_age } = config.mta_sts
  if (mode === 'off') return undefined
  return writeStsPolicy({ mode, mx: [config.hostname], maxAgeSeconds: durationMs(max_age) / 1000 })
}

/** The id of the policy, another one for another policy (RFC 8461 §3.1). */
export function ownStsId(app: Pick<App, 'config'>): string | undefined {
  const policy = ownSts(app)
  return policy && hash('sha256', policy).slice(0, 20)
}

/** The policy that is served at a host: of mta-sts.<domain>, where mail may use the domain. @param host lower-case, no port */
export async function findOwnStsPolicy(app: App, host: string): Promise<string | undefined> {
  if (!host.startsWith('mta-sts.')) return undefined
  const row = await findHolder(app, app.store.read, host.slice('mta-sts.'.length))
  return row && isUsable(app, row) ? ownSts(app) : undefined
}
