import { parseDate } from './date.ts'
import { type AddressOrGroup, addressNames, type Mailbox, mailboxes } from './mailbox.ts'
import { readMessageIds, readReferences } from './message-id.ts'
import { singleLine } from './text.ts'

/** What the header of a message says, each on one line and without what could do harm where it is shown. */
export interface MessageFields {
  /** Message-IDs are in angle brackets. */
  readonly rfcMessageId: string | null
  readonly inReplyTo: readonly string[]
  /** From the first to the last; of a longer chain the first and the newest. */
  readonly references: readonly string[]
  readonly from: Mailbox | null
  readonly sender: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** Display names on From, To and Cc by lower-case address. */
  readonly addressNames: Readonly<Record<string, string>> | null
  readonly subject: string
  /** ISO; null when the field is missing or says no date. */
  readonly date: string | null
}

/** Decoded fields by lower-case name: texts, lists of addresses, or several of these; and all fields as they came. */
export interface DecodedHeader {
  readonly headers: ReadonlyMap<string, unknown> | false
  readonly headerLines: readonly { readonly key: string; readonly line: string }[] | false
}

export function readFields({ headers, headerLines }: DecodedHeader): MessageFields {
  const fields = headers || new Map<string, unknown>()
  const lists = (name: string) =>
    [fields.get(name) ?? []].flat().flatMap(each => mailboxes((each as { value: AddressOrGroup[] }).value))
  const text = (name: string) => [fields.get(name) ?? []].flat().filter(each => typeof each === 'string')
  const [from, sender, to, cc] = [lists('from'), lists('sender'), lists('to'), lists('cc')]
  return {
    rfcMessageId: readMessageIds(text('message-id').join(' '))[0] ?? null,
    inReplyTo: readReferences(text('in-reply-to').join(' ')),
    references: readReferences(text('references').join(' ')),
    from: from[0] ?? null,
    sender: sender[0] ?? null,
    to,
    cc,
    replyTo: lists('reply-to'),
    addressNames: addressNames([...from, ...to, ...cc]),
    subject: singleLine(text('subject').join(' ')),
    date: readDate(headerLines || []),
  }
}

/** From the field itself: mailparser makes the present moment of a date that is none. */
function readDate(lines: readonly { key: string; line: string }[]): string | null {
  const field = lines.find(({ key }) => key === 'date')?.line ?? ''
  return parseDate(field.slice(field.indexOf(':') + 1).replace(/\s+/g, ' '))
}
