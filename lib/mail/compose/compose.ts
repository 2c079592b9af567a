import { isAscii } from 'node:buffer'
import { domainToUnicode } from 'node:url'
import MailComposer, { type MailComposerAttachment } from 'nodemailer/lib/mail-composer'
import { encodeWord, foldLines } from 'nodemailer/lib/mime-funcs'
import { inSlices } from '../../base/files.ts'
import { parseAddress } from '../address/address.ts'
import type { Mailbox } from '../header/mailbox.ts'
import { referencesMax } from '../header/message-id.ts'
import { headerAddress, messageIds, singleLine } from '../header/text.ts'
import { attachmentFilename, attachmentType, type OutgoingAttachment } from './attachment.ts'
import { formatMessageId } from './message-id.ts'
import { bytesOfTexts } from './tree-bytes.ts'

/** What goes out and is made of no more bytes than these is a letter, which is made without a thread while few are sent. */
export const renderedHereBytes = 16 * 1024
/** Characters of the References field of a message that we make; of a longer one the middle is left out. */
const referencesLength = 16 * 1024
/** Bytes of an attachment that are encoded at a stretch. */
export const composeSliceBytes = 256 * 1024

/** What a message is made of. Addresses are addr-specs, what is none is left out; nothing here needs to be clean of control characters. */
export interface MessageParts {
  readonly from: { readonly address: string; readonly name: string | null }
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: string | null
  readonly subject: string
  readonly text: string
  readonly html: string | null
  /** Message-IDs, with or without angle brackets. */
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  readonly attachments: readonly OutgoingAttachment[]
  /** A program wrote this without being asked: Auto-Submitted: auto-generated (RFC 3834 §5). */
  readonly autoSubmitted: boolean
  readonly date: Date
  /** The Message-ID is `<id@messageIdDomain>`. */
  readonly id: string
  readonly messageIdDomain: string
}

/**
 * A message (RFC 5322, MIME) as it will cross the wire: CRLF alone, at its end too; lines of at most 998 bytes, folded
 * at 78 where they can be; ASCII alone, but for addresses that need SMTPUTF8 (RFC 6532). `rfcMessageId` has its
 * angle brackets.
 */
export async function composeMessage(parts: MessageParts): Promise<{ raw: Buffer; rfcMessageId: string }> {
  const rfcMessageId = formatMessageId(parts.id, parts.messageIdDomain)
  const inReplyTo = messageIds(parts.inReplyTo === null ? [] : [parts.inReplyTo])[0]
  const composer = new MailComposer({
    from: { address: headerAddress(parts.from.address), name: personName(parts.from.name) },
    inReplyTo,
    references: chain(parts.references),
    messageId: rfcMessageId,
    date: parts.date,
    headers: {
      Subject: { prepared: true, foldLines: true, value: unstructured(parts.subject) },
      ...(parts.autoSubmitted ? { 'Auto-Submitted': 'auto-generated' } : {}),
    },
    // An empty text would be left out, and an attachment alone would become the whole message.
    text: wireText(parts.text) || '\r\n',
    html: parts.html === null ? undefined : wireText(parts.html) || '\r\n',
    attachments: parts.attachments.map(attachmentPart),
    // Cannot occur in quoted-printable, nor in base64.
    boundaryPrefix: '=_',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const addressed =
    addressField('To', parts.to) +
    addressField('Cc', parts.cc) +
    addressField('Reply-To', parts.replyTo === null ? [] : [{ address: parts.replyTo, name: '' }])
  const root = composer.compile()
  // What holds 8-bit data is 8bit, and so is what holds that (RFC 2045 §6.4).
  if (parts.attachments.some(isEightBitMessage)) root.setHeader('Content-Transfer-Encoding', '8bit')
  const isLetter =
    parts.attachments.length === 0 && parts.text.length + (parts.html?.length ?? 0) <= renderedHereBytes
  const composed = isLetter ? bytesOfTexts(root) : await root.build()
  return { raw: Buffer.concat([Buffer.from(addressed), composed]), rfcMessageId }
}

/**
 * A field of mailboxes, with its line end; empty where there is none. It is ours: the library takes `<` and
 * `>` out of a local part even where it is quoted (RFC 5322 §3.4.1), and the address would be another.
 */
function addressField(name: string, people: readonly Mailbox[]): string {
  const mailboxes = people.flatMap(person => {
    const address = parseAddress(headerAddress(person.address))
    if (!address) return []
    const { localPart, domain } = address
    // With UTF-8 before the @ the message needs SMTPUTF8 anyhow, and the domain may be read by people, too.
    const shown = /[^\x00-\x7f]/.test(localPart) ? domainToUnicode(domain) || domain : domain
    const display = phrase(personName(person.name))
    if (display !== '') return `${display} <${localPart}@${shown}>`
    // Readers of less skill want what is quoted in angle brackets.
    return localPart.startsWith('"') ? `<${localPart}@${shown}>` : `${localPart}@${shown}`
  })
  return mailboxes.length === 0 ? '' : `${foldLines(`${name}: ${mailboxes.join(', ')}`)}\r\n`
}

/** A display name as words, a quoted string or encoded words (RFC 5322 §3.2.5, RFC 2047 §5). */
function phrase(name: string): string {
  if (/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*$/.test(name)) return name
  return /^[ -~]*$/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : encodedWords(name)
}

/** A name that looks like an encoded word would be read as one, even in quotes. */
function personName(name: string | null): string {
  return singleLine(name ?? '').replaceAll('=?', '= ?')
}

/** The References field keeps the start of the thread and its end, which is what readers thread by. */
function chain(references: readonly string[]): string[] {
  const [first, ...rest] = messageIds(references)
  if (first === undefined) return []
  const last: string[] = []
  let length = first.length
  for (const id of rest.reverse()) {
    length += id.length
    if (last.length + 1 === referencesMax || length > referencesLength) break
    last.push(id)
  }
  return [first, ...last.reverse()]
}

/** Unstructured text (RFC 5322 §2.2.1), in encoded words where it would not come back the same or could not be folded. */
function unstructured(text: string): string {
  const line = singleLine(text)
  if (/^[ -~]*$/.test(line) && !line.includes('=?') && !/[^ ]{66}/.test(line)) return line
  return encodedWords(line)
}

function encodedWords(line: string): string {
  const letters = line.match(/[ -~]/g)?.length ?? 0
  return encodeWord(line, letters * 2 > line.length ? 'Q' : 'B', 52)
}

/** Body text with CRLF alone and without NUL, which no text part may hold (RFC 2045 §2.7). */
function wireText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\0', '')
    .replace(/\r\n?|\n/g, '\r\n')
}

function attachmentPart(attachment: OutgoingAttachment): MailComposerAttachment {
  const contentType = attachmentType(attachment.contentType, attachment.content)
  const filename = attachmentFilename(attachment.filename)
  const asIs = contentType === 'message/rfc822'
  return {
    ...(filename === '' ? {} : { filename }),
    contentType,
    contentDisposition: 'attachment',
    contentTransferEncoding: asIs ? (isEightBitMessage(attachment) ? '8bit' : '7bit') : 'base64',
    content: asIs ? attachment.content : inSlices(attachment.content, composeSliceBytes),
  }
}

/** Whether it is a message that stands unencoded and has 8-bit data. */
function isEightBitMessage({ contentType, content }: OutgoingAttachment): boolean {
  return attachmentType(contentType, content) === 'message/rfc822' && !isAscii(content)
}
