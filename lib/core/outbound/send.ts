import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { domainOf } from '../../mail/address/address.ts'
import { dkimField } from '../../mail/compose/dkim.ts'
import { singleLine } from '../../mail/header/text.ts'
import { replySubject, replyThreading } from '../../mail/message/thread.ts'
import type { SendRequest, SendResult } from '../../model/send.ts'
import type { Composition } from '../../rendering/composition.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findLastMessage } from '../../store/messages.ts'
import { insertRaw } from '../../store/raws.ts'
import type { InboxRow, MessageRow, ThreadRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { once } from '../app/idempotency.ts'
import { getInboxRow, getThreadRow } from '../app/reach.ts'
import { dropFilesOf, keepBytes } from '../mailbox/raws.ts'
import { auditingRefusals } from '../policy/check.ts'
import { type Outgoing, signerOf, writeOutgoing } from './composing.ts'
import { requireSendable, takeSendPlaces } from './gate.ts'
import { comparableRequest, quotedBy, readAddressees, readAttachments, storedAttachment } from './request.ts'

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
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  if (key === undefined) return sendNow(app, caller, inboxId, request, async () => {})
  const repeatable = { caller, inbox, key, request: await comparableRequest(request) }
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
  remember: (db: WriteDb, result: SendResult) => Promise<void>,
): Promise<SendResult> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  return auditingRefusals(app, caller, inbox, () => sendFrom(app, caller, inbox, request, remember))
}

async function sendFrom(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  request: SendRequest,
  remember: (db: WriteDb, result: SendResult) => Promise<void>,
): Promise<SendResult> {
  const addressees = readAddressees(request, inbox.address)
  await requireSendable(app, app.store.read, caller, inbox, addressees)
  const attachments = readAttachments(request.attachments ?? [])
  const reply = await findReply(app, caller, inbox, request)
  const id = app.ids.next()
  const date = app.clock.now()
  const header = {
    subject: subjectLine(request, reply?.thread),
    ...(reply?.parent ? replyThreading(readThreading(reply.parent)) : { inReplyTo: null, references: [] }),
  }
  const files = attachments.map(({ filename, content }) => ({ filename, sizeBytes: content.length }))
  const composition: Composition = {
    parts: {
      id,
      messageIdDomain: domainOf(inbox.address),
      date,
      from: { address: inbox.address, name: inbox.displayName },
      to: [addressees.to],
      cc: addressees.cc,
      replyTo: addressees.replyTo,
      ...header,
      attachments,
      autoSubmitted: request.autoSubmitted ?? false,
    },
    text: request.body,
    html: request.bodyHtml,
    quoted: quotedBy(request, reply?.parent),
  }
  const composed = await app.renderer.compose(composition, inbox.id)
  const signature = await dkimField(composed.raw, composed.bodyHash, await signerOf(app, inbox.address, date))
  const message: Omit<Outgoing, 'thread'> = {
    id,
    date,
    inbox,
    fromAddr: inbox.address,
    mailFrom: inbox.address,
    category: 'personal',
    addressees,
    body: composed.body,
    rfcMessageId: composed.rfcMessageId,
    attachments: files.map(({ filename, sizeBytes }, index) =>
      storedAttachment(filename, composed.contentTypes[index]!, sizeBytes, index),
    ),
    ...header,
  }
  const rawId = app.ids.next()
  const sizeBytes = signature.length + composed.raw.length
  const content = await keepBytes(app, rawId, [signature, composed.raw])
  const write = async (db: WriteDb): Promise<SendResult> => {
    // What was permitted and there before it was composed may not be any more.
    await requireSendable(app, db, caller, await getInboxRow(db, caller, inbox.id), addressees)
    const thread = reply && (await getThreadRow(db, caller, reply.thread.id))
    await takeSendPlaces(app, db, inbox, addressees, thread?.id)
    await insertRaw(db, { id: rawId, sizeBytes, content, createdAt: date.toISOString() })
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
  app.log.info(
    { messageId: id, inboxId: inbox.id, keyId: caller.keyId, rcptTos: addressees.all, sizeBytes },
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

function subjectLine(request: SendRequest, thread: ThreadRow | undefined): string {
  if (request.subject !== undefined) return singleLine(request.subject)
  if (!thread) {
    throw invalidRequest('body/subject', 'is required unless threadId makes this a reply')
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
