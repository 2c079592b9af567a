import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import { durationMs } from '../config/duration.ts'
import { domainOf } from '../mail/address.ts'
import { composeMessage } from '../mail/compose.ts'
import { signDkim } from '../mail/dkim.ts'
import { singleLine } from '../mail/header-text.ts'
import { replySubject, replyThreading } from '../mail/thread.ts'
import type { SendRequest, SendResult } from '../model/send.ts'
import { insertDeliveries } from '../store/deliveries.ts'
import type { Db } from '../store/dialect.ts'
import { findDomain } from '../store/domains.ts'
import { findLastMessage, insertMessage } from '../store/messages.ts'
import { insertRaw } from '../store/raws.ts'
import type { DeliveryRow, InboxRow, MessageRow, ThreadRow } from '../store/tables.ts'
import { addMessageToThread, insertThread } from '../store/threads.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import { once } from './idempotency.ts'
import { getInboxRow } from './inboxes.ts'
import type { StoredAttachment } from './messages.ts'
import { dropFilesOf, keepBytes } from './raws.ts'
import { newReversePath } from './reverse-path.ts'
import { type Addressees, readAddressees } from './send-addressees.ts'
import { readAttachments, storedAttachment } from './send-attachments.ts'
import { type Body, bodyOf } from './send-body.ts'
import { requireSendable, takeSendPlaces } from './send-gate.ts'
import { getThreadRow } from './threads.ts'

/**
 * Sends a message from an inbox, once for an idempotency key: composed, signed and durable when this resolves; carried
 * by the queue after that.
 * @param key undefined where the setting idempotency.required is off and the client gave none
 * @throws Problem `not_found`, `invalid_request`, `recipient_is_sender`, `attachments_too_large`, `idempotency_key_conflict`;
 * as `requireSendable` and `takeSendPlaces`
 */
export async function send(
  app: App,
  caller: Caller,
  inboxId: string,
  request: SendRequest,
  key: string | undefined,
): Promise<SendResult> {
  // Before the key is looked up: what was answered to another inbox's key is no one else's to read.
  await getInboxRow(app.store.read, caller, inboxId)
  if (key === undefined) return sendNow(app, caller, inboxId, request, async () => {})
  const repeatable = { caller, key, request: { inboxId: inboxId.toLowerCase(), request } }
  return once(app, repeatable, remember => sendNow(app, caller, inboxId, request, remember))
}

/**
 * Sends a message, as often as it is asked to.
 * @param remember notes the result in the write that makes it true; what it throws undoes the send
 */
export async function sendNow(
  app: App,
  caller: Caller,
  inboxId: string,
  request: SendRequest,
  remember: (db: Db, result: SendResult) => Promise<void>,
): Promise<SendResult> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const addressees = readAddressees(request, inbox.address)
  await requireSendable(app, caller, inbox, addressees)
  const attachments = readAttachments(request.attachments ?? [])
  const reply = await findReply(app, caller, inbox, request)
  const id = app.ids.next()
  const date = app.clock.now()
  const body = bodyOf(request, reply?.parent)
  const header = {
    subject: subjectOf(request, reply?.thread),
    ...(reply?.parent ? replyThreading(readThreading(reply.parent)) : { inReplyTo: null, references: [] }),
  }
  const composed = await composeMessage({
    id,
    messageIdDomain: domainOf(inbox.address),
    date,
    from: { address: inbox.address, name: inbox.displayName },
    to: [addressees.to],
    cc: addressees.cc,
    replyTo: addressees.replyTo,
    ...header,
    text: body.text,
    html: body.html,
    attachments,
    autoSubmitted: request.autoSubmitted ?? false,
  })
  const raw = await sign(app, inbox, composed.raw, date)
  const message: Omit<Outgoing, 'thread'> = {
    id,
    date,
    inbox,
    addressees,
    body,
    rfcMessageId: composed.rfcMessageId,
    attachments: attachments.map(storedAttachment),
    ...header,
  }
  const rawId = app.ids.next()
  const content = await keepBytes(app, rawId, raw)
  const write = async (db: Db): Promise<SendResult> => {
    // They may have been deleted meanwhile.
    await getInboxRow(db, caller, inbox.id)
    const thread = reply && (await getThreadRow(db, caller, reply.thread.id))
    await takeSendPlaces(app, db, inbox, addressees, thread?.id)
    await insertRaw(db, { id: rawId, sizeBytes: raw.length, content, createdAt: date.toISOString() })
    const threadId = await writeOutgoing(app, db, { ...message, thread }, rawId)
    const sent: SendResult = {
      messageId: id,
      threadId,
      providerMessageId: composed.rfcMessageId,
      status: 'pending',
    }
    await remember(db, sent)
    return sent
  }
  const result = await app.store.write(write).catch(async error => {
    if (content === null) await dropFilesOf(app, error, [rawId])
    throw error
  })
  app.queue.tell('delivery')
  app.log.info(
    { messageId: id, inboxId: inbox.id, keyId: caller.keyId, rcptTos: addressees.all, sizeBytes: raw.length },
    'message queued',
  )
  return result
}

/** The thread that is answered and its newest message. @throws Problem `not_found` for a thread of another inbox */
async function findReply(app: App, caller: Caller, inbox: InboxRow, request: SendRequest) {
  if (request.threadId === undefined) return undefined
  const thread = await getThreadRow(app.store.read, caller, request.threadId)
  if (thread.inboxId !== inbox.id) throw new Problem('not_found', 'This inbox has no such thread.')
  return { thread, parent: await findLastMessage(app.store.read, thread.id) }
}

function subjectOf(request: SendRequest, thread: ThreadRow | undefined): string {
  if (request.subject !== undefined) return singleLine(request.subject)
  if (!thread) {
    const message = 'subject is required unless threadId makes this a reply.'
    throw new Problem('invalid_request', message, { details: [{ path: '/subject', message }] })
  }
  return replySubject(thread.subject).slice(0, limits.subjectLength)
}

function readThreading(parent: MessageRow) {
  return {
    rfcMessageId: parent.rfcMessageId,
    references: JSON.parse(parent.references) as string[],
    inReplyTo: parent.inReplyTo,
  }
}

async function sign(app: App, inbox: InboxRow, raw: Buffer, signedAt: Date): Promise<Buffer> {
  const domain = await findDomain(app.store.read, domainOf(inbox.address))
  // Never unsigned: what can't be signed is a fault of ours, and the request can be repeated.
  if (!domain) throw new Error(`no domain row for ${inbox.address}`)
  return signDkim(raw, {
    domain: domain.domain,
    selector: domain.selector,
    privateKeyPem: domain.dkimPrivateKey,
    signedAt,
  })
}

/** All that the rows of one outgoing message are made of. */
interface Outgoing {
  readonly id: string
  readonly date: Date
  readonly inbox: InboxRow
  readonly addressees: Addressees
  readonly body: Body
  readonly rfcMessageId: string
  readonly attachments: readonly StoredAttachment[]
  readonly subject: string
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  readonly thread: ThreadRow | undefined
}

/** Writes the message, its thread, one delivery for each recipient and their queue entries; gives the thread's id. */
async function writeOutgoing(app: App, db: Db, outgoing: Outgoing, rawId: string): Promise<string> {
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
    mailFrom: inbox.address,
    trace: '',
    fromAddr: inbox.address,
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
    category: 'personal',
    autoReplyable: 0,
    verdict: 'clean',
    authentication: JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' }),
    createdAt,
    extracted: null,
  })
  // Answering marks the thread read; so does having begun it.
  await addMessageToThread(db, thread, { createdAt, isRead: true })
  const deliveries = addressees.all.map(
    (recipient): DeliveryRow => ({
      id: app.ids.next(),
      messageId: id,
      recipient,
      state: 'queued',
      captured: 0,
      attempts: 0,
      replyCode: null,
      replyEnhanced: null,
      replyText: null,
      remoteHost: null,
      nextAttemptAt: createdAt,
      createdAt,
      updatedAt: createdAt,
      purpose: 'send',
      mailFrom: newReversePath(inbox.address),
    }),
  )
  await insertDeliveries(db, deliveries)
  const expiresAt = isoAfter(outgoing.date, durationMs(app.config.delivery.give_up_after))
  await app.queue.put(
    db,
    deliveries.map(delivery => ({
      kind: 'delivery' as const,
      subjectId: delivery.id,
      destination: domainOf(delivery.recipient),
      expiresAt,
    })),
  )
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
