import { domainOf } from '../mail/address.ts'
import { isRewritten, rewriteSender } from '../mail/srs.ts'
import { findAccount } from '../store/account.ts'
import { listDeliveries } from '../store/deliveries.ts'
import type { Db } from '../store/dialect.ts'
import { findInbox } from '../store/inboxes.ts'
import { findMessage } from '../store/messages.ts'
import { findSuppression } from '../store/suppressions.ts'
import type { InboxRow, MessageRow } from '../store/tables.ts'
import type { Endpoint } from '../store/webhook-deliveries.ts'
import type { App } from './app.ts'
import { putDeliveries } from './put-deliveries.ts'
import type { Recipient } from './recipient.ts'

/**
 * Puts a copy of a message that has just come into the queue, in its write, where the inbox forwards such mail. Nobody
 * is told of it: the queue looks by itself every second.
 * @param rcptTo the address that it came to
 * @param endpoint the webhook that is told of it
 */
export async function forwardReceived(
  app: App,
  db: Db,
  inbox: InboxRow,
  message: MessageRow,
  { rcptTo }: Pick<Recipient, 'rcptTo'>,
  endpoint: Endpoint | undefined,
): Promise<void> {
  // What answers a copy by itself would be answered for ever.
  if (isRewritten(rcptTo)) return
  if (inbox.forwardWhen === 'needs_human' && message.autoReplyable === 1) return
  if (inbox.forwardWhen === 'webhook_failed') {
    const event = { type: 'message.received', podId: inbox.podId, inboxId: inbox.id }
    if (endpoint || app.readers.has(event)) return
  }
  await writeCopy(app, db, inbox, message)
}

/**
 * Forwards a message whose webhook has not taken it, where its inbox wants that; in the write that gives the webhook
 * up. A message is forwarded once, however often its event is told again.
 */
export async function forwardIfUndelivered(app: App, db: Db, messageId: string): Promise<void> {
  const message = await findMessage(db, messageId)
  const inbox = message && (await findInbox(db, message.inboxId))
  if (message?.direction !== 'inbound' || inbox?.forwardWhen !== 'webhook_failed') return
  const copies = await listDeliveries(db, messageId)
  if (copies.length === 0) await writeCopy(app, db, inbox, message)
}

/**
 * Never spam, nor bulk mail. A bounce is forwarded, without a reverse-path as it came (RFC 5321 §4.5.5), so that nothing
 * can come back of it.
 */
async function writeCopy(app: App, db: Db, inbox: InboxRow, message: MessageRow): Promise<void> {
  const { forwardTo } = inbox
  if (forwardTo === null || inbox.forwardStatus !== 'active') return
  if (message.verdict !== 'clean' || message.category === 'marketing') return
  const now = app.clock.now()
  if (await findSuppression(db, [forwardTo], now.toISOString())) {
    app.log.info({ messageId: message.id, inboxId: inbox.id }, 'not forwarded: the address is suppressed')
    return
  }
  const id = app.ids.next()
  const mailFrom = message.mailFrom === '' ? null : await reversePath(db, inbox, id, message.mailFrom, now)
  const copy = { id, messageId: message.id, recipient: forwardTo, purpose: 'forward', mailFrom }
  await putDeliveries(app, db, [copy], now)
}

/** Of this delivery alone, so that what comes back tells which it is about. */
async function reversePath(db: Db, inbox: InboxRow, deliveryId: string, sender: string, at: Date) {
  const account = await findAccount(db)
  if (!account) throw new Error('there is no account row')
  return rewriteSender({
    secret: account.signingSecret,
    purpose: deliveryId,
    sender,
    domain: domainOf(inbox.address),
    at,
  })
}
