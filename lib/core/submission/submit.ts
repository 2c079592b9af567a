import { Reply } from '../../base/reply.ts'
import type { Content } from '../../blob/content.ts'
import { domainOf, normaliseAddress } from '../../mail/address/address.ts'
import { dkimField } from '../../mail/compose/dkim.ts'
import { formatMessageId } from '../../mail/compose/message-id.ts'
import type { SubmittedPeople } from '../../mail/compose/submitted-people.ts'
import { receivedFilename } from '../../mail/message/filename.ts'
import { parentCandidates } from '../../mail/message/thread.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findThreadIdByMessageId } from '../../store/messages.ts'
import type { InboxRow, ThreadRow } from '../../store/tables.ts'
import { findThread } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, requireReachable } from '../app/reach.ts'
import type { Addressees } from '../outbound/addressees.ts'
import { countOutgoing, signerOf } from '../outbound/composing.ts'
import { requireSendable } from '../outbound/gate.ts'
import type { NoticeRequest } from '../outbound/notice-request.ts'
import { type Permitted, queueMessage } from '../outbound/send.ts'
import { auditingRefusals, requirePermitted } from '../policy/check.ts'
import { submittedAddressees } from './addressees.ts'
import { callerOf, type Submitter } from './credentials.ts'

/** One recipient of the envelope, as the client wrote it, and what is to be told of it. */
export interface SubmittedRecipient {
  readonly rcptTo: string
  readonly notice: NoticeRequest | null
}

/** A message as a client handed it over, with its envelope, as plain data: it crosses between threads. */
export interface Submission {
  readonly submitter: Submitter
  readonly recipients: readonly SubmittedRecipient[]
  /** With CRLF, and without what a line check refuses (lib/smtpd/line-check.ts). */
  readonly content: Content
  /** As Received names it (RFC 3848). */
  readonly protocol: string
}

/**
 * Sends a message as it was written elsewhere, by the rules of every send; gives its id when it is on the disk.
 * @throws Problem as `send` of core/outbound; Reply for what its header says, and 535 when the key was revoked
 */
export async function submit(app: App, submission: Submission): Promise<string> {
  const { submitter } = submission
  const caller = await callerOf(app.store.read, submitter)
  const inbox = await getInboxRow(app.store.read, caller, submitter.inboxId)
  return auditingRefusals(app, caller, inbox, () => submitFrom(app, caller, inbox, submission))
}

async function submitFrom(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  { submitter, recipients, content, protocol }: Submission,
): Promise<string> {
  const id = app.ids.next()
  const date = app.clock.now()
  const accepted = await app.renderer.acceptSubmitted(
    {
      content,
      hostname: app.config.hostname,
      mending: {
        author: inbox.address,
        messageId: formatMessageId(id, domainOf(inbox.address)),
        date,
        received: receivedField(app.config.hostname, protocol, id, date),
      },
    },
    inbox.id,
  )
  if ('refusal' in accepted) throw new Reply(550, accepted.enhanced, accepted.refusal)
  const { raw, bodyHash, rfcMessageId, people, message } = accepted
  const rcptTos = recipients.map(({ rcptTo }) => rcptTo)
  const addressees = submittedAddressees(inbox.address, rcptTos, message)
  await requireAllSendable(app, app.store.read, caller, inbox, addressees, people)
  const signature = await dkimField(raw, bodyHash, await signerOf(app, inbox.address, date))
  const sizeBytes = signature.length + raw.length
  const permit = async (db: WriteDb): Promise<Permitted> => {
    // Revoked, moved or forbidden while it was on its way, it is not sent.
    const current = await callerOf(db, submitter)
    const thread = await findAnswered(db, inbox, message)
    const sender = requireReachable(current, await countOutgoing(db, inbox.id, thread, { date, sizeBytes }))
    await requireAllSendable(app, db, current, sender, addressees, people)
    return { sender, thread }
  }
  const outgoing = {
    id,
    date,
    inbox,
    fromAddr: inbox.address,
    mailFrom: inbox.address,
    category: 'personal',
    addressees,
    body: { text: message.text, html: message.html === '' ? null : message.html },
    rfcMessageId,
    attachments: message.attachments.map(({ filename, contentType, sizeBytes }, index) => ({
      filename: receivedFilename(filename, contentType, index + 1),
      contentType,
      sizeBytes,
    })),
    subject: message.subject,
    inReplyTo: message.inReplyTo[0] ?? null,
    references: message.references,
    notify: noticesOf(recipients),
  } as const
  const sent = await queueMessage(
    app,
    caller,
    { message: outgoing, raw, signature, notIncluded: [] },
    permit,
    {
      remember: async () => {},
    },
  )
  return sent.messageId
}

function noticesOf(recipients: readonly SubmittedRecipient[]): Map<string, string> {
  const notices = new Map<string, string>()
  for (const { rcptTo, notice } of recipients) {
    const address = normaliseAddress(rcptTo)
    if (notice && address !== undefined) notices.set(address, JSON.stringify(notice))
  }
  return notices
}

/** The rules are asked of all whom the header names, too: answers to all, and those to a list, go there. */
async function requireAllSendable(
  app: App,
  db: Db,
  caller: Caller,
  inbox: InboxRow,
  addressees: Addressees,
  { answersTo, named }: SubmittedPeople,
): Promise<void> {
  for (const replyTo of answersTo.length > 0 ? answersTo : [null]) {
    await requireSendable(app, db, caller, inbox, { ...addressees, replyTo })
  }
  await requirePermitted(db, inbox, named)
}

/** The thread here of the message that it answers, as its header says. */
async function findAnswered(
  db: Db,
  { id }: InboxRow,
  message: Parameters<typeof parentCandidates>[0],
): Promise<ThreadRow | undefined> {
  for (const candidate of parentCandidates(message)) {
    const threadId = await findThreadIdByMessageId(db, id, candidate)
    const thread = threadId === undefined ? undefined : await findThread(db, threadId)
    if (thread) return thread
  }
  return undefined
}

/** Where it was submitted from stays here: whom it is for need not know. */
function receivedField(hostname: string, protocol: string, id: string, date: Date): string {
  const stamp = date.toUTCString().replace('GMT', '+0000')
  return `Received: by ${hostname} (mailboxd) with ${protocol} id ${id};\r\n\t${stamp}\r\n`
}
