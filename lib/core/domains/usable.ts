import { canonicalAddress } from '../../base/network.ts'
import { Problem } from '../../base/problem.ts'
import { interfaceAddresses } from '../../courier/address-guard.ts'
import { baseAddress, domainOf, literalAddress } from '../../mail/address/address.ts'
import { mailDomainOf } from '../../mail/address/bounce-domain.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { findDomainOfPod, listHolders } from '../../store/domains.ts'
import { findInboxByAddress } from '../../store/inboxes.ts'
import type { Holder } from '../../store/sending.ts'
import type { DomainRow, InboxRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'

/**
 * The domain that has this name here: the account's own, one that is verified, or one that was and whose name no other
 * has taken since. What a pod merely added has no say about its name; what the account added has one for its inboxes,
 * which there are when it was the account's own domain before.
 */
export async function findHolder(
  app: Pick<App, 'config'>,
  db: Db,
  name: string,
): Promise<DomainRow | undefined> {
  return holderOf(app, await listHolders(db, name))
}

/** The same among the rows that `listHolders` finds. */
function holderOf<Row extends Holder>(app: Pick<App, 'config'>, rows: readonly Row[]): Row | undefined {
  const accounts = rows.find(row => row.podId === null)
  if (accounts && isAccountDomain(app, accounts)) return accounts
  return rows.find(row => row.verifiedAt !== null) ?? accounts
}

/** The same, also for the name that its reverse-paths have (bounce.<domain>). */
async function findDomainHere(
  app: Pick<App, 'config'>,
  db: Db,
  name: string,
): Promise<DomainRow | undefined> {
  const mailDomain = mailDomainOf(name)
  return (
    (await findHolder(app, db, name)) ??
    (mailDomain === undefined ? undefined : findHolder(app, db, mailDomain))
  )
}

/** Whether this is the domain of the account, which works without a check; a pod's row of its name is not. */
export function isAccountDomain(app: Pick<App, 'config'>, { domain, podId }: Holder): boolean {
  return domain === app.config.account_domain && podId === null
}

/** Whether inboxes can be made on the domain: the account's own at any time, another one while it is verified. */
export function isUsable(app: Pick<App, 'config'>, row: Holder): boolean {
  return isAccountDomain(app, row) || row.status === 'verified'
}

/** Whether inboxes of the pod may have addresses in the domain. */
export function isOpenTo({ podId }: Holder, inbox: { readonly podId: string }): boolean {
  return podId === null || podId === inbox.podId
}

/** Why no inbox can have an address in this domain; of one that another pod added no more is said than of none. */
export async function unusableDomain(db: Db, name: string | undefined, podId: string): Promise<Problem> {
  if (name === undefined) return new Problem('invalid_domain')
  const added = (await findDomainOfPod(db, name, podId)) ?? (await findDomainOfPod(db, name, null))
  if (!added) return new Problem('invalid_domain')
  if (added.status === 'under_review') {
    return new Problem(
      'invalid_domain',
      `${name} is under review by the operator of this server; no inbox can be made in it until it is approved.`,
    )
  }
  const what =
    added.status === 'failed' ? 'is not verified: its DNS records are not right' : 'is not verified yet'
  return new Problem(
    'invalid_domain',
    `${name} ${what}. GET /v1/domains/${added.id} lists the records to publish; it is verified as soon as they are found.`,
  )
}

/**
 * Whether mail of an inbox may leave in the name of its domain. Receivers would not trust mail of a domain that is not
 * verified, and its bounces would not find us. An inbox whose pod has lost the domain to another does not write in its name.
 * @param holders as `listHolders` finds them
 * @throws Problem `domain_under_review`, `unverified_domain`
 */
export function requireSendingDomain(
  app: App,
  holders: readonly Holder[],
  inbox: { readonly podId: string },
): void {
  const row = holderOf(app, holders)
  if (row && isOpenTo(row, inbox) && isUsable(app, row)) return
  if (row?.status === 'under_review') {
    throw new Problem('domain_under_review', `${row.domain} is under review; nothing can be sent from it.`)
  }
  throw new Problem('unverified_domain')
}

/**
 * Whether mail that we send to this address stays here. Who merely adds a domain gets none of its mail. A domain that is
 * not verified any more keeps the mail of its inboxes; all other mail to it goes to its MX.
 */
export async function isDeliveredHere(app: App, db: Db, address: string): Promise<boolean> {
  if (isOwnPostmaster(app, address)) return true
  const domain = await findDomainHere(app, db, domainOf(address))
  if (!domain) return false
  return isUsable(app, domain) || (await findHere(app, db, address.toLowerCase())).inbox !== undefined
}

/**
 * The domain of an address as it is here (`findDomainHere`), and its inbox; `user+tag` is `user`, unless an inbox has that very address. One whose pod has
 * lost the domain to another gets nothing any more. Both are asked at once: a server is far away.
 * @param address lower-case
 */
export async function findHere(
  app: Pick<App, 'config'>,
  db: Db,
  address: string,
): Promise<{ readonly domain?: DomainRow | undefined; readonly inbox?: InboxRow | undefined }> {
  const [domain, own] = await Promise.all([
    findDomainHere(app, db, domainOf(address)),
    findInboxByAddress(db, address),
  ])
  if (!domain) return {}
  const base = baseAddress(address)
  const inbox = own ?? (base === address ? undefined : await findInboxByAddress(db, base))
  return { domain, inbox: inbox && isOpenTo(domain, inbox) ? inbox : undefined }
}

/**
 * Whether it is postmaster at an address literal that is this server (RFC 5321 §4.1.3, §4.5.1): an address of this machine, or one
 * by which others know it.
 * @param address in the form that is stored
 */
export function isOwnPostmaster({ config }: Pick<App, 'config'>, address: string): boolean {
  const literal = literalAddress(domainOf(address))
  if (literal === undefined || address !== `postmaster@${domainOf(address)}`) return false
  const ours = [...config.delivery.public_addresses, ...interfaceAddresses()]
  return ours.some(one => canonicalAddress(one) === literal)
}

/** The selector of the first RSA key of a domain. */
export const selector = 'mailboxd'

/** The address of the inbox that takes the mail of postmaster and abuse of every domain here. */
export function systemAddress(app: Pick<App, 'config'>): string {
  return `postmaster@${app.config.account_domain}`
}
