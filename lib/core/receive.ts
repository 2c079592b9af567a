import { isoAfter } from '../base/clock.ts'
import { type Content, openContent, sizeOf } from '../blob/content.ts'
import { normaliseAddress } from '../mail/address.ts'
import { classify } from '../mail/automatic.ts'
import { type ParsedMessage, parseMessage } from '../mail/parse.ts'
import { Reply } from '../mail/reply.ts'
import { parentCandidates } from '../mail/thread.ts'
import type { Authentication } from '../model/message.ts'
import { putContacts } from '../store/contacts.ts'
import type { Db } from '../store/dialect.ts'
import { findInbox } from '../store/inboxes.ts'
import { findThreadIdByMessageId, insertMessage } from '../store/messages.ts'
import { insertRaw } from '../store/raws.ts'
import type { InboxRow, MessageRow, ThreadRow } from '../store/tables.ts'
import { addMessageToThread, findThread, insertThread } from '../store/threads.ts'
import { admit, recordRefused, rejectRefused } from './admission.ts'
import type { App, Networked } from './app.ts'
import { recordReturned } from './bounces.ts'
import { recordEvent } from './events.ts'
import { extractionColumn } from './extraction.ts'
import { forwardReceived } from './forward.ts'
import { dropFilesOf } from './raws.ts'
import type { Recipient } from './recipient.ts'
import { refuseLocalLoop } from './reply-loop.ts'
import { type Returned, readReturned } from './returned.ts'
import { requireSoundHeader } from './sound-header.ts'
import { traceFields } from './trace.ts'
import { type Judged, judge } from './verdict.ts'

/** A message at the door: who brought it, for whom, and its bytes. */
export interface Arrival {
  /** The session and transaction, to follow the message through the log. */
  readonly sessionId: string
  readonly mailFrom: string
  readonly recipients: readonly Recipient[]
  readonly content: Content
  /** The raw that holds these bytes already, when they are those of a message of ours. */
  readonly rawId?: string
  readonly peer: Peer
}

/** Who brought it: an SMTP client, or our own queue for an inbox of ours. */
export type Peer =
  | {
      readonly kind: 'smtp'
      readonly remoteAddress: string
      readonly helo: string
      /** With the TLS of the session in it: SMTP, ESMTP or ESMTPS (RFC 3848). */
      readonly protocol: string
      readonly tls: string | undefined
    }
  | { readonly kind: 'local' }

/** An arrival that was read and judged, ready to be written. */
export interface Reception {
  readonly rawId: string
  /** In words for the log, when it becomes no message. */
  readonly whyDropped?: string
  /** The rows that it becomes, in the caller's write; gives the ids of the messages. */
  write(db: Db): Promise<string[]>
}

/** Known for what it is by where it came to, whatever its header says. */
const notification = { category: 'bounce', autoReplyable: false, reason: 'returned' } as const

/** What SPF, DKIM and DMARC say of mail from one of our own inboxes, which no network has touched. */
const ownMail: Authentication = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }

/**
 * Takes a message in: authenticates, judges, parses, threads and stores it. When this resolves it is on the disk, and
 * only then may the peer be told 250.
 * @throws Reply when the peer is to be refused. All else that is thrown is a fault of ours: 451.
 */
export async function receive(app: Networked, arrival: Arrival): Promise<string[]> {
  const reception = await prepareReception(app, arrival, app.authenticator)
  try {
    const ids = await app.store.write(db => reception.write(db))
    app.arrivals.tell(arrival.recipients.map(recipient => recipient.inboxId))
    app.log.info(
      {
        sessionId: arrival.sessionId,
        messageIds: ids,
        mailFrom: arrival.mailFrom,
        rcptTos: arrival.recipients.map(recipient => recipient.rcptTo),
        sizeBytes: sizeOf(arrival.content),
      },
      reception.whyDropped ?? 'message received',
    )
    return ids
  } catch (error) {
    if (arrival.content.kind === 'file') await dropFilesOf(app, error, [reception.rawId])
    throw error
  }
}

/** Everything that needs no write. A large raw is moved to its place here, so that a row may point at it. */
export async function prepareReception(
  app: App,
  arrival: Arrival,
  authenticator: Networked['authenticator'] | undefined,
): Promise<Reception> {
  const header = await requireSoundHeader(arrival.content)
  const { authentication, isAligned } = await authenticate(app, arrival, authenticator)
  const parsed = await parseMessage(
    arrival.content.kind === 'memory' ? arrival.content.bytes : openContent(arrival.content),
  )
  const from = parsed.from?.address ?? null
  const classified = classify({ header, mailFrom: arrival.mailFrom, from, subject: parsed.subject })
  const isBounce = classified.category === 'bounce'
  const returned = await readReturned(app, arrival.recipients, { header, parsed, isBounce })
  const judged = judge(returned.isNotification ? notification : classified, authentication)
  if (parsed.problems.length > 0) {
    app.log.info({ sessionId: arrival.sessionId, problems: parsed.problems }, 'message read with difficulty')
  }
  const rawId = arrival.rawId ?? app.ids.next()
  const recipients = arrival.recipients.filter(recipient => !returned.consumed.has(recipient))
  const admission = await admit(app, recipients, { from, mailFrom: arrival.mailFrom, isAligned })
  // What became of our own mail is noted whoever tells it; nobody reads a refusal of that.
  const isTold = returned.isNotification || returned.complaints.length > 0
  if (!isTold) await rejectRefused(app, admission)
  // Dropped, and nothing of it is kept but that it was, and what it told.
  if (admission.admitted.length === 0) {
    return {
      rawId,
      whyDropped: recipients.length > 0 ? 'message refused by sender rules' : 'notification about a forward',
      async write(db) {
        await recordRefused(app, db, admission)
        await recordReturned(app, db, returned)
        return []
      },
    }
  }
  if (arrival.peer.kind === 'local') await refuseLocalLoop(app, admission.admitted, parsed)
  if (arrival.rawId === undefined && arrival.content.kind === 'file') {
    await app.disk.keep(rawId, arrival.content.path)
  }
  const extracted = extractionColumn(parsed)
  return {
    rawId,
    async write(db) {
      await recordRefused(app, db, admission)
      await recordReturned(app, db, returned)
      const admitted = { ...arrival, recipients: admission.admitted }
      const read = { arrival: admitted, rawId, parsed, extracted, authentication, judged, returned }
      return writeReception(app, db, read)
    },
  }
}

async function authenticate(
  app: App,
  { peer, mailFrom, content }: Arrival,
  authenticator: Networked['authenticator'] | undefined,
): Promise<{ authentication: Authentication; isAligned: boolean }> {
  if (peer.kind === 'local') return { authentication: ownMail, isAligned: true }
  if (!app.config.authentication.check || !authenticator) {
    return { authentication: { spf: 'none', dkim: 'none', dmarc: 'none' }, isAligned: false }
  }
  const { spf, dkim, dmarc, aligned } = await authenticator.authenticate({
    raw: content.kind === 'memory' ? content.bytes : openContent(content),
    remoteAddress: peer.remoteAddress,
    helo: peer.helo,
    mailFrom,
  })
  return { authentication: { spf, dkim, dmarc }, isAligned: aligned }
}

interface Read {
  readonly arrival: Arrival
  readonly rawId: string
  readonly parsed: ParsedMessage
  readonly extracted: string
  readonly authentication: Authentication
  readonly judged: Judged
  readonly returned: Returned
}

async function writeReception(app: App, db: Db, read: Read): Promise<string[]> {
  const { content, recipients } = read.arrival
  const createdAt = app.clock.now()
  if (read.arrival.rawId === undefined) {
    await insertRaw(db, {
      id: read.rawId,
      sizeBytes: sizeOf(content),
      content: content.kind === 'memory' ? content.bytes : null,
      createdAt: createdAt.toISOString(),
    })
  }
  const ids: string[] = []
  // Several forward-paths may lead to one inbox (user, user+tag): it gets one message.
  const reached = new Map(recipients.map(recipient => [recipient.inboxId, recipient]))
  for (const recipient of reached.values()) {
    const inbox = await findInbox(db, recipient.inboxId)
    // None: deleted between RCPT and now.
    if (inbox) ids.push(await writeMessage(app, db, read, recipient, inbox, createdAt))
  }
  if (ids.length === 0) throw new Reply(550, '5.1.1', 'There is no such mailbox here')
  return ids
}

async function writeMessage(
  app: App,
  db: Db,
  read: Read,
  recipient: Recipient,
  inbox: InboxRow,
  now: Date,
): Promise<string> {
  const { arrival, rawId, parsed, authentication, judged } = read
  const createdAt = isoAfter(now, 0)
  const id = app.ids.next()
  const threadId = read.returned.threadIds.get(inbox.id)
  const own = threadId === undefined ? undefined : await findThread(db, threadId)
  const thread = own ?? (await findOrMakeThread(app, db, inbox, parsed, createdAt))
  const to = parsed.to.map(mailbox => mailbox.address)
  const cc = parsed.cc.map(mailbox => mailbox.address)
  const row: MessageRow = {
    id,
    inboxId: inbox.id,
    threadId: thread.id,
    direction: 'inbound',
    status: 'received',
    rawId,
    rfcMessageId: parsed.rfcMessageId,
    inReplyTo: parsed.inReplyTo[0] ?? null,
    references: JSON.stringify(parsed.references),
    mailFrom: arrival.mailFrom,
    trace: traceFields({ arrival, recipient, id, hostname: app.config.hostname, date: now }),
    fromAddr: parsed.from?.address ?? arrival.mailFrom,
    toAddr: inbox.address,
    headerTo: to.length > 0 ? to.join(', ') : null,
    deliveryRole: isCopied(recipient, to, cc) ? 'cc' : 'to',
    replyTo: parsed.replyTo[0]?.address ?? null,
    cc: JSON.stringify(cc),
    bcc: '[]',
    addressNames: parsed.addressNames === null ? null : JSON.stringify(parsed.addressNames),
    subject: parsed.subject,
    bodyText: parsed.text,
    bodyHtml: parsed.html,
    attachments: JSON.stringify(
      parsed.attachments.map(({ filename, contentType, sizeBytes }) => ({
        filename,
        contentType,
        sizeBytes,
      })),
    ),
    category: judged.category,
    autoReplyable: judged.autoReplyable ? 1 : 0,
    verdict: judged.verdict,
    authentication: JSON.stringify(authentication),
    createdAt,
    extracted: read.extracted,
  }
  await insertMessage(db, row)
  await addMessageToThread(db, thread, { createdAt, isRead: false })
  // Who wrote is no stranger; what says itself that it is forged was not written by whom it names.
  const from = judged.verdict === 'clean' ? normaliseAddress(row.fromAddr) : undefined
  if (from !== undefined) await putContacts(db, inbox.id, [from], createdAt)
  const subject = { podId: inbox.podId, inboxId: inbox.id, threadId: thread.id, messageId: id }
  const endpoint = await recordEvent(app, db, 'message.received', subject)
  await forwardReceived(app, db, inbox, row, recipient, endpoint)
  return id
}

/** Copied means: named in Cc and not in To. Who is named in neither (Bcc) was a recipient like any other. */
function isCopied(recipient: Recipient, to: readonly string[], cc: readonly string[]): boolean {
  const names = [recipient.address, recipient.rcptTo.toLowerCase()]
  const isNamed = (list: readonly string[]) => list.some(address => names.includes(address.toLowerCase()))
  return isNamed(cc) && !isNamed(to)
}

/** The thread of the message's parent in this inbox, or a new one. Never by subject. */
async function findOrMakeThread(
  app: App,
  db: Db,
  inbox: InboxRow,
  parsed: ParsedMessage,
  createdAt: string,
): Promise<ThreadRow> {
  for (const candidate of parentCandidates(parsed)) {
    const threadId = await findThreadIdByMessageId(db, inbox.id, candidate)
    const thread = threadId && (await findThread(db, threadId))
    if (thread) return thread
  }
  const thread: ThreadRow = {
    id: app.ids.next(),
    inboxId: inbox.id,
    subject: parsed.subject,
    isRead: 0,
    messageCount: 0,
    lastMessageAt: createdAt,
    createdAt,
  }
  await insertThread(db, thread)
  return thread
}
