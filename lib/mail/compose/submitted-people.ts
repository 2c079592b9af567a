import { normaliseAddress } from '../address/address.ts'
import { type AddressList, readAddressList } from '../header/address-list.ts'
import { fieldValues, type Header, type HeaderField } from '../header/header.ts'
import { mailboxes } from '../header/mailbox.ts'
import { hasAtSign, lookalikes } from './lookalikes.ts'

/** Addresses of Reply-To in a submitted message. */
const replyToAddresses = 10
/** Addresses in the header of a submitted message; the sender rules are asked about each. */
const namedAddresses = 200

/** Whom the header of a submitted message names, each once, as `normaliseAddress` gives them. */
export interface SubmittedPeople {
  /** Whom an answer or a notice may go to. */
  readonly answersTo: readonly string[]
  /** Whom any reader may find in it besides, and write to. */
  readonly named: readonly string[]
}

/** Fields that say who wrote or sent on (RFC 5322 §3.6.2, §3.6.6). */
const senders = ['sender', 'resent-from', 'resent-sender']
/** Fields by which programs choose where an answer or a notice of theirs goes. */
const answered = [
  'reply-to',
  'x-reply-to',
  'mail-reply-to',
  'mail-followup-to',
  'resent-reply-to',
  'disposition-notification-to',
  'read-receipt-to',
  'return-receipt-to',
  'x-confirm-reading-to',
  'errors-to',
]
/** Fields that say whom it goes to: an answer to all goes there. */
const addressed = ['to', 'cc', 'resent-to', 'resent-cc', 'apparently-to']
/** Other fields that programs of some time have found an address in to write to: lists (RFC 2369), copies, notices. */
const offering = /^(?:list-.+|(?:x-)?mailing-list|author|.+-(?:to|cc|bcc|by))$/
const isOffering = ({ lowerName }: HeaderField) =>
  offering.test(lowerName) &&
  !['list-id', 'in-reply-to', ...senders, ...answered, ...addressed].includes(lowerName)

/**
 * Whom the header names, found as every reader finds them: a list that two may read in two ways is refused, and what looks
 * like an address in a name or a comment counts besides, for some readers split before they look for quotes.
 * @param author whom the fields of senders must name
 */
export function readSubmittedPeople(
  header: Header,
  author: string,
): SubmittedPeople | { readonly enhanced: '5.6.0' | '5.7.1'; readonly refusal: string } {
  for (const name of senders) {
    if (fieldValues(header, name).some(value => isOther(value, author))) {
      const refusal = `${titled(name)} must be ${author}, which you authenticated as; authenticate as the inbox that writes`
      return { enhanced: '5.7.1', refusal }
    }
  }
  const answersTo = new Set<string>()
  const named = new Set<string>()
  for (const name of [...answered, ...addressed]) {
    const isAnswered = answered.includes(name)
    for (const value of fieldValues(header, name)) {
      const found = isAnswered ? someone(value) : listed(value)
      if (!found) {
        const refusal = `${titled(name)} must name addresses such as ann@example.com, which every reader finds; or leave it out`
        return { enhanced: '5.6.0', refusal }
      }
      for (const address of found) (isAnswered ? answersTo : named).add(address)
      for (const address of lookalikes(value)) named.add(address)
    }
  }
  for (const { value } of header.fields.filter(isOffering)) {
    for (const address of lookalikes(value)) named.add(address)
  }
  if (answersTo.size > replyToAddresses) {
    const refusal = `Reply-To and the like have at most ${replyToAddresses} addresses; leave some out`
    return { enhanced: '5.6.0', refusal }
  }
  if (named.size > namedAddresses) {
    const refusal = `The header names more than ${namedAddresses} addresses; send to fewer at a time`
    return { enhanced: '5.6.0', refusal }
  }
  return { answersTo: [...answersTo], named: [...named] }
}

function isOther(value: string, author: string): boolean {
  const addresses = someone(value)
  return addresses === undefined || addresses.some(address => address !== author)
}

/** The addresses of a field, one at the least and none in a group; undefined where readers might find others. */
function someone(value: string): string[] | undefined {
  const list = readAddressList(value)
  const addresses = list.hasGroup ? [] : addressesOf(list)
  return addresses?.length === 0 ? undefined : addresses
}

/** The addresses of a field that may name nobody, as `undisclosed-recipients:;` and `root` do. */
function listed(value: string): string[] | undefined {
  return hasAtSign(value) ? addressesOf(readAddressList(value)) : []
}

function addressesOf(list: AddressList): string[] | undefined {
  const addresses = mailboxes(list).map(one => normaliseAddress(one.address))
  return list.fault === undefined && addresses.every(one => one !== undefined) ? addresses : undefined
}

/** A field's name as people write it. */
function titled(lowerName: string): string {
  return lowerName.replace(/(?:^|-)[a-z]/g, letter => letter.toUpperCase())
}
