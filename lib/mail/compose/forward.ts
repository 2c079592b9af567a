import { displayNameLength, sendRecipients } from '../../base/lengths.ts'
import { escapeHtml } from '../../base/text.ts'
import type { Mailbox } from '../header/mailbox.ts'
import { singleLine } from '../header/text.ts'
import { isForwardSubject } from '../quote/subject.ts'
import { htmlFragment } from '../text/html-fragment.ts'
import { type Body, escapedText, insertAtEnd, omission, quoteLength, shortened, textOf } from './quote.ts'

/** The message that is passed on. */
export interface ForwardedMessage {
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly date: Date
  readonly subject: string
  readonly text: string
  readonly html: string | null
}

const heading = '---------- Forwarded message ----------'

/** A body with the message that is passed on below it; as HTML, too, where either has any. */
export function withForwarded(own: Body, original: ForwardedMessage): Body {
  const { text, cut } = shortened(textOf(original))
  const before = own.text.replace(/\n$/, '')
  const lines = [heading, ...summaryOf(original), '', text.trimEnd(), ...(cut ? [omission] : [])]
  const forwarded = `${lines.join('\n')}\n`
  return {
    text: before === '' ? forwarded : `${before}\n\n${forwarded}`,
    html: own.html === null && original.html === null ? null : htmlOf(own, original),
  }
}

function htmlOf(own: Body, original: ForwardedMessage): string {
  const { html, cut } =
    original.html === null ? escapedText(original) : htmlFragment(original.html, quoteLength)
  const summary = [heading, ...summaryOf(original)].map(line => `${escapeHtml(line)}<br>`).join('')
  const forwarded = `<div><br>${summary}<br>${html}${cut ? `<div>${omission}</div>` : ''}</div>`
  return insertAtEnd(own.html ?? escapedText(own).html, forwarded)
}

/** Who wrote it to whom, when, and what about: a line each. */
function summaryOf({ from, to, cc, date, subject }: ForwardedMessage): string[] {
  // Thu, 01 Jan 2026 10:00:00 GMT
  const [, day, month, year, time] = date.toUTCString().split(' ')
  const lines = [
    `From: ${people([from])}`,
    `Date: ${Number(day)} ${month} ${year} ${time?.slice(0, 5)} UTC`,
    `Subject: ${singleLine(subject)}`,
    `To: ${people(to)}`,
  ]
  return cc.length === 0 ? lines : [...lines, `Cc: ${people(cc)}`]
}

function people(list: readonly Mailbox[]): string {
  const shown = list.slice(0, sendRecipients).map(({ address, name }) => {
    const line = singleLine(name).slice(0, displayNameLength)
    return line === '' ? singleLine(address) : `${line} <${singleLine(address)}>`
  })
  return (shown.length < list.length ? [...shown, omission] : shown).join(', ')
}

/** The subject of a message that is passed on: with `Fwd: ` before it, unless that stands there already. */
export function forwardSubject(subject: string): string {
  return isForwardSubject(subject) ? subject : `Fwd: ${subject}`.trimEnd()
}
