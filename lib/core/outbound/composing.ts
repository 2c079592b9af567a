import { randomBase36 } from '../../base/secrets.ts'
import { isoAfter } from '../../base/time.ts'
import { durationMs } from '../../config/duration.ts'
import { domainOf } from '../../mail/address/address.ts'
import { formatVerp, verpTokenLength } from '../../mail/address/verp.ts'
import type { DkimSigner } from '../../mail/compose/dkim.ts'
import type { Body } from '../../mail/compose/quote.ts'
import { addressNames, type Mailbox } from '../../mail/header/mailbox.ts'
import { insertDeliveries } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { countInInbox, kibOf, messageDate } from '../../store/inboxes.ts'
import { insertMessage, insertReading } from '../../store/messages.ts'
import type { DeliveryRow, InboxRow, MessageRow, ThreadRow } from '../../store/tables.ts'
import { addMessageToThread, insertUncountedThreads } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import { dkimSigner } from '../domains/keys.ts'
import { findHolder } from '../domains/usable.ts'
import type { StoredAttachment } from '../mailbox/attachments.ts'
import { participantsOf, withMessage, writeParticipants } from '../mailbox/participants.ts'
import type { Addressees } from './addressees.ts'

/** Who signs what is sent from this address: the keys of its domain. */
export async function signerOf(app: App, fromAddr: string, signedAt: Date): Promise<DkimSigner> {
  const domain = await findHolder(app, app.store.read, domainOf(fromAddr))
  // Never unsigned: what can't be signed is a fault of ours, and the request can be repeated.
  if (!domain) throw new Error(`no domain row for ${fromAddr}`)
  return dkimSigner(app, domain, signedAt)
}

/** All that the rows of one outgoing message are made of. */
export interface Outgoing {
  readonly id: string
  readonly date: Date
  /** As it was counted in (`countOutgoing`). */
  readonly inbox: InboxRow
  /** The address in From. */
  readonly fromAddr: string
  /** The reverse-path. */
  readonly mailFrom: string
  readonly category: 'personal' | 'automated'
  /** What its deliveries are for, unless it is sent because somebody asked: `report` arrives in spite of faults of TLS. */
  readonly purpose?: 'report'
  readonly addressees: Addressees
  readonly body: Body
  readonly rfcMessageId: string
  readonly attachments: readonly StoredAttachment[]
  readonly subject: string
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  readonly thread: ThreadRow | undefined
  /** What is to be told of the deliveries, by recipient, as their column `notify` has it. */
  readonly notify?: ReadonlyMap<string, string>
}

/**
 * Counts a message that an inbox sends, in the write of it, and dates it.
 * @param thread that it answers in; undefined for one of its own
 * @param date when it is sent; in the inbox it is dated later where that has a message as late
 * @param sizeBytes of its raw; 0 without one
 * @returns the inbox as it is in this write; undefined when it was deleted
 */
export function countOutgoing(
  db: WriteDb,
  inboxId: string,
  thread: ThreadRow | undefined,
  { date, sizeBytes }: { readonly date: Date; readonly sizeBytes: number },
): Promise<InboxRow | undefined> {
  // Answering marks the thread read; so does having begun it.
  const ofThreads = thread ? { unreadThreads: thread.isRead === 1 ? 0 : -1 } : { threads: 1 }
  return countInInbox(db, inboxId, { outbound: 1, storedKiB: kibOf(sizeBytes), ...ofThreads }, date)
}

/**
 * Writes the message, its thread, one delivery for each recipient and their queue entries; gives the thread's id. It was
 * counted before (`countOutgoing`).
 * @param raw null for one whose bytes are made when it is carried
 */
export async function writeOutgoing(
  app: App,
  db: WriteDb,
  outgoing: Outgoing,
  raw: { readonly id: string; readonly sizeBytes: number } | null,
): Promise<string> {
  const { id, inbox, addressees } = outgoing
  const { to, cc, bcc } = addressees
  const names = addressNames([...to, ...cc])
  const createdAt = messageDate(inbox)
  const threadId = outgoing.thread?.id ?? app.ids.next()
  const reading = {
    bodyText: outgoing.body.text,
    bodyHtml: outgoing.body.html ?? '',
    attachments: JSON.stringify(outgoing.attachments),
    extracted: null,
    parseProblems: '[]',
  }
  const row: MessageRow = {
    id,
    inboxId: inbox.id,
    threadId,
    direction: 'outbound',
    status: 'pending',
    rawId: raw?.id ?? null,
    rfcMessageId: outgoing.rfcMessageId,
    inReplyTo: outgoing.inReplyTo,
    references: JSON.stringify(outgoing.references),
    mailFrom: outgoing.mailFrom,
    trace: '',
    fromAddr: outgoing.fromAddr,
    toAddr: to[0]!.address,
    headerTo: to.length > 1 ? addressesOf(to).join(', ') : null,
    deliveryRole: null,
    replyTo: addressees.replyTo,
    cc: JSON.stringify(addressesOf(cc)),
    bcc: JSON.stringify(addressesOf(bcc)),
    addressNames: names === null ? null : JSON.stringify(names),
    subject: outgoing.subject,
    category: outgoing.category,
    autoReplyable: 0,
    verdict: 'clean',
    authentication: JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' }),
    createdAt,
    readingId: id,
    fromProven: null,
    isNewInThread: null,
    autoReplyReason: null,
  }
  await insertReading(db, { id, ...reading })
  const { thread } = outgoing
  const before = thread ? await participantsOf(db, thread) : new Set<string>()
  const participants = writeParticipants(withMessage(before, row, thread === undefined))
  if (thread) await addMessageToThread(db, threadId, { createdAt, isRead: true, participants })
  else await insertUncountedThreads(db, [{ ...beginningThread(threadId, outgoing, createdAt), participants }])
  const attachmentBytes = outgoing.attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  await insertMessage(db, { row, inbox, attachmentBytes, storedBytes: raw?.sizeBytes ?? 0 })
  const deliveries = addressees.all.map(recipient => ({
    id: app.ids.next(),
    messageId: id,
    recipient,
    rcptTo: addressees.written.get(recipient),
    notify: outgoing.notify?.get(recipient),
    purpose: outgoing.purpose ?? 'send',
    // None for the null reverse-path.
    mailFrom: outgoing.mailFrom === '' ? null : newReversePath(outgoing.mailFrom),
  }))
  await putDeliveries(app, db, inbox, deliveries, outgoing.date)
  return threadId
}

function addressesOf(people: readonly Mailbox[]): string[] {
  return people.map(({ address }) => address)
}

function beginningThread(
  id: string,
  { inbox, subject }: Outgoing,
  createdAt: string,
): Omit<ThreadRow, 'participants'> {
  const inboxId = inbox.id
  return {
    id,
    inboxId,
    subject,
    isRead: 1,
    messageCount: 1,
    lastMessageAt: createdAt,
    createdAt,
    conversation: null,
  }
}

/** A message on its way to one recipient; without a `mailFrom` of its own, under the message's. */
export type NewDelivery = Pick<DeliveryRow, 'id' | 'messageId' | 'recipient' | 'purpose' | 'mailFrom'> & {
  /** The recipient as it was written, where that differs. */
  readonly rcptTo?: string | undefined
  readonly notify?: string | undefined
}

/** Writes deliveries of mail of an inbox and has the queue carry them, from `at` on until they are given up. */
export async function putDeliveries(
  app: App,
  db: WriteDb,
  inbox: Pick<InboxRow, 'id' | 'podId'>,
  deliveries: readonly NewDelivery[],
  at: Date,
): Promise<void> {
  const createdAt = at.toISOString()
  await insertDeliveries(
    db,
    deliveries.map(({ id, messageId, recipient, purpose, mailFrom, rcptTo, notify }) => ({
      id,
      messageId,
      recipient,
      state: 'queued',
      captured: 0,
      attempts: 0,
      replyCode: null,
      replyEnhanced: null,
      replyText: null,
      replyClass: null,
      remoteHost: null,
      nextAttemptAt: createdAt,
      createdAt,
      updatedAt: createdAt,
      purpose,
      mailFrom,
      heldBy: null,
      rcptTo: rcptTo ?? null,
      notify: notify ?? null,
      noticeAt: null,
    })),
  )
  const expiresAt = isoAfter(at, durationMs(app.config.delivery.give_up_after))
  await app.queue.put(
    db,
    deliveries.map(({ id, recipient }) => ({
      kind: 'delivery' as const,
      subjectId: id,
      destination: domainOf(recipient),
      podId: inbox.podId,
      inboxId: inbox.id,
      expiresAt,
    })),
  )
}

/**
 * A reverse-path for one delivery of mail from this address. A bounce to it speaks of that delivery, and nobody else can
 * know it.
 */
function newReversePath(address: string): string {
  return formatVerp(randomBase36(verpTokenLength), domainOf(address))
}
