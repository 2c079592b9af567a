import { domainToUnicode } from 'node:url'
import { domainOf, normaliseAddress } from '../address/address.ts'
import { readAddressList } from '../header/address-list.ts'
import { readAuthor } from '../header/author.ts'
import { fieldValues, findHeaderFault, type Header, lastField, readHeader } from '../header/header.ts'
import { readMessageIds } from '../header/message-id.ts'
import { readSubmittedPeople, type SubmittedPeople } from './submitted-people.ts'

/** What a submission server puts into a message that lacks it. */
export interface Mending {
  /** The address that From, and Sender where there is one, must name. */
  readonly author: string
  /** In angle brackets. */
  readonly messageId: string
  readonly date: Date
  /** A whole field with its line end, which stands before all others. */
  readonly received: string
}

/** The message as it goes on; or why it does not, in a sentence for who wrote it. */
export type Mended =
  | { readonly raw: Buffer; readonly rfcMessageId: string; readonly people: SubmittedPeople }
  | { readonly enhanced: '5.6.0' | '5.7.1' | '5.3.4'; readonly refusal: string }

/** Fields that stand in a message once at the most (RFC 5322 §3.6), and of which readers differ which of two counts. */
const single = [
  'from',
  'sender',
  'date',
  'message-id',
  'subject',
  'reply-to',
  'to',
  'cc',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
]
/** What no other server is told: blind copies, and whom a server that delivers puts there (RFC 5321 §4.4). */
const takenOff = ['bcc', 'resent-bcc', 'return-path']

/**
 * Mends the header of a message as RFC 6409 §8 lets the server that it is submitted to: Date and Message-ID are added where
 * they are missing, and blind copies taken off (RFC 5322 §3.6.3). All else stays as it was written. What could be read in
 * two ways is refused: this server signs it.
 */
export function mendSubmitted(raw: Buffer, { author, messageId, date, received }: Mending): Mended {
  const tooLarge = findHeaderFault(raw)
  if (tooLarge) return { enhanced: '5.3.4', refusal: `The message header is too large: ${tooLarge}` }
  const header = readHeader(raw)
  const fault = formFault(raw, header) ?? authorFault(header, author)
  if (fault) return fault
  const people = readSubmittedPeople(header, author)
  if ('refusal' in people) return people
  const ids = readMessageIds(fieldValues(header, 'message-id')[0] ?? '')
  const isIdMissing = ids.length === 0
  const dropped = header.fields.filter(
    ({ lowerName }) => takenOff.includes(lowerName) || (isIdMissing && lowerName === 'message-id'),
  )
  // RFC 5322 §3.3: toUTCString says GMT, which only the obsolete syntax has.
  const stamp = date.toUTCString().replace('GMT', '+0000')
  const added =
    received +
    (fieldValues(header, 'date').length === 0 ? `Date: ${stamp}\r\n` : '') +
    (isIdMissing ? `Message-ID: ${messageId}\r\n` : '')
  const pieces: Buffer[] = [Buffer.from(added, 'latin1')]
  let at = 0
  for (const { start, end } of dropped) {
    pieces.push(raw.subarray(at, start))
    at = end
  }
  pieces.push(raw.subarray(at))
  return { raw: Buffer.concat(pieces), rfcMessageId: ids[0] ?? messageId, people }
}

function formFault(raw: Buffer, header: Header): Mended | undefined {
  const { fields, bodyOffset, strayAt, fault } = header
  const refused = (refusal: string) => ({ enhanced: '5.6.0', refusal }) as const
  if (fault) return refused(`The header can not be read: ${fault}`)
  if (fields[0]?.start !== 0 || strayAt !== undefined) {
    return refused('A line of the header is no field; begin with the header, and end it with an empty line')
  }
  const isEnded = raw.toString('latin1', bodyOffset - 4, bodyOffset) === '\r\n\r\n'
  if (bodyOffset < raw.length && !isEnded) return refused('An empty line must stand between header and body')
  const twice = single.find(name => fields.filter(({ lowerName }) => lowerName === name).length > 1)
  if (twice) return refused(`The field ${twice} stands there twice (RFC 5322 section 3.6); send one`)
  return undefined
}

function authorFault(header: Header, address: string): Mended | undefined {
  const author = readAuthor(header)
  if ('fault' in author) {
    return {
      enhanced: '5.6.0',
      refusal: `It must be sure who wrote it: there is ${author.fault}. Send one From with ${address}`,
    }
  }
  if (normaliseAddress(author.mailbox.address) === address && !isMapped(header, address)) return undefined
  return {
    enhanced: '5.7.1',
    refusal: `From must be ${address}, which you authenticated as; authenticate as the inbox that writes`,
  }
}

/** Whether the domain in From stands there in letters that only UTS 46 maps to it: others would see another. */
function isMapped(header: Header, address: string): boolean {
  const domain = domainOf(readAddressList(lastField(header, 'from') ?? '').mailboxes[0]?.address ?? '')
  return /[^\x00-\x7f]/.test(domain) && domain !== domainToUnicode(domainOf(address))
}
