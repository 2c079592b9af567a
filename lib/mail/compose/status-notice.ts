import { isAscii } from 'node:buffer'
import { singleLine } from '../header/text.ts'

/** What became of a delivery, as a notification says it (RFC 3464 §2.3.3). */
export type NoticeAction = 'failed' | 'delayed' | 'relayed' | 'delivered'

/** What a delivery status notification tells of one recipient. */
export interface ToldRecipient {
  readonly action: NoticeAction
  readonly recipient: string
  /** As ORCPT of RCPT said it: `rfc822;bob@example.net`. */
  readonly originalRecipient: string | null
  /** Of the class that belongs to the action. */
  readonly status: string
  /** The other server's three digits, where it said some, and its words or ours. */
  readonly code: number | null
  readonly text: string
  readonly remoteHost: string | null
  readonly triedAt: string
  readonly willRetryUntil: string | null
}

/** A delivery status notification about recipients of one message. */
export interface StatusNotice {
  /** Our own name, which reports. */
  readonly hostname: string
  /** Whom it is for: who submitted the message. */
  readonly to: string
  readonly date: Date
  /** With its angle brackets. */
  readonly messageId: string
  readonly boundary: string
  /** At least one. */
  readonly recipients: readonly ToldRecipient[]
  /** As ENVID of MAIL said it. */
  readonly envelopeId: string | null
  readonly original: {
    /** With its angle brackets. */
    readonly messageId: string | null
    readonly subject: string
    readonly arrivedAt: string
    /** What of it comes back: all of it, or its header section with the empty line. */
    readonly returned: { readonly isWhole: boolean; readonly bytes: Buffer }
  }
}

const told: Readonly<Record<NoticeAction, { readonly subject: string; readonly sentence: string }>> = {
  failed: {
    subject: 'Not delivered',
    sentence: 'could not be delivered, and is not tried any more',
  },
  delayed: {
    subject: 'Delayed',
    sentence: 'could not be delivered yet. It is tried again; you need not send it once more',
  },
  relayed: {
    subject: 'Handed over',
    sentence: 'was handed over to a server that sends no notices of its own',
  },
  delivered: { subject: 'Delivered', sentence: 'was delivered' },
}

/**
 * A delivery status notification (RFC 3464, for addresses beyond ASCII RFC 6533): what happened in words, in fields for
 * programs, and what comes back of the message. It is itself answered to nobody (RFC 3834).
 */
export function composeStatusNotice(notice: StatusNotice): Buffer {
  const { hostname, to, date, boundary, original } = notice
  const status = statusFields(notice)
  const isGlobal = !isAscii(Buffer.from(status))
  const { isWhole, bytes } = original.returned
  const is8Bit = !isAscii(bytes) || isGlobal
  const text = wordsOf(notice).join('\r\n')
  const head = [
    `From: Mail Delivery System <mailer-daemon@${hostname}>`,
    `To: <${to}>`,
    `Date: ${stampOf(date)}`,
    `Message-ID: ${notice.messageId}`,
    `Subject: ${subjectOf(notice)}`,
    ...(original.messageId === null
      ? []
      : [`In-Reply-To: ${original.messageId}`, `References: ${original.messageId}`]),
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="${boundary}"`,
    ...(is8Bit || !isAscii(Buffer.from(text)) ? ['Content-Transfer-Encoding: 8bit'] : []),
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=utf-8',
    ...(isAscii(Buffer.from(text)) ? [] : ['Content-Transfer-Encoding: 8bit']),
    'Content-Description: Notification',
    '',
    text,
    '',
    `--${boundary}`,
    `Content-Type: message/${isGlobal ? 'global-' : ''}delivery-status`,
    ...(isGlobal ? ['Content-Transfer-Encoding: 8bit'] : []),
    'Content-Description: Delivery report',
    '',
    status,
    `--${boundary}`,
    `Content-Type: ${isWhole ? 'message/rfc822' : 'text/rfc822-headers'}`,
    ...(isAscii(bytes) ? [] : ['Content-Transfer-Encoding: 8bit']),
    `Content-Description: ${isWhole ? 'The message' : 'The header of the message'}`,
    '',
    '',
  ].join('\r\n')
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

const actions = ['failed', 'delayed', 'relayed', 'delivered'] as const

/** Names the worst of what is told, and who is first there. */
function subjectOf({ recipients }: StatusNotice): string {
  const worst = actions.find(action => recipients.some(one => one.action === action))!
  const { recipient } = recipients.find(({ action }) => action === worst)!
  const others = recipients.length - 1
  const more = others === 0 ? '' : ` and ${others} ${others === 1 ? 'other' : 'others'}`
  return `${told[worst].subject}: ${headerText(recipient)}${more}`
}

function wordsOf({ original, recipients }: StatusNotice): string[] {
  const about = [
    `Your message "${singleLine(original.subject).slice(0, 200)}"`,
    `of ${stampOf(new Date(original.arrivedAt))}`,
  ]
  const [one, ...others] = recipients
  if (others.length === 0) {
    const { recipient, action } = one!
    return [...about, `to <${recipient}>`, `${told[action].sentence}.`, '', ...saidOf(one!)]
  }
  return [
    ...about,
    ...actions.flatMap(action => {
      const some = recipients.filter(recipient => recipient.action === action)
      if (some.length === 0) return []
      const each = some.flatMap(recipient => ['', `<${recipient.recipient}>`, ...saidOf(recipient)])
      return [`${told[action].sentence}, to these recipients:`, ...each, '']
    }),
  ]
}

function saidOf({ remoteHost, text }: ToldRecipient): string[] {
  return [...(remoteHost === null ? [] : [`The server ${remoteHost} said:`]), ...wrapped(text)]
}

/** The fields of the message, and those of each recipient, with an empty line between the groups. */
function statusFields({ hostname, envelopeId, original, recipients }: StatusNotice): string {
  return [
    `Reporting-MTA: dns; ${hostname}`,
    ...(envelopeId === null ? [] : [`Original-Envelope-Id: ${singleLine(envelopeId)}`]),
    `Arrival-Date: ${stampOf(new Date(original.arrivedAt))}`,
    '',
    ...recipients.flatMap(recipientFields),
  ].join('\r\n')
}

function recipientFields(told: ToldRecipient): string[] {
  const { recipient, originalRecipient, code, remoteHost, text, willRetryUntil } = told
  const type = isAscii(Buffer.from(recipient)) ? 'rfc822' : 'utf-8'
  return [
    ...(originalRecipient === null ? [] : [`Original-Recipient: ${singleLine(originalRecipient)}`]),
    `Final-Recipient: ${type}; ${recipient}`,
    `Action: ${told.action}`,
    `Status: ${told.status}`,
    ...(remoteHost === null ? [] : [`Remote-MTA: dns; ${remoteHost}`]),
    ...(code === null
      ? []
      : [`Diagnostic-Code: smtp; ${wrapped(`${code} ${diagnostic(text)}`).join('\r\n\t')}`]),
    `Last-Attempt-Date: ${stampOf(new Date(told.triedAt))}`,
    ...(willRetryUntil === null ? [] : [`Will-Retry-Until: ${stampOf(new Date(willRetryUntil))}`]),
    '',
  ]
}

/** RFC 3464 §2.3.6: ASCII, whatever the other server said. */
function diagnostic(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}

/** A recipient in a subject, which is ASCII here. */
function headerText(recipient: string): string {
  return isAscii(Buffer.from(recipient)) ? recipient : 'a recipient of yours'
}

/** Lines of at most 70 characters where there are spaces. */
function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of singleLine(text).split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < 70) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** RFC 5322 §3.3: toUTCString says GMT, which only the obsolete syntax has. */
function stampOf(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000')
}
