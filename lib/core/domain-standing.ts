import { Problem } from '../base/problem.ts'
import { baseAddress, domainOf } from '../mail/address.ts'
import { mailDomainOf } from '../mail/records.ts'
import type { Db } from '../store/dialect.ts'
import { findDomain } from '../store/domains.ts'
import { findInboxByAddress } from '../store/inboxes.ts'
import type { DomainRow } from '../store/tables.ts'
import type { App } from './app.ts'

/** The mail domain of ours that this is, or whose reverse-paths it is for. */
export async function findDomainHere(db: Db, name: string): Promise<DomainRow | undefined> {
  const mailDomain = mailDomainOf(name)
  return (await findDomain(db, name)) ?? (mailDomain === undefined ? undefined : findDomain(db, mailDomain))
}

/** Whether inboxes can be made on the domain: the account's own at any time, another one while it is verified. */
export function isUsable(app: App, row: DomainRow): boolean {
  return row.domain === app.config.account_domain || row.status === 'verified'
}

/**
 * Whether mail may leave in the name of the domain: of one that is not verified it would not be trusted, and what comes
 * back of it would not find us.
 * @throws Problem `domain_under_review`, `unverified_domain`
 */
export function requireSendingDomain(app: App, row: DomainRow): void {
  if (isUsable(app, row)) return
  if (row.status === 'under_review') {
    throw new Problem('domain_under_review', `${row.domain} is under review; nothing can be sent from it.`)
  }
  throw new Problem('unverified_domain')
}

/**
 * Whether mail that we send to this address stays here. Who merely adds a domain gets none of its mail; one that is
 * not verified any more keeps that of its inboxes, and the rest goes where its MX says.
 */
export async function isDeliveredHere(app: App, address: string): Promise<boolean> {
  const db = app.store.read
  const domain = await findDomainHere(db, domainOf(address))
  if (!domain) return false
  if (isUsable(app, domain)) return true
  const inbox =
    (await findInboxByAddress(db, address.toLowerCase())) ??
    (await findInboxByAddress(db, baseAddress(address.toLowerCase())))
  return inbox !== undefined
}
