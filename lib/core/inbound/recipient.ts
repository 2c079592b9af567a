import { Reply } from '../../base/reply.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import { parseVerp } from '../../mail/address/verp.ts'
import { findDeliveryByMailFrom } from '../../store/deliveries.ts'
import { findInbox, findInboxByAddress } from '../../store/inboxes.ts'
import { findMessage } from '../../store/messages.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { Reads } from '../app/app.ts'
import { findHere, isOwnPostmaster, isUsable, systemAddress } from '../domains/usable.ts'
import { requireMailboxRoom } from '../quota/storage.ts'

/** One forward-path that was accepted: the inbox it leads to, and the address that the peer used. */
export interface Recipient {
  readonly inboxId: string
  /** The inbox's pod. */
  readonly podId: string
  /** The inbox's own address. */
  readonly address: string
  /** As the peer wrote it, `+tag` and all. */
  readonly rcptTo: string
  /** The delivery whose reverse-path this is: mail to it has come back. */
  readonly deliveryId?: string
  /** Whom that delivery was for. */
  readonly deliveredTo?: string
}

/** Every domain must take mail for these (RFC 5321 §4.5.1, RFC 2142 §2); it goes to one system inbox. */
const roleNames = ['postmaster', 'abuse']

/** Whether it is the path of postmaster or abuse, who must be reached by those that are refused, too. */
export function isRolePath(rcptTo: string): boolean {
  const base = baseAddress(rcptTo.toLowerCase())
  const at = base.lastIndexOf('@')
  return at < 0 ? base === 'postmaster' : roleNames.includes(base.slice(0, at))
}

/**
 * The inbox that a forward-path leads to. `user+tag` is `user`, unless an inbox has that very address. The reverse-path
 * of a delivery (bounce.<domain>) leads to the inbox that sent it.
 * @throws Reply 550 5.1.1 for an inbox that is not there, 550 5.7.1 for a domain that is not ours, 553 5.1.3 for nonsense,
 * 452 4.2.2 for a mailbox that has no room for the message
 * @param sizeBytes of the message, as far as it is known
 * @param others the recipients of the message that were accepted before
 */
export async function resolveRecipient(
  app: Reads,
  rcptTo: string,
  sizeBytes = 0,
  others: readonly Recipient[] = [],
): Promise<Recipient> {
  const found = await findRecipient(app, rcptTo)
  if (found === 'foreign') throw new Reply(550, '5.7.1', 'We do not relay: that domain is not ours')
  if (found === 'unknown') throw new Reply(550, '5.1.1', 'There is no such mailbox here')
  if (found === 'malformed') throw new Reply(553, '5.1.3', 'That is not an address')
  const { inbox, ...returned } = found
  // A bounce of our own mail must arrive, or its recipient would be written to again and again.
  if (found.deliveryId === undefined) {
    const copies = 1 + others.filter(({ podId }) => podId === inbox.podId).length
    await requireMailboxRoom(app, inbox, sizeBytes, copies)
  }
  return { inboxId: inbox.id, podId: inbox.podId, address: inbox.address, rcptTo, ...returned }
}

/** An inbox, and the delivery that has come back to it. */
type Found = Pick<Recipient, 'deliveryId' | 'deliveredTo'> & { readonly inbox: InboxRow }

async function findRecipient(
  app: Reads,
  rcptTo: string,
): Promise<Found | 'foreign' | 'unknown' | 'malformed'> {
  // The one address without a domain that must be accepted.
  const asked = rcptTo.toLowerCase() === 'postmaster' ? systemAddress(app) : normaliseAddress(rcptTo)
  const address = asked !== undefined && isOwnPostmaster(app, asked) ? systemAddress(app) : asked
  if (address === undefined) return 'malformed'
  const db = app.store.read
  const returned = await findReturned(app, address)
  if (returned) return returned
  const { domain, inbox } = await findHere(app, db, address)
  if (!domain) return 'foreign'
  if (inbox) return { inbox }
  // Of a domain that is not verified any more only the mail of its inboxes is ours to take.
  if (!isUsable(app, domain)) return 'foreign'
  const base = baseAddress(address)
  if (!isRolePath(base)) return 'unknown'
  const system = await findInboxByAddress(db, systemAddress(app))
  return system ? { inbox: system } : 'unknown'
}

/** The inbox of the delivery that has this reverse-path. */
async function findReturned(app: Reads, address: string): Promise<Found | undefined> {
  const mailFrom = parseVerp(address)
  const delivery = mailFrom === undefined ? undefined : await findDeliveryByMailFrom(app.store.read, mailFrom)
  const message = delivery && (await findMessage(app.store.read, delivery.messageId))
  const inbox = message && (await findInbox(app.store.read, message.inboxId))
  return inbox && delivery && { inbox, deliveryId: delivery.id, deliveredTo: delivery.recipient }
}
