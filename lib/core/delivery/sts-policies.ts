import type { Dns } from '../../base/network.ts'
import { isoAfter } from '../../base/time.ts'
import type { AddressGuard } from '../../courier/address-guard.ts'
import { createStsPolicies, type StsPolicies } from '../../courier/encryption/sts-policies.ts'
import { httpsGet } from '../../courier/https-get.ts'
import { type StsPolicy, stsPolicyBytes } from '../../mail/domain/mta-sts.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { findStsPolicy, putStsPolicy } from '../../store/sts-policies.ts'
import type { StsPolicyRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'

/** How long fetching an MTA-STS policy may take, and its connection. */
const stsFetchMs = 60_000
const stsConnectMs = 10_000

/** The MTA-STS policies of other domains, kept as rows. @param dns asked for their ids and servers @param guard which addresses mail may go to, and their policies come from */
export function createKeptStsPolicies(app: App, dns: Dns, guard: AddressGuard): StsPolicies {
  const { clock, log, store } = app
  return createStsPolicies({
    dns,
    clock,
    log,
    store: {
      async find(domain) {
        const row = await findStsPolicy(store.read, domain)
        if (!row) return undefined
        return { ...stsPolicyOf(row), domain, policyId: row.policyId, fetchedAt: new Date(row.fetchedAt) }
      },
      async put({ fetchedAt, mx, ...policy }) {
        const expiresAt = isoAfter(fetchedAt, policy.maxAgeSeconds * 1000)
        const row = { ...policy, mx: JSON.stringify(mx), fetchedAt: fetchedAt.toISOString(), expiresAt }
        await store.writeHolding(holdsNothing, db => putStsPolicy(db, row))
      },
    },
    get: (host, path) =>
      httpsGet(host, path, {
        dns,
        guard,
        port: 443,
        connectMs: stsConnectMs,
        timeoutMs: stsFetchMs,
        maxBytes: stsPolicyBytes,
      }),
  })
}

/** The policy in a row. */
export function stsPolicyOf({ mode, mx, maxAgeSeconds }: StsPolicyRow): StsPolicy {
  return { mode: mode as StsPolicy['mode'], mx: JSON.parse(mx), maxAgeSeconds }
}
