import { isId } from '../../base/ids.ts'
import { subjectLength } from '../../base/lengths.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { domainOf } from '../../mail/address/address.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { singleLine } from '../../mail/header/text.ts'
import { replySubject, replyThreading } from '../../mail/message/thread.ts'
import type { ForwardRequest, SendRequest, SendResult } from '../../model/send.ts'
import type { Composition } from '../../rendering/composition.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { leaveInserts } from '../../store/dialect/left-rows.ts'
import { type AnswerableRow, findWholeMessage, listAnswerable } from '../../store/messages.ts'
import { insertRaw } from '../../store/raws.ts'
import type { InboxRow, MessageRow, ThreadRow, WholeMessage } from '../../store/tables.ts'
import { findThread } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { once } from '../app/idempotency.ts'
import { getInboxRow, getMessageRow, getThreadRow, getWholeMessage, requireReachable } from '../app/reach.ts'
import { inServerTime, mailStorageMs } from '../app/server-time.ts'
import { isParticipant, type Participants, participantsOf } from '../mailbox/participants.ts'
import { dropFilesOf, keepBytes } from '../mailbox/raws.ts'
import { auditingRefusals } from '../policy/check.ts'
import { chooseAddressees, readNamed } from './addressees.ts'
import { countOutgoing, type Outgoing, signerOf, writeOutgoing } from './composing.ts'
import { type Derived, deriveRecipients, nobody } from './correspondents.ts'
import { type Forwarded, type Forwarding, openForwarded } from './forwarded.ts'
import { requireSendable, takeSendPlaces } from './gate.ts'
import type { Person } from './person.ts'
import { comparableRequest, quotedBy, readAttachments, requireSmall, storedAttachment } from './request.ts'

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
  // No thread has such a name: the key is left for the request that was meant.
  if (request.threadId !== undefined && !isId(request.threadId)) throw noSuchThread()
  const comparable = await comparableRequest(request)
  return sendOnce(app, caller, inbox, { request }, key, comparable)
}

type MessageBody = Omit<SendRequest, 'threadId'>

/**
 * Answers a message, in its thread: as `send` does with a threadId, but to whom this message wants it.
 * @param request with `replyAll`, to everybody
 * @throws Problem as `send`
 */
export async function replyToMessage(
  app: App,
  caller: Caller,
  messageId: string,
  request: MessageBody,
  key: string | undefined,
): Promise<SendResult> {
  const { id, inboxId, threadId } = await getMessageRow(app.store.read, caller, messageId)
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const comparable = { answers: id, request: await comparableRequest(request) }
  return sendOnce(app, caller, inbox, { request: { ...request, threadId }, answers: id }, key, comparable)
}

/**
 * Passes a message on, in a thread of its own: whom it goes to is no part of the conversation that it comes from.
 * @throws Problem `malicious_message`; as `send`
 */
export async function forwardMessage(
  app: App,
  caller: Caller,
  messageId: string,
  { asAttachment = false, includeMalicious = false, body = '', ...rest }: ForwardRequest,
  key: string | undefined,
): Promise<SendResult> {
  const { id, inboxId } = await getMessageRow(app.store.read, caller, messageId)
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  // Left out where it says nothing, as in requests of before there was the word.
  const forwards = { messageId: id, asAttachment, ...(includeMalicious && { includeMalicious }) }
  const comparable = { forwards, body, request: await comparableRequest(rest) }
  return sendOnce(app, caller, inbox, { request: { ...rest, body }, forwards }, key, comparable)
}

/** What is sent: what the client asks for, and the message that it answers or passes on. */
interface Sending {
  readonly request: SendRequest
  /** The message that the request names as the answered one; without it the thread decides. */
  readonly answers?: string
  readonly forwards?: Forwarding
  /** The derived recipients that somebody saw and agreed to: the message reaches them or nobody. */
  readonly expected?: Derived | undefined
  /** What the inbox stores less of when it is sent, in KiB: the attachments of its draft. */
  readonly freesKiB?: number
}

async function sendOnce(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  sending: Sending,
  key: string | undefined,
  comparable: unknown,
): Promise<SendResult> {
  const sendSo = (remembering: Remembering) =>
    sendNow(app, caller, inbox, sending, { ...remembering, isOrderless: true })
  if (key === undefined) return sendSo({ remember: async () => {} })
  return once(app, { caller, inbox, key, request: comparable }, sendSo)
}

/** What else is done in the write of a send. */
export interface Remembering {
  /** Notes the result in the write that makes it true; what it throws undoes the send. */
  remember(db: WriteDb, result: SendResult): Promise<void>
  /** What it decides about, as `Held` has it. */
  readonly names?: readonly string[]
  /** Whether it is, as `Held` has it. A send in a thread that exists is not, whatever this says. */
  readonly isOrderless?: boolean
}

/**
 * Sends a message, as often as it is asked to.
 * @param inbox as it was read just now; the write reads it again
 */
export async function sendNow(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  sending: Sending,
  remembering: Remembering,
): Promise<SendResult> {
  return auditingRefusals(app, caller, inbox, () => sendFrom(app, caller, inbox, sending, remembering))
}

async function sendFrom(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  sending: Sending,
  remembering: Remembering,
): Promise<SendResult> {
  const { request } = sending
  const reply = await findReply(app.store.read, caller, inbox, sending)
  requireExpected(sending, reply)
  const addressees = chooseAddressees(readNamed(request), inbox.address, reply?.derived)
  const { freesKiB = 0 } = sending
  const withRoom = (row: InboxRow) => ({ ...row, storedKiB: row.storedKiB - freesKiB })
  await requireSendable(app, app.store.read, caller, withRoom(inbox), addressees)
  const forwarded = sending.forwards && (await openForwarded(app, caller, sending.forwards))
  const attachments = [...readAttachments(request.attachments ?? []), ...(forwarded?.attachments ?? [])]
  requireSmall(attachments)
  const id = app.ids.next()
  const date = app.clock.now()
  const header = {
    subject: subjectLine(request, reply?.thread, forwarded),
    ...(reply?.parent ? replyThreading(readThreading(reply.parent)) : { inReplyTo: null, references: [] }),
  }
  const files = attachments.map(({ filename, content }) => ({ filename, sizeBytes: content.length }))
  const composition: Composition = {
    parts: {
      id,
      messageIdDomain: domainOf(inbox.address),
      date,
      from: { address: inbox.address, name: inbox.displayName },
      to: addressees.to.map(asWritten),
      cc: addressees.cc.map(asWritten),
      replyTo: addressees.replyTo,
      ...header,
      attachments,
      autoSubmitted: request.autoSubmitted ?? false,
    },
    text: request.body,
    html: request.bodyHtml,
    format: request.bodyFormat ?? 'auto',
    quoted: quotedBy(request, reply?.parent),
    forwarded: forwarded?.below ?? null,
    signer: await signerOf(app, inbox.address, date),
  }
  const composed = await app.renderer.compose(composition, inbox.id)
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
  const sizeBytes = composed.signature.length + composed.raw.length
  const permit = async (db: WriteDb) => {
    // What was permitted and there before it was composed may not be any more.
    const thread = reply && (await findThread(db, reply.thread.id))
    if (reply && !thread) throw noSuchThread()
    const sender = requireReachable(caller, await countOutgoing(db, inbox.id, thread, { date, sizeBytes }))
    await requireSendable(app, db, caller, withRoom(sender), addressees)
    if (sending.expected) requireExpected(sending, await findReply(db, caller, inbox, sending))
    return { sender, thread }
  }
  const notIncluded = reply?.derived.notIncluded ?? []
  const { isOrderless = false } = remembering
  return queueMessage(app, caller, { message, notIncluded, ...composed }, permit, {
    ...remembering,
    isOrderless: isOrderless && reply === undefined,
  })
}

/** Who sends, counted in the write (`countOutgoing`), and the thread that the message is a reply in. */
export interface Permitted {
  readonly sender: InboxRow
  readonly thread: ThreadRow | undefined
}

/** A message that is ready to be sent: its bytes, and all that its rows are made of but its thread. */
export interface Ready {
  readonly message: Omit<Outgoing, 'thread'>
  readonly raw: Buffer
  /** The DKIM-Signature fields, which stand before `raw`. */
  readonly signature: Buffer
  /** Addresses that the answered message names and that a derived reply leaves out. */
  readonly notIncluded: readonly string[]
}

/**
 * Has a message on the disk with one delivery for each recipient when this resolves.
 * @param permit asked in the write; what it throws undoes the send
 * @throws Problem as `takeSendPlaces`
 */
export async function queueMessage(
  app: App,
  caller: Caller,
  { message, raw, signature, notIncluded }: Ready,
  permit: (db: WriteDb) => Promise<Permitted>,
  { remember, names = [], isOrderless = false }: Remembering,
): Promise<SendResult> {
  const { id, inbox, date, addressees } = message
  const rawId = app.ids.next()
  const kept = await keepBytes(app, rawId, [signature, raw])
  const { sizeBytes } = kept
  let isGivenUp = false
  const write = async (db: WriteDb): Promise<SendResult> => {
    if (isGivenUp) throw new Error('its sender was told to try again, and nobody waits for it')
    const { sender, thread } = await permit(db)
    await takeSendPlaces(app, db, inbox, addressees, thread?.id)
    // Its thread, its message and its deliveries are known to nobody yet.
    if (isOrderless) leaveInserts(db)
    await insertRaw(db, { id: rawId, ...kept, createdAt: date.toISOString() })
    const threadId = await writeOutgoing(
      app,
      db,
      { ...message, inbox: sender, thread },
      { id: rawId, sizeBytes },
    )
    const providerMessageId = message.rfcMessageId
    const sent: SendResult = {
      messageId: id,
      threadId,
      providerMessageId,
      status: 'pending',
      to: addressesOf(addressees.to),
      cc: addressesOf(addressees.cc),
      bcc: addressesOf(addressees.bcc),
      notIncluded: [...notIncluded],
    }
    await remember(db, sent)
    return sent
  }
  const written = app.store.writeHolding(() => ({ inboxes: [inbox.id], names, isOrderless }), write)
  const result = await inServerTime(app, written, mailStorageMs).catch(async error => {
    isGivenUp = true
    if (kept.content === null) await dropFilesOf(app, error, [rawId])
    throw error
  })
  app.meter.count('messages_queued_total')
  app.log.info(
    { messageId: id, inboxId: inbox.id, keyId: caller.keyId, rcptTos: addressees.all, sizeBytes },
    'message queued',
  )
  return result
}

function noSuchThread(): Problem {
  return new Problem('not_found', 'This inbox has no such thread.')
}

function asWritten({ address, name, written = address }: Person): Mailbox {
  return { address: written, name }
}

function addressesOf(people: readonly Person[]): string[] {
  return people.map(person => asWritten(person).address)
}

/** What a reply answers, and whom that leads it to. */
interface Answering {
  readonly thread: ThreadRow
  /** The message that the reply comes after, and quotes. */
  readonly parent: WholeMessage | undefined
  /** Nobody if the request names recipients itself. */
  readonly derived: Derived
}

/** What is answered. @throws Problem `not_found` for a thread of another inbox, or a message that is gone; `too_many_recipients` */
export async function findReply(
  db: Db,
  caller: Caller,
  inbox: Pick<InboxRow, 'id' | 'address'>,
  {
    request,
    answers,
  }: { readonly request: Pick<SendRequest, 'threadId' | 'to' | 'replyAll'>; readonly answers?: string },
): Promise<Answering | undefined> {
  const isToAll = request.replyAll ?? false
  if (request.threadId === undefined) {
    if (isToAll) throw invalidRequest('body/replyAll', 'is for replies: it needs a threadId')
    return undefined
  }
  const thread = await getThreadRow(db, caller, request.threadId)
  if (thread.inboxId !== inbox.id) throw noSuchThread()
  const isNamed = request.to !== undefined && request.to.length > 0
  const derive = (message: WholeMessage, participants: Participants | null) =>
    isNamed ? nobody : deriveRecipients(message, inbox.address, { isToAll, participants })
  if (answers !== undefined) {
    const parent = await getWholeMessage(db, caller, answers)
    return { thread, parent, derived: derive(parent, null) }
  }
  const participants = await participantsOf(db, thread)
  const { parentId, answeredId } = chooseAnswered(await listAnswerable(db, thread.id), participants)
  const parent = parentId === undefined ? undefined : await findWholeMessage(db, parentId)
  const answered =
    answeredId === undefined || answeredId === parentId ? parent : await findWholeMessage(db, answeredId)
  return { thread, parent, derived: answered ? derive(answered, participants) : nobody }
}

/**
 * Chooses the messages of a thread that a reply by thread comes after (the newest of ours or of a participant) and answers (the
 * newest that a participant wrote in person, else our own newest). Anyone who knows a Message-ID can write into a thread, also
 * in the name of a participant. So what others wrote is passed over as long as there is anything else, and what is not proven
 * as long as there is something proven.
 * @param rows newest first
 */
function chooseAnswered(
  rows: readonly AnswerableRow[],
  participants: Participants,
): { readonly parentId: string | undefined; readonly answeredId: string | undefined } {
  const ours = rows.filter(row => row.direction === 'outbound')
  const theirs = rows.filter(row => row.direction === 'inbound' && isParticipant(participants, row))
  const clean = theirs.filter(row => row.verdict === 'clean')
  const proven = clean.filter(row => row.fromProven !== 0)
  const trusted = proven.length > 0 ? proven : clean
  const answered = trusted.find(row => row.category === 'personal') ?? ours[0] ?? trusted[0] ?? theirs[0]
  const parent = rows.find(row => row.direction === 'outbound' || trusted.includes(row)) ?? answered
  return { parentId: parent?.id, answeredId: answered?.id }
}

/** @throws Problem `recipients_changed` if a reply would now reach others than those that were agreed to */
function requireExpected({ expected }: Sending, reply: Answering | undefined): void {
  if (!expected) return
  const now = reply?.derived ?? nobody
  const listed = ({ to, cc }: Derived) => ({ to: addressesOf(to), cc: addressesOf(cc) })
  const compared = ({ to, cc }: Derived) =>
    JSON.stringify([to, cc].map(people => people.map(({ address }) => address).toSorted()))
  if (compared(expected) === compared(now)) return
  throw new Problem('recipients_changed', undefined, { was: listed(expected), now: listed(now) })
}

function subjectLine(
  request: SendRequest,
  thread: ThreadRow | undefined,
  forwarded: Forwarded | undefined,
): string {
  if (request.subject !== undefined) return singleLine(request.subject)
  if (forwarded) return forwarded.subject
  if (!thread) throw invalidRequest('body/subject', 'is required unless threadId makes this a reply')
  return replySubject(thread.subject).slice(0, subjectLength)
}

function readThreading(parent: MessageRow) {
  return {
    rfcMessageId: parent.rfcMessageId,
    references: JSON.parse(parent.references) as string[],
    inReplyTo: parent.inReplyTo,
  }
}
