import { baseAddress, domainOf } from '../mail/address.ts'
import { findDomain } from '../store/domains.ts'
import { findInboxByAddress } from '../store/inboxes.ts'
import type { DomainRow } from '../store/tables.ts'
import type { App } from './app.ts'

/** Whether inboxes can be made on the domain: the account's own at any time, another one while it is verified. */
export function isUsable(app: App, row: DomainRow): boolean {
  return row.domain === app.config.account_domain || row.status === 'verified'
}

/**
 * Whether mail that we send to this address stays here. Who merely adds a domain gets none of its mail; one that is
 * not verified any more keeps that of its inboxes, and the rest goes where its MX says.
 */
export async function isDeliveredHere(app: App, address: string): Promise<boolean> {
  const db = app.store.read
  const domain = await findDomain(db, domainOf(address))
  if (!domain) return false
  if (isUsable(app, domain)) return true
  const inbox =
    (await findInboxByAddress(db, address.toLowerCase())) ??
    (await findInboxByAddress(db, baseAddress(address.toLowerCase())))
  return inbox !== undefined
}
