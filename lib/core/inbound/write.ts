import { isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { Reply } from '../../base/reply.ts'
import { sizeOf } from '../../blob/content.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { parentCandidates } from '../../mail/message/thread.ts'
import type { Reading } from '../../reading/reading.ts'
import { putContacts } from '../../store/contacts.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { findInbox } from '../../store/inboxes.ts'
import { findThreadIdByMessageId, insertMessage, insertReading } from '../../store/messages.ts'
import { insertRaw } from '../../store/raws.ts'
import { createWordBudget, type WordBudget } from '../../store/search/word-budget.ts'
import { indexTokens, type SearchWords } from '../../store/search/words.ts'
import type { InboxRow, MessageRow, ReadingRow, ThreadRow } from '../../store/tables.ts'
import { addMessageToThread, findThread, insertThread } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import { recordEvent } from '../events/record.ts'
import { forwardReceived } from '../forwarding/copy.ts'
import { recordRefused } from './admission.ts'
import type { Accepted, Reception } from './arrival.ts'
import { recordReturned } from './bounces.ts'
import type { Recipient } from './recipient.ts'
import { traceFields } from './trace.ts'

/** What one message is written from. */
type Read = Accepted & Pick<Reception, 'rawId' | 'returned'>

/**
 * The rows that a reception becomes, in the caller's write; gives the ids of the messages.
 * @throws Reply 550 5.1.1 when its inboxes were deleted meanwhile
 */
export async function writeReception(app: App, db: WriteDb, reception: Reception): Promise<string[]> {
  const { rawId, refused, returned, becomes } = reception
  await recordRefused(app, db, refused)
  await recordReturned(app, db, returned)
  return 'nothing' in becomes ? [] : writeMessages(app, db, { ...becomes, rawId, returned })
}

async function writeMessages(app: App, db: WriteDb, read: Read): Promise<string[]> {
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
  await insertReading(db, readingRow(read))
  const ids: string[] = []
  const budget = createWordBudget()
  // Several forward-paths may lead to one inbox (user, user+tag): it gets one message.
  const reached = new Map(recipients.map(recipient => [recipient.inboxId, recipient]))
  for (const recipient of reached.values()) {
    const inbox = await findInbox(db, recipient.inboxId)
    // None: deleted between RCPT and now.
    if (inbox) ids.push(await writeMessage(app, db, { ...read, budget }, recipient, inbox, createdAt))
  }
  if (ids.length === 0) throw new Reply(550, '5.1.1', 'There is no such mailbox here')
  return ids
}

async function writeMessage(
  app: App,
  db: WriteDb,
  read: Read & { readonly budget: WordBudget },
  recipient: Recipient,
  inbox: InboxRow,
  now: Date,
): Promise<string> {
  const { arrival, rawId, authentication, judged } = read
  const parsed = read.reading.message
  const createdAt = isoAfter(now, 0)
  const id = app.ids.next()
  const threadId = read.returned.threadIds.get(inbox.id)
  const own = threadId === undefined ? undefined : await findThread(db, threadId)
  const thread = own ?? (await findOrMakeThread(app, db, inbox, parsed, createdAt))
  const to = parsed.to.map(mailbox => mailbox.address)
  const cc = parsed.cc.map(mailbox => mailbox.address)
  // Nobody knows who asks for replies there: they go to the author, who is proven. The raw has the field.
  const replyTo = read.reading.authentication?.isReplyToDoubtful ? [] : parsed.replyTo
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
    trace: traceFields({
      arrival,
      recipient,
      id,
      hostname: app.config.hostname,
      date: now,
      results: read.results,
    }),
    fromAddr: parsed.from?.address ?? arrival.mailFrom,
    toAddr: inbox.address,
    headerTo: addressesOf(parsed.to),
    deliveryRole: roleOf(recipient, to, cc),
    replyTo: addressesOf(replyTo.slice(0, limits.replyToAddresses)),
    cc: JSON.stringify(cc),
    bcc: '[]',
    addressNames: parsed.addressNames === null ? null : JSON.stringify(parsed.addressNames),
    subject: parsed.subject,
    category: judged.category,
    autoReplyable: judged.autoReplyable ? 1 : 0,
    verdict: judged.verdict,
    authentication: JSON.stringify(authentication),
    createdAt,
    readingId: rawId,
  }
  const indexed = { words: wordsOf(read.reading.words, row), hasAttachments: parsed.attachments.length > 0 }
  await insertMessage(db, row, indexed, read.budget)
  await addMessageToThread(db, thread, { createdAt, isRead: false })
  // A sender is an acquaintance from now on; but a message that may be forged proves nothing about who it names.
  const from = judged.verdict === 'clean' ? normaliseAddress(row.fromAddr) : undefined
  if (from !== undefined) await putContacts(db, inbox.id, [from], createdAt)
  const subject = { podId: inbox.podId, inboxId: inbox.id, threadId: thread.id, messageId: id }
  notice(db, 'mail', inbox.id)
  // An agent reads what it is told of at once: what is malicious stands in the lists, for who looks.
  if (judged.verdict === 'malicious' && !app.config.scanner.tell_malicious) return id
  const endpoint = await recordEvent(app, db, 'message.received', subject)
  await forwardReceived(app, db, inbox, row, recipient, endpoint)
  return id
}

/** Who is named nowhere in the header was written to all the same. */
function wordsOf(words: SearchWords, { headerTo, toAddr }: MessageRow): SearchWords {
  if (headerTo !== null) return words
  return { ...words, to: `${indexTokens(toAddr).join(' ')} ${words.to}`.trimEnd() }
}

function readingRow({ rawId, reading: { message, extracted } }: Read): ReadingRow {
  return {
    id: rawId,
    bodyText: message.text,
    bodyHtml: message.html,
    attachments: JSON.stringify(
      message.attachments.map(({ filename, contentType, sizeBytes }) => ({
        filename,
        contentType,
        sizeBytes,
      })),
    ),
    extracted,
    parseProblems: JSON.stringify(message.problems),
  }
}

/** As the header names the inbox; null where it does not: a blind copy, a list. */
function roleOf(recipient: Recipient, to: readonly string[], cc: readonly string[]): 'to' | 'cc' | null {
  const names = [recipient.address, recipient.rcptTo.toLowerCase()]
  const isNamed = (list: readonly string[]) =>
    list.some(
      address => names.includes(address.toLowerCase()) || names.includes(baseAddress(address.toLowerCase())),
    )
  if (isNamed(to)) return 'to'
  return isNamed(cc) ? 'cc' : null
}

/** With a comma between them; null for none. */
function addressesOf(people: readonly Mailbox[]): string | null {
  return people.map(({ address }) => address).join(', ') || null
}

/** The thread of the message's parent in this inbox, or a new one. Never by subject. */
async function findOrMakeThread(
  app: App,
  db: WriteDb,
  inbox: InboxRow,
  parsed: Reading['message'],
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
