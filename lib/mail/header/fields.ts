import { readAddressList } from './address-list.ts'
import { type Author, readAuthor, shownAuthor } from './author.ts'
import { decodeText } from './charset.ts'
import { parseDate } from './date.ts'
import { decodeWords } from './encoded-word.ts'
import { type Header, lastField } from './header.ts'
import { addressNames, type Mailbox, mailboxes } from './mailbox.ts'
import { readMessageIds, readReferences } from './message-id.ts'
import { readParameters } from './parameters.ts'
import { singleLine } from './text.ts'

/** What the header of a message says, each on one line and without what could do harm where it is shown. */
export interface MessageFields {
  /** Message-IDs are in angle brackets. */
  readonly rfcMessageId: string | null
  readonly inReplyTo: readonly string[]
  /** From the first to the last; of a longer chain the first and the newest. */
  readonly references: readonly string[]
  readonly author: Author
  /** What may be shown of the author: only where `author` has no fault is it sure. */
  readonly from: Mailbox | null
  readonly sender: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  /** As it stands there; whether it is followed is decided where the message is written. */
  readonly replyTo: readonly Mailbox[]
  /** Display names on From, To and Cc by lower-case address. */
  readonly addressNames: Readonly<Record<string, string>> | null
  readonly subject: string
  /** ISO; null when the field is missing or says no date. */
  readonly date: string | null
}

/**
 * Reads what is asked of a header. Of a field that may stand there once (RFC 5322 §3.6) the last counts, as `lastField` says.
 */
export function readFields(header: Header): MessageFields {
  const last = (name: string) => lastField(header, name) ?? ''
  const people = (name: string) => mailboxes(readAddressList(last(name)))
  const author = readAuthor(header)
  const from = shownAuthor(author)
  const [to, cc] = [people('to'), people('cc')]
  return {
    rfcMessageId: readMessageIds(last('message-id'))[0] ?? null,
    // Exchange writes them as encoded words where they are long.
    inReplyTo: readReferences(decodeWords(last('in-reply-to'))),
    references: readReferences(decodeWords(last('references'))),
    author,
    from,
    sender: people('sender')[0] ?? null,
    to,
    cc,
    replyTo: people('reply-to'),
    addressNames: addressNames([...(from ? [from] : []), ...to, ...cc]),
    subject: readSubject(header),
    date: parseDate(last('date').replace(/\s+/g, ' ')),
  }
}

/** The subject is text alone: raw bytes in it may be of the charset that the message names. */
function readSubject(header: Header): string {
  const field = header.fields.findLast(({ lowerName }) => lowerName === 'subject')
  if (!field) return ''
  if (field.isUtf8) return singleLine(decodeWords(field.value))
  const { charset = '' } = readParameters(lastField(header, 'content-type') ?? '').parameters
  // In those charsets, what is ASCII in every header would be other characters.
  const named = /^(?:utf-?16|iso-2022)/i.test(charset) ? '' : charset
  const outside = (text: string) => decodeText(Buffer.from(text, 'latin1'), named)
  return singleLine(decodeWords(field.value, outside))
}
