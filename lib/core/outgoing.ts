import { domainOf } from '../mail/address.ts'
import { signDkim } from '../mail/dkim.ts'
import type { Db } from '../store/dialect.ts'
import { findDomain } from '../store/domains.ts'
import { insertMessage } from '../store/messages.ts'
import type { InboxRow, ThreadRow } from '../store/tables.ts'
import { addMessageToThread, insertThread } from '../store/threads.ts'
import type { App } from './app.ts'
import type { StoredAttachment } from './messages.ts'
import { putDeliveries } from './put-deliveries.ts'
import { newReversePath } from './reverse-path.ts'
import type { Addressees } from './send-addressees.ts'
import type { Body } from './send-body.ts'

/** Signs what is sent from this address, with the key of its domain. */
export async function signOutgoing(app: App, fromAddr: string, raw: Buffer, signedAt: Date): Promise<Buffer> {
  const domain = await findDomain(app.store.read, domainOf(fromAddr))
  // Never unsigned: what can't be signed is a fault of ours, and the request can be repeated.
  if (!domain) throw new Error(`no domain row for ${fromAddr}`)
  return signDkim(raw, {
    domain: domain.domain,
    selector: domain.selector,
    privateKeyPem: domain.dkimPrivateKey,
    signedAt,
  })
}

/** All that the rows of one outgoing message are made of. */
export interface Outgoing {
  readonly id: string
  readonly date: Date
  readonly inbox: InboxRow
  /** The address in From. */
  readonly fromAddr: string
  /** The reverse-path. */
  readonly mailFrom: string
  readonly category: 'personal' | 'automated'
  readonly addressees: Addressees
  readonly body: Body
  readonly rfcMessageId: string
  readonly attachments: readonly StoredAttachment[]
  readonly subject: string
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  readonly thread: ThreadRow | undefined
}

/**
 * Writes the message, its thread, one delivery for each recipient and their queue entries; gives the thread's id.
 * @param rawId null for one whose bytes are made when it is carried
 */
export async function writeOutgoing(
  app: App,
  db: Db,
  outgoing: Outgoing,
  rawId: string | null,
): Promise<string> {
  const { id, inbox, addressees } = outgoing
  const createdAt = outgoing.date.toISOString()
  const thread = outgoing.thread ?? (await startThread(app, db, outgoing, createdAt))
  await insertMessage(db, {
    id,
    inboxId: inbox.id,
    threadId: thread.id,
    direction: 'outbound',
    status: 'pending',
    rawId,
    rfcMessageId: outgoing.rfcMessageId,
    inReplyTo: outgoing.inReplyTo,
    references: JSON.stringify(outgoing.references),
    mailFrom: outgoing.mailFrom,
    trace: '',
    fromAddr: outgoing.fromAddr,
    toAddr: addressees.to,
    headerTo: null,
    deliveryRole: null,
    replyTo: addressees.replyTo,
    cc: JSON.stringify(addressees.cc),
    bcc: JSON.stringify(addressees.bcc),
    addressNames: null,
    subject: outgoing.subject,
    bodyText: outgoing.body.text,
    bodyHtml: outgoing.body.html ?? '',
    attachments: JSON.stringify(outgoing.attachments),
    category: outgoing.category,
    autoReplyable: 0,
    verdict: 'clean',
    authentication: JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' }),
    createdAt,
    extracted: null,
  })
  // Answering marks the thread read; so does having begun it.
  await addMessageToThread(db, thread, { createdAt, isRead: true })
  const deliveries = addressees.all.map(recipient => ({
    id: app.ids.next(),
    messageId: id,
    recipient,
    purpose: 'send',
    // None for the null reverse-path.
    mailFrom: outgoing.mailFrom === '' ? null : newReversePath(outgoing.mailFrom),
  }))
  await putDeliveries(app, db, deliveries, outgoing.date)
  return thread.id
}

async function startThread(app: App, db: Db, outgoing: Outgoing, createdAt: string): Promise<ThreadRow> {
  const thread: ThreadRow = {
    id: app.ids.next(),
    inboxId: outgoing.inbox.id,
    subject: outgoing.subject,
    isRead: 1,
    messageCount: 0,
    lastMessageAt: createdAt,
    createdAt,
  }
  await insertThread(db, thread)
  return thread
}
