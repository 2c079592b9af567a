import { Problem } from '../../base/problem.ts'
import { baseAddress, domainOf, normaliseDomain } from '../../mail/address/address.ts'
import { mailDomainOf } from '../../mail/address/bounce-domain.ts'
import { isRegistrable } from '../../mail/domain/registrable.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { findDomain } from '../../store/domains.ts'
import { findInboxByAddress } from '../../store/inboxes.ts'
import type { DomainRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'

/** The mail domain of ours with this name, or the one whose reverse-paths have it (bounce.<domain>). */
export async function findDomainHere(db: Db, name: string): Promise<DomainRow | undefined> {
  const mailDomain = mailDomainOf(name)
  return (await findDomain(db, name)) ?? (mailDomain === undefined ? undefined : findDomain(db, mailDomain))
}

/** Whether inboxes can be made on the domain: the account's own at any time, another one while it is verified. */
export function isUsable(app: App, row: DomainRow): boolean {
  return row.domain === app.config.account_domain || row.status === 'verified'
}

/**
 * Whether mail may leave in the name of the domain. Receivers would not trust mail of a domain that is not verified, and
 * its bounces would not find us.
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
 * Whether mail that we send to this address stays here. Who merely adds a domain gets none of its mail. A domain that is
 * not verified any more keeps the mail of its inboxes; all other mail to it goes to its MX.
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

/** The selector of our DKIM keys. */
export const selector = 'mailboxd'

/** RFC 1035 §3.1, less what stands before the domain in the longest of its names. */
const longestDomain = 253 - `${selector}._domainkey.`.length

/** A domain that can be added, lower-case in A-labels. @param hostname the server's own @throws Problem `unregistrable_domain` */
export function requireRegistrable(text: string, hostname: string): string {
  const refusal = (message?: string) => new Problem('unregistrable_domain', message)
  if (text.includes('@')) throw refusal('This is an address. Give the domain alone, what stands after the @.')
  const domain = normaliseDomain(text)
  if (domain === undefined || domain.length > longestDomain) throw refusal()
  if (!isRegistrable(domain)) {
    throw refusal(`${domain} is nobody's own: names are registered below it. Give one of those.`)
  }
  if (domain === hostname.toLowerCase()) throw refusal("This is the server's own name.")
  const parent = domain.slice(domain.indexOf('.') + 1)
  if (domain.startsWith('bounce.') && isRegistrable(parent)) {
    throw refusal(`This is where bounces to ${parent} come. Give another name.`)
  }
  return domain
}

/** The address of the inbox that takes the mail of postmaster and abuse of every domain here. */
export function systemAddress(app: App): string {
  return `postmaster@${app.config.account_domain}`
}
