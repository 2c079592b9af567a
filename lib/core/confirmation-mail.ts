import { escapeHtml } from '../base/escape-html.ts'
import type { Content } from '../blob/content.ts'
import { domainOf } from '../mail/address.ts'
import { composeMessage, formatMessageId } from '../mail/compose.ts'
import { findAccount } from '../store/account.ts'
import type { Db } from '../store/dialect.ts'
import { findForwardConfirmation } from '../store/forward-confirmations.ts'
import type { ForwardConfirmationRow, InboxRow, MessageRow } from '../store/tables.ts'
import type { App } from './app.ts'
import { formatConfirmationToken } from './confirmation-token.ts'
import { findAskingInbox } from './forward-confirmation.ts'
import { signOutgoing, writeOutgoing } from './outgoing.ts'
import { systemAddress } from './recipient.ts'

/** Stands in the row of the message for the link, which only the mail itself has: who reads the inbox may not confirm. */
const hiddenLink = '(the link is in the mail alone)'

/**
 * Puts the mail that asks for consent into the queue, in the write of the question. It is a message of the inbox that
 * is to be forwarded, of the id of the question; its bytes are made when it is carried.
 *
 * What comes back, or answers by itself, may quote the link, and must reach nobody here: the reverse-path is null, and
 * the name in From is reserved, so no inbox has it.
 */
export async function writeConfirmationMail(
  app: App,
  db: Db,
  inbox: InboxRow,
  question: ForwardConfirmationRow,
): Promise<void> {
  const fromAddr = `no-reply@${app.config.account_domain}`
  const to = question.address
  await writeOutgoing(
    app,
    db,
    {
      id: question.id,
      date: new Date(question.createdAt),
      inbox,
      fromAddr,
      mailFrom: '',
      category: 'automated',
      addressees: { to, cc: [], bcc: [], replyTo: null, all: [to] },
      body: { text: textOf(app, inbox, question, hiddenLink), html: null },
      rfcMessageId: formatMessageId(question.id, domainOf(fromAddr)),
      attachments: [],
      subject: subjectOf(inbox),
      inReplyTo: null,
      references: [],
      thread: undefined,
    },
    null,
  )
}

/** The bytes of such a message, composed and signed; undefined when an answer to its question would change nothing. */
export async function composeConfirmationMail(app: App, message: MessageRow): Promise<Content | undefined> {
  const db = app.store.read
  const question = await findForwardConfirmation(db, message.id)
  const inbox = question && (await findAskingInbox(db, question))
  const account = await findAccount(db)
  if (!question || !inbox || !account) return undefined
  const token = formatConfirmationToken(account.signingSecret, question)
  const link = `${app.baseUrl}/forwarding/confirm?token=${token}`
  const { raw } = await composeMessage({
    id: message.id,
    messageIdDomain: domainOf(message.fromAddr),
    date: new Date(message.createdAt),
    from: { address: message.fromAddr, name: app.config.hostname },
    to: [question.address],
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
  return { kind: 'memory', bytes: await signOutgoing(app, message.fromAddr, raw, app.clock.now()) }
}

// Nothing in it is of the asker's own words, or the mail could be made to say anything in our name.

function subjectOf({ address }: InboxRow): string {
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
