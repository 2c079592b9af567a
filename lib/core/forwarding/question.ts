import { escapeHtml } from '../../base/text.ts'
import { isoAfter } from '../../base/time.ts'
import type { Content } from '../../blob/content.ts'
import { domainOf } from '../../mail/address/address.ts'
import { signDkim } from '../../mail/compose/dkim.ts'
import { formatMessageId } from '../../mail/compose/message-id.ts'
import type { CarriedMessage } from '../../store/deliveries.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import * as confirmations from '../../store/forward-confirmations.ts'
import { findForwardConfirmation } from '../../store/forward-confirmations.ts'
import { holdRows } from '../../store/hold-rows.ts'
import { findInbox, updateInbox } from '../../store/inboxes.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { ForwardConfirmationRow, InboxRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { signingSecret } from '../app/reach.ts'
import { formatConfirmationToken, readConfirmationToken } from '../app/signed.ts'
import { systemAddress } from '../domains/usable.ts'
import { countOutgoing, signerOf, writeOutgoing } from '../outbound/composing.ts'

/** How long the link is valid by which an address agrees to get the mail of an inbox. */
export const forwardConfirmationMs = 7 * 86_400_000

/** What somebody with a link is asked. */
export interface ForwardQuestion {
  /** The inbox whose mail is copied. */
  readonly from: string
  readonly to: string
}

/** Why a link is not good: not ours, too old, used, or not the newest for what the inbox is set to now. */
export type DeadLink = 'unknown' | 'expired' | 'used' | 'superseded'

/** What the link with this token asks; changes nothing, because mail scanners follow links. */
export async function findForwardQuestion(app: App, token: string): Promise<ForwardQuestion | DeadLink> {
  const found = await findOpenQuestion(app, app.store.read, token)
  return typeof found === 'string' ? found : { from: found.inbox.address, to: found.question.address }
}

/** The address consents: from now on it gets copies. A link is good once. */
export async function confirmForwarding(app: App, token: string): Promise<ForwardQuestion | DeadLink> {
  const asked = await findOpenQuestion(app, app.store.read, token)
  if (typeof asked === 'string') return asked
  return app.store.write(async db => {
    await holdRows(db, { inboxes: [asked.inbox.id] })
    const found = await findOpenQuestion(app, db, token)
    if (typeof found === 'string') return found
    const { question, inbox } = found
    await confirmations.setForwardConfirmationUsed(db, question.id, app.clock.now().toISOString())
    await updateInbox(db, inbox.id, { forwardStatus: 'active', forwardFailures: 0 })
    app.log.info({ inboxId: inbox.id, confirmationId: question.id }, 'forwarding confirmed')
    return { from: inbox.address, to: question.address }
  })
}

async function findOpenQuestion(
  app: App,
  db: Db,
  token: string,
): Promise<{ question: ForwardConfirmationRow; inbox: InboxRow } | DeadLink> {
  const read = readConfirmationToken(await signingSecret(app, db), token, app.clock.now())
  if (typeof read === 'string') return read
  const question = await confirmations.findForwardConfirmation(db, read.id)
  if (!question) return 'superseded'
  if (question.usedAt !== null) return 'used'
  const inbox = await findAskingInbox(db, question)
  return inbox ? { question, inbox } : 'superseded'
}

/** The inbox, while it still waits for the answer to this question and to no newer one. */
async function findAskingInbox(db: Db, question: ForwardConfirmationRow): Promise<InboxRow | undefined> {
  const inbox = await findInbox(db, question.inboxId)
  if (inbox?.forwardTo !== question.address || inbox.forwardStatus !== 'pending') return undefined
  const newest = await confirmations.findLastForwardConfirmationId(db, question.inboxId)
  return newest === question.id ? inbox : undefined
}

/** Deletes some questions whose links are over; gives how many. */
export async function expireForwardConfirmations(app: App): Promise<number> {
  const before = isoAfter(app.clock.now(), -forwardConfirmationMs)
  return app.store.writeHolding(holdsNothing, db =>
    confirmations.deleteForwardConfirmations(db, { before }, sweepRows),
  )
}

/** Stands in the row of the message for the link, which only the mail itself has: who reads the inbox may not confirm. */
const hiddenLink = '(the link is in the mail alone)'

/**
 * Puts the mail that asks for consent into the queue, in the write of the question. The mail is a message of the inbox that
 * is to be forwarded, with the id of the question; its bytes are made when it is carried. A bounce or an automatic answer
 * may quote the link, and must reach nobody here. So the reverse-path is null, and the name in From is reserved: no inbox
 * has it.
 */
export async function writeConfirmationMail(
  app: App,
  db: WriteDb,
  inbox: InboxRow,
  question: ForwardConfirmationRow,
): Promise<void> {
  const fromAddr = `no-reply@${app.config.account_domain}`
  const to = question.address
  const date = new Date(question.createdAt)
  const counted = await countOutgoing(db, inbox.id, undefined, { date, sizeBytes: 0 })
  if (!counted) throw new Error(`no inbox ${inbox.address}`)
  await writeOutgoing(
    app,
    db,
    {
      id: question.id,
      date,
      inbox: counted,
      fromAddr,
      mailFrom: '',
      category: 'automated',
      addressees: {
        to: [{ address: to, name: '' }],
        cc: [],
        bcc: [],
        replyTo: null,
        all: [to],
        written: new Map(),
      },
      body: { text: textOf(app, inbox, question, hiddenLink), html: null },
      rfcMessageId: formatMessageId(question.id, domainOf(fromAddr)),
      attachments: [],
      subject: subjectLine(inbox),
      inReplyTo: null,
      references: [],
      thread: undefined,
    },
    null,
  )
}

/** The link of such a message, for who runs a server from which no mail goes out; undefined when it is not asked any more. */
export async function findConfirmationLink(app: App, messageId: string): Promise<string | undefined> {
  return (await findAsked(app, messageId))?.link
}

async function findAsked(app: App, messageId: string) {
  const db = app.store.read
  const question = await findForwardConfirmation(db, messageId)
  const inbox = question && (await findAskingInbox(db, question))
  if (!question || !inbox) return undefined
  const token = formatConfirmationToken(await signingSecret(app, db), question)
  return { question, inbox, link: `${app.baseUrl}/forwarding/confirm?token=${token}` }
}

/** The bytes of such a message, composed and signed; undefined when an answer to its question would change nothing. */
export async function composeConfirmationMail(
  app: App,
  message: CarriedMessage,
): Promise<Content | undefined> {
  const asked = await findAsked(app, message.id)
  if (!asked) return undefined
  const { question, inbox, link } = asked
  const { composeMessage } = await import('../../mail/compose/compose.ts')
  const { raw } = await composeMessage({
    id: message.id,
    messageIdDomain: domainOf(message.fromAddr),
    date: new Date(message.createdAt),
    from: { address: message.fromAddr, name: app.config.hostname },
    to: [{ address: question.address, name: '' }],
    cc: [],
    replyTo: null,
    subject: message.subject,
    text: textOf(app, inbox, question, link),
    html: htmlOf(app, inbox, question, link),
    inReplyTo: null,
    references: [],
    attachments: [],
    autoSubmitted: true,
  })
  const signer = await signerOf(app, message.fromAddr, app.clock.now())
  return { kind: 'memory', bytes: await signDkim(raw, signer) }
}

// Nothing in it is of the asker's own words, or the mail could be made to say anything in our name.

function subjectLine({ address }: InboxRow): string {
  return `Do you want copies of the mail to ${address}?`
}

interface Paragraphs {
  readonly asked: string
  readonly how: string
  readonly until: string
  readonly otherwise: string
  readonly from: string
}

function paragraphsOf(app: App, inbox: InboxRow, question: ForwardConfirmationRow): Paragraphs {
  // RFC 5322 §3.3: toUTCString says GMT.
  const until = new Date(question.expiresAt).toUTCString().replace(/:\d\d GMT$/, ' UTC')
  return {
    asked: `Somebody who runs the mailbox ${inbox.address} asks that copies of the mail it gets be forwarded to you, at ${question.address}.`,
    how: 'If you want them, open this page and press its button:',
    until: `The link is good until ${until}, once.`,
    otherwise:
      'If you do not want them, or do not know that mailbox, do nothing: without your consent nothing is forwarded.',
    from: `This mail was written by the mail server ${app.config.hostname}; its postmaster is ${systemAddress(app)}.`,
  }
}

function textOf(app: App, inbox: InboxRow, question: ForwardConfirmationRow, link: string): string {
  const { asked, how, until, otherwise, from } = paragraphsOf(app, inbox, question)
  return `${asked}\n\n${how}\n\n${link}\n\n${until}\n\n${otherwise}\n\n-- \n${from}\n`
}

function htmlOf(app: App, inbox: InboxRow, question: ForwardConfirmationRow, link: string): string {
  const { asked, how, until, otherwise, from } = paragraphsOf(app, inbox, question)
  const href = escapeHtml(link)
  return [
    '<!doctype html><html lang="en"><body>',
    `<p>${escapeHtml(asked)}</p>`,
    `<p>${escapeHtml(how)}</p>`,
    `<p><a href="${href}">${href}</a></p>`,
    `<p>${escapeHtml(until)}</p>`,
    `<p>${escapeHtml(otherwise)}</p>`,
    `<hr><p>${escapeHtml(from)}</p>`,
    '</body></html>\n',
  ].join('\n')
}
