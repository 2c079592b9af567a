import { isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { Reply } from '../../base/reply.ts'
import { sizeOf } from '../../blob/content.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { insertContacts } from '../../store/contacts.ts'
import { addToDay } from '../../store/daily-usage.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { addToInboxes, findInboxes } from '../../store/inboxes.ts'
import { insertReadings, insertUncountedMessages } from '../../store/messages.ts'
import { insertRaws } from '../../store/raws.ts'
import type { InboxRow, MessageRow, ReadingRow } from '../../store/tables.ts'
import { addUnreadToThread, insertUncountedThreads } from '../../store/threads.ts'
import { findEndpoints } from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'
import { recordEvents } from '../events/record.ts'
import { forwardReceived } from '../forwarding/copy.ts'
import { findOrMakeThread, type Threads } from '../mailbox/threading.ts'
import { recordRefused } from './admission.ts'
import type { Accepted, Reception } from './arrival.ts'
import { recordReturned } from './bounces.ts'
import type { Recipient } from './recipient.ts'
import { traceFields } from './trace.ts'

/** What one message is written from. */
type Read = Accepted & Pick<Reception, 'rawId' | 'returned'>

/** What came of one reception: the ids of its messages; or the reply that refuses it, because its inboxes were deleted meanwhile. */
export type Written = { readonly ids: string[] } | { readonly refusal: Reply }

/** One message in one inbox, on its way into the database. */
interface Arriving {
  readonly read: Read
  readonly recipient: Recipient
  readonly inbox: InboxRow
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
  const inboxes = await findInboxesOf(db, receptions)
  const now = app.clock.now()
  const threads: Threads = { begun: new Map(), continued: new Map(), byMessageId: new Map() }
  const arriving: Arriving[] = []
  const reads: Read[] = []
  const written: Written[] = []
  for (const { rawId, refused, returned, becomes } of receptions) {
    const read = 'nothing' in becomes ? undefined : { ...becomes, rawId, returned }
    const reached = read ? recipientsThere(read, inboxes) : []
    if (read && reached.length === 0) {
      written.push({ refusal: new Reply(550, '5.1.1', 'There is no such mailbox here') })
      continue
    }
    await recordRefused(app, db, refused)
    await recordReturned(app, db, returned)
    const ids: string[] = []
    if (read) reads.push(read)
    for (const { recipient, inbox } of reached) {
      const one = await makeMessage(app, db, read!, recipient, inbox, now, threads)
      arriving.push(one)
      ids.push(one.row.id)
    }
    written.push({ ids })
  }
  if (arriving.length > 0) await insertAll(app, db, reads, arriving, threads, now)
  return written
}

/**
 * The same for one, in a write that does more.
 * @throws Reply 550 5.1.1 when its inboxes were deleted meanwhile
 */
export async function writeReception(app: App, db: WriteDb, reception: Reception): Promise<string[]> {
  const [written] = await writeReceptions(app, db, [reception])
  if ('refusal' in written!) throw written.refusal
  return written!.ids
}

async function findInboxesOf(
  db: WriteDb,
  receptions: readonly Reception[],
): Promise<ReadonlyMap<string, InboxRow>> {
  const ids = receptions.flatMap(({ becomes }) =>
    'nothing' in becomes ? [] : becomes.arrival.recipients.map(({ inboxId }) => inboxId),
  )
  return ids.length === 0 ? new Map() : findInboxes(db, [...new Set(ids)])
}

/** Several forward-paths may lead to one inbox (user, user+tag): it gets one message. One that was deleted since RCPT gets none. */
function recipientsThere(
  { arrival }: Read,
  inboxes: ReadonlyMap<string, InboxRow>,
): { recipient: Recipient; inbox: InboxRow }[] {
  const reached = new Map(arrival.recipients.map(recipient => [recipient.inboxId, recipient]))
  return [...reached.values()].flatMap(recipient => {
    const inbox = inboxes.get(recipient.inboxId)
    return inbox ? [{ recipient, inbox }] : []
  })
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
  await insertRaws(
    db,
    reads
      .filter(({ arrival }) => arrival.rawId === undefined)
      .map(({ rawId, arrival: { content } }) => ({
        id: rawId,
        sizeBytes: sizeOf(content),
        content: content.kind === 'memory' ? content.bytes : null,
        createdAt,
      })),
  )
  await insertReadings(db, reads.map(readingRow))
  await insertUncountedThreads(db, [...threads.begun.values()])
  await insertUncountedMessages(
    db,
    arriving.map(({ row }) => row),
  )
  for (const { thread, added } of threads.continued.values()) {
    await addUnreadToThread(db, thread.id, added, createdAt)
  }
  await countAll(db, arriving, threads, createdAt)
  // A sender is an acquaintance from now on; but a message that may be forged proves nothing about who it names.
  const contacts = arriving.flatMap(({ inbox, row }) => {
    const address = row.verdict === 'clean' ? normaliseAddress(row.fromAddr) : undefined
    return address === undefined ? [] : [{ inboxId: inbox.id, address, createdAt }]
  })
  await insertContacts(db, contacts)
  for (const { inbox } of arriving) notice(db, 'mail', inbox.id)
  await tellAll(app, db, arriving)
}

/** Counts what came, once for each inbox. */
async function countAll(
  db: WriteDb,
  arriving: readonly Arriving[],
  threads: Threads,
  createdAt: string,
): Promise<void> {
  const unread = [...threads.continued.values()]
    .map(({ thread }) => thread)
    .filter(({ isRead }) => isRead === 1)
  const begun = countBy([...threads.begun.values()].map(({ inboxId }) => inboxId))
  const reread = countBy(unread.map(({ inboxId }) => inboxId))
  const byInbox = Map.groupBy(arriving, ({ inbox }) => inbox.id)
  const counted = [...byInbox].map(([id, messages]) => ({
    id,
    inbound: messages.length,
    threads: begun.get(id) ?? 0,
    unreadThreads: (begun.get(id) ?? 0) + (reread.get(id) ?? 0),
  }))
  await addToInboxes(db, counted)
  for (const messages of byInbox.values()) {
    await addToDay(db, messages[0]!.inbox, createdAt, {
      inbound: messages.length,
      attachmentBytes: sum(messages.map(({ read }) => attachmentBytesOf(read))),
      storedBytes: sum(messages.map(({ read }) => sizeOf(read.arrival.content))),
    })
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

function attachmentBytesOf({ reading }: Read): number {
  return sum(reading.message.attachments.map(({ sizeBytes }) => sizeBytes))
}

function countBy(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(ids, id => id)].map(([id, all]) => [id, all.length]))
}

/** Events, webhooks and copies of what came. */
async function tellAll(app: App, db: WriteDb, arriving: readonly Arriving[]): Promise<void> {
  // An agent reads what it is told of at once: what is malicious stands in the lists, for who looks.
  const told = arriving.filter(({ row }) => row.verdict !== 'malicious' || app.config.scanner.tell_malicious)
  if (told.length === 0) return
  const endpoints = await findEndpoints(
    db,
    told.map(({ inbox }) => inbox),
  )
  await recordEvents(
    app,
    db,
    told.map(({ inbox, row }) => ({
      type: 'message.received',
      subject: { podId: inbox.podId, inboxId: inbox.id, threadId: row.threadId, messageId: row.id },
      endpoint: endpoints.get(inbox.id),
    })),
  )
  for (const { inbox, row, recipient } of told) {
    await forwardReceived(app, db, inbox, row, recipient, endpoints.get(inbox.id))
  }
}

async function makeMessage(
  app: App,
  db: WriteDb,
  read: Read,
  recipient: Recipient,
  inbox: InboxRow,
  now: Date,
  threads: Threads,
): Promise<Arriving> {
  const { arrival, rawId, authentication, judged } = read
  const parsed = read.reading.message
  const createdAt = isoAfter(now, 0)
  const id = app.ids.next()
  const thread = await findOrMakeThread(app, db, read, inbox, createdAt, threads)
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
  const messageKey = `${inbox.id} ${row.rfcMessageId}`
  // As the table answers: of two that bear one Message-ID, the older is the one that is meant.
  if (row.rfcMessageId !== null && !threads.byMessageId.has(messageKey))
    threads.byMessageId.set(messageKey, thread)
  return { read, recipient, inbox, row }
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
