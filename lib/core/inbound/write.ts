import { Reply } from '../../base/reply.ts'
import { isoAfter } from '../../base/time.ts'
import { sizeOf } from '../../blob/content.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { derivedRecipientsOfAll } from '../../model/message.ts'
import { insertContacts } from '../../store/contacts.ts'
import { addToDay } from '../../store/daily-usage.ts'
import { together, type WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { type CountedInbox, countInInboxes, kibOf, messageDate } from '../../store/inboxes.ts'
import { insertReadings, insertUncountedMessages, listReceivedAs } from '../../store/messages.ts'
import { insertRaws } from '../../store/raws.ts'
import type { InboxRow, MessageRow, ReadingRow, ThreadRow } from '../../store/tables.ts'
import { addUnreadToThread, insertUncountedThreads } from '../../store/threads.ts'
import { endpointOf } from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'
import { recordEvents } from '../events/record.ts'
import { forwardReceived } from '../forwarding/copy.ts'
import {
  isParticipant,
  type Participants,
  participantsOf,
  withMessage,
  writeParticipants,
} from '../mailbox/participants.ts'
import { findOrMakeThread, type Threads } from '../mailbox/threading.ts'
import { type NewMessage, refuseOverQuota } from '../quota/storage.ts'
import { recordRefused } from './admission.ts'
import type { Accepted, Reception } from './arrival.ts'
import { recordReturned } from './bounces.ts'
import type { Recipient } from './recipient.ts'
import { traceFields } from './trace.ts'

/** What one message is written from. */
type Read = Accepted & Pick<Reception, 'rawId' | 'returned'>

/** What came of one reception: the ids of its messages; or the reply that refuses it, because its inboxes were deleted or filled meanwhile. */
export type Written = { readonly ids: string[] } | { readonly refusal: Reply }

/** One message on its way to one inbox, with the thread that it comes to there. */
interface Coming {
  readonly read: Read
  readonly recipient: Recipient
  readonly thread: ThreadRow
}

/** Which inboxes get a reception as a new message, and which of its messages (by inbox) were stored before. */
interface Deliverable {
  readonly recipients: readonly Recipient[]
  readonly repeated: ReadonlyMap<string, string>
}

/** The same on its way into the database. */
interface Arriving extends Coming {
  readonly inbox: CountedInbox
  readonly row: MessageRow
}

/**
 * The rows that receptions become, in the caller's write. What comes together is written together, each table by few
 * statements: running one costs as much as what it does.
 * @returns what came of each, in their order
 */
export async function writeReceptions(
  app: App,
  db: WriteDb,
  receptions: readonly Reception[],
): Promise<Written[]> {
  const now = app.clock.now()
  const threads: Threads = { begun: new Map(), continued: new Map(), byMessageId: new Map() }
  const received = await findReceived(db, receptions, now)
  const deliverable: Deliverable[] = []
  for (const reception of receptions) {
    const repeated = findRepeated(app, reception, received)
    deliverable.push({ repeated, recipients: recipientsOf(reception, repeated) })
  }
  const overQuota = await refuseOverQuota(app, db, sizesOf(receptions, deliverable))
  const coming: Coming[][] = []
  for (const [index, reception] of receptions.entries()) {
    const recipients = overQuota[index] ? [] : deliverable[index]!.recipients
    coming.push(await findThreads(app, db, reception, recipients, now, threads))
  }
  const messages = countBy(coming.flat().map(({ recipient }) => recipient.inboxId))
  const inboxes = await countAll(db, messages, sumSizes(coming.flat()), threads, now)
  const arriving: Arriving[] = []
  const reads: Read[] = []
  const written: Written[] = []
  for (const [index, { refused, returned, becomes }] of receptions.entries()) {
    // An inbox that was deleted since RCPT gets none.
    const there = coming[index]!.filter(({ recipient }) => inboxes.has(recipient.inboxId))
    const ids = [...deliverable[index]!.repeated.values()]
    const refusal = overQuota[index]
    if (refusal) {
      written.push({ refusal })
      continue
    }
    if (there.length === 0 && ids.length > 0) {
      await recordRefused(app, db, refused)
      written.push({ ids })
      continue
    }
    if (!('nothing' in becomes) && there.length === 0) {
      written.push({ refusal: new Reply(550, '5.1.1', 'There is no such mailbox here') })
      continue
    }
    await recordRefused(app, db, refused)
    await recordReturned(app, db, returned)
    if (there.length > 0) reads.push(there[0]!.read)
    for (const one of there) {
      const inbox = inboxes.get(one.recipient.inboxId)!
      const left = messages.get(inbox.id)! - 1
      messages.set(inbox.id, left)
      const isFirst =
        threads.begun.has(one.thread.id) && !arriving.some(({ thread }) => thread.id === one.thread.id)
      const participants = await participantsOf(db, one.thread)
      const row = messageRow(app, one, participants, isFirst, inbox, now, messageDate(inbox, left))
      one.thread.participants = writeParticipants(withMessage(participants, row, isFirst))
      arriving.push({ ...one, inbox, row })
      ids.push(row.id)
    }
    written.push({ ids })
  }
  if (arriving.length > 0) await insertAll(app, db, reads, arriving, threads, now)
  return written
}

/**
 * The same for one, in a write that does more.
 * @throws Reply 550 5.1.1 when its inboxes were deleted meanwhile, 452 4.2.2 when they were filled
 */
export async function writeReception(app: App, db: WriteDb, reception: Reception): Promise<string[]> {
  const [written] = await writeReceptions(app, db, [reception])
  if ('refusal' in written!) throw written.refusal
  return written!.ids
}

/** For so long the same bytes under the same Message-ID are the message that is there. */
const repeatedMs = 7 * 24 * 3_600_000

type Received = Awaited<ReturnType<typeof listReceivedAs>>

/** What the inboxes of these receptions have received under the Message-IDs that come now: in one statement. */
async function findReceived(db: WriteDb, receptions: readonly Reception[], now: Date): Promise<Received> {
  const kept = receptions.flatMap(({ becomes }) => ('nothing' in becomes ? [] : [becomes]))
  const ids = kept.flatMap(({ reading }) => reading.message.rfcMessageId ?? [])
  const inboxes = kept.flatMap(({ arrival }) => arrival.recipients.map(({ inboxId }) => inboxId))
  const since = isoAfter(now, -repeatedMs)
  const found = await listReceivedAs(db, { since }, [...new Set(inboxes)], [...new Set(ids)])
  return found.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** The messages that a reception repeats, by inbox: a peer that got no answer to the first delivers it again. */
function findRepeated(app: App, { becomes }: Reception, received: Received): ReadonlyMap<string, string> {
  const repeated = new Map<string, string>()
  if ('nothing' in becomes) return repeated
  const { arrival, sha256, reading } = becomes
  const inboxes = new Set(arrival.recipients.map(({ inboxId }) => inboxId))
  for (const { id, inboxId, rfcMessageId, sha256: stored, ...judged } of received) {
    if (rfcMessageId !== reading.message.rfcMessageId || stored !== sha256) continue
    if (!inboxes.has(inboxId) || repeated.has(inboxId) || isWorse(judged, becomes)) continue
    repeated.set(inboxId, id)
    app.log.info(
      { messageId: id, inboxId, sessionId: arrival.sessionId },
      'Message was delivered again; kept the stored one',
    )
  }
  return repeated
}

/**
 * Whether the copy that is there was judged worse than the one that comes. Anyone who has the bytes can deliver them first, from a
 * server that proves nothing.
 */
function isWorse(
  stored: Pick<Received[number], 'fromProven' | 'verdict'>,
  { fromProven, judged }: Pick<Accepted, 'fromProven' | 'judged'>,
): boolean {
  return (
    (stored.fromProven === 0 && fromProven === true) ||
    (stored.verdict !== 'clean' && judged.verdict === 'clean')
  )
}

/** The inboxes that get a reception as a new message. Several forward-paths may lead to one inbox (user, user+tag): it gets one message. */
function recipientsOf({ becomes }: Reception, repeated: ReadonlyMap<string, string>): Recipient[] {
  if ('nothing' in becomes) return []
  const byInbox = new Map(becomes.arrival.recipients.map(recipient => [recipient.inboxId, recipient]))
  return [...byInbox.values()].filter(({ inboxId }) => !repeated.has(inboxId))
}

/** The thread for each inbox that gets a reception. */
async function findThreads(
  app: App,
  db: WriteDb,
  { rawId, returned, becomes }: Reception,
  recipients: readonly Recipient[],
  now: Date,
  threads: Threads,
): Promise<Coming[]> {
  if ('nothing' in becomes) return []
  const read = { ...becomes, rawId, returned }
  const { rfcMessageId } = read.reading.message
  const coming: Coming[] = []
  for (const recipient of recipients) {
    const { inboxId } = recipient
    const thread = await findOrMakeThread(app, db, read, inboxId, isoAfter(now, 0), threads)
    coming.push({ read, recipient, thread })
    const messageKey = `${inboxId} ${rfcMessageId}`
    // As the table answers: of two that bear one Message-ID, the older is the one that is meant.
    if (rfcMessageId !== null && !threads.byMessageId.has(messageKey))
      threads.byMessageId.set(messageKey, thread)
  }
  return coming
}

async function insertAll(
  app: App,
  db: WriteDb,
  reads: readonly Read[],
  arriving: readonly Arriving[],
  threads: Threads,
  now: Date,
): Promise<void> {
  const createdAt = isoAfter(now, 0)
  const there = new Set(arriving.map(({ inbox }) => inbox.id))
  const lastOf = new Map(arriving.map(({ row }) => [row.threadId, row.createdAt]))
  const begun = [...threads.begun.values()].filter(({ inboxId }) => there.has(inboxId))
  const continued = [...threads.continued.values()].filter(({ thread }) => there.has(thread.inboxId))
  // A sender is an acquaintance from now on; but a message that may be forged proves nothing about who it names.
  const contacts = arriving.flatMap(({ inbox, row }) => {
    const address = row.verdict === 'clean' ? normaliseAddress(row.fromAddr) : undefined
    return address === undefined ? [] : [{ inboxId: inbox.id, address, createdAt }]
  })
  // Each behind what it refers to.
  await together([
    insertRaws(
      db,
      reads
        .filter(({ arrival }) => arrival.rawId === undefined)
        .map(({ rawId, sha256, arrival: { content } }) => ({
          id: rawId,
          sizeBytes: sizeOf(content),
          sha256,
          content: content.kind === 'memory' ? content.bytes : null,
          createdAt,
        })),
    ),
    insertReadings(db, reads.map(readingRow)),
    insertUncountedThreads(
      db,
      begun.map(thread => ({ ...thread, lastMessageAt: lastOf.get(thread.id)! })),
    ),
    insertUncountedMessages(
      db,
      arriving.map(({ row }) => row),
    ),
    ...continued.map(({ thread, added }) =>
      addUnreadToThread(db, thread.id, added, lastOf.get(thread.id)!, thread.participants),
    ),
    insertContacts(db, contacts),
  ])
  for (const { read, inbox, row } of arriving) {
    const storedBytes = sizeOf(read.arrival.content)
    addToDay(db, inbox, row.createdAt, { inbound: 1, attachmentBytes: attachmentBytesOf(read), storedBytes })
  }
  for (const { inbox } of arriving) notice(db, 'mail', inbox.id)
  await tellAll(app, db, arriving)
}

/** Counts what comes, once for each inbox; gives those that are there. */
async function countAll(
  db: WriteDb,
  messages: ReadonlyMap<string, number>,
  storedKiB: ReadonlyMap<string, number>,
  threads: Threads,
  now: Date,
): Promise<ReadonlyMap<string, CountedInbox>> {
  const unread = [...threads.continued.values()]
    .map(({ thread }) => thread)
    .filter(({ isRead }) => isRead === 1)
  const begun = countBy([...threads.begun.values()].map(({ inboxId }) => inboxId))
  const reread = countBy(unread.map(({ inboxId }) => inboxId))
  const counted = [...messages].map(([id, inbound]) => ({
    id,
    inbound,
    storedKiB: storedKiB.get(id) ?? 0,
    threads: begun.get(id) ?? 0,
    unreadThreads: (begun.get(id) ?? 0) + (reread.get(id) ?? 0),
  }))
  return new Map((await countInInboxes(db, counted, now)).map(inbox => [inbox.id, inbox]))
}

function attachmentBytesOf({ reading }: Read): number {
  return reading.message.attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

function countBy(ids: readonly string[]): Map<string, number> {
  return new Map([...Map.groupBy(ids, id => id)].map(([id, all]) => [id, all.length]))
}

/** For each reception the size of each message that it becomes. */
function sizesOf(receptions: readonly Reception[], deliverable: readonly Deliverable[]): NewMessage[][] {
  return receptions.map(({ becomes }, index) => {
    if ('nothing' in becomes) return []
    const sizeKiB = sizeKiBOf(becomes)
    // Bounces of our own mail are stored in any case.
    const counted = deliverable[index]!.recipients.filter(({ deliveryId }) => deliveryId === undefined)
    return counted.map(({ inboxId, podId }) => ({ inboxId, podId, sizeKiB }))
  })
}

/** The size of what comes to each inbox, as it counts it. */
function sumSizes(coming: readonly Coming[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { read, recipient } of coming) {
    sizes.set(recipient.inboxId, (sizes.get(recipient.inboxId) ?? 0) + sizeKiBOf(read))
  }
  return sizes
}

function sizeKiBOf({ arrival }: Accepted): number {
  return kibOf(sizeOf(arrival.content))
}

/** Events, webhooks and copies of what came. */
async function tellAll(app: App, db: WriteDb, arriving: readonly Arriving[]): Promise<void> {
  // An agent reads what it is told of at once: what is malicious stands in the lists, for who looks.
  const told = arriving.filter(({ row }) => row.verdict !== 'malicious' || app.config.scanner.tell_malicious)
  recordEvents(
    app,
    db,
    told.map(({ inbox, row }) => ({
      type: 'message.received',
      subject: { podId: inbox.podId, inboxId: inbox.id, threadId: row.threadId, messageId: row.id },
      endpoint: endpointOf(inbox),
    })),
  )
  for (const { inbox, row, recipient } of told) {
    await forwardReceived(app, db, inbox, row, recipient, endpointOf(inbox))
  }
}

function messageRow(
  app: App,
  { read, recipient, thread }: Coming,
  participants: Participants,
  isFirst: boolean,
  inbox: InboxRow,
  now: Date,
  createdAt: string,
): MessageRow {
  const { arrival, rawId, authentication, fromProven, judged } = read
  const parsed = read.reading.message
  const id = app.ids.next()
  const to = parsed.to.map(mailbox => mailbox.address)
  const cc = parsed.cc.map(mailbox => mailbox.address)
  // Nobody knows who asks for replies there: they go to the author, who is proven. The raw has the field.
  const replyTo = read.reading.authentication?.isReplyToDoubtful ? [] : eachOnce(parsed.replyTo)
  const fromAddr = parsed.from?.address ?? arrival.mailFrom
  const isNewInThread = !isFirst && !isParticipant(participants, { fromAddr })
  return {
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
    fromAddr,
    toAddr: inbox.address,
    headerTo: addressesOf(parsed.to),
    deliveryRole: roleOf(recipient, to, cc),
    replyTo: addressesOf(replyTo.slice(0, keptReplyTo)),
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
    fromProven: fromProven === null ? null : Number(fromProven),
    isNewInThread: isNewInThread ? 1 : 0,
    autoReplyReason: judged.autoReplyReason,
  }
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
    parseProblems: JSON.stringify([...message.problems, ...replyToProblem(eachOnce(message.replyTo).length)]),
  }
}

function eachOnce(mailboxes: readonly Mailbox[]): Mailbox[] {
  return [...new Map(mailboxes.map(mailbox => [mailbox.address, mailbox])).values()]
}

/** Addresses of Reply-To that are kept: one more than any reply reaches, so that a reply that would leave some out is refused. */
const keptReplyTo = derivedRecipientsOfAll + 1

function replyToProblem(count: number): string[] {
  if (count <= keptReplyTo) return []
  return [`Reply-To names ${count} addresses, and replyTo has the first ${keptReplyTo} of them`]
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
