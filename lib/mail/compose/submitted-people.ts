import { limits } from '../../base/limits.ts'
import { normaliseAddress } from '../address/address.ts'
import { readAddressList } from '../header/address-list.ts'
import { decodeWords } from '../header/encoded-word.ts'
import { fieldValues, type Header } from '../header/header.ts'
import { mailboxes } from '../header/mailbox.ts'

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
/** Fields of URIs (RFC 2369), which a reader offers to write to. */
const offered = ['list-help', 'list-unsubscribe', 'list-subscribe', 'list-post', 'list-owner', 'list-archive']

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
      for (const address of looksLike(value)) named.add(address)
    }
  }
  for (const name of offered) {
    for (const value of fieldValues(header, name)) {
      for (const address of looksLike(unescaped(value))) named.add(address)
    }
  }
  if (answersTo.size > limits.replyToAddresses) {
    const refusal = `Reply-To and the like have at most ${limits.replyToAddresses} addresses; leave some out`
    return { enhanced: '5.6.0', refusal }
  }
  if (named.size > limits.namedAddresses) {
    const refusal = `The header names more than ${limits.namedAddresses} addresses; send to fewer at a time`
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
  return hasSign(value) || hasSign(decodeWords(value)) ? addressesOf(readAddressList(value)) : []
}

function addressesOf(list: ReturnType<typeof readAddressList>): string[] | undefined {
  const addresses = mailboxes(list).map(one => normaliseAddress(one.address))
  return list.fault === undefined && addresses.every(one => one !== undefined) ? addresses : undefined
}

/** An at sign, also a wide or a small one, which some take for it. */
function hasSign(text: string): boolean {
  return /[@\uff20\ufe6b]/.test(text)
}

const inLocalPart = /[^\s<>:,;()"[\]\\@?&/]/
const inDomain = /[^\s<>:,;()"'[\]\\@?&/=]/

/** All that looks like an address in a text, found by its at signs, as it stands and with its encoded words decoded. */
function looksLike(value: string): string[] {
  const found: string[] = []
  for (const text of new Set([value, decodeWords(value)])) {
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      let start = at
      while (start > 0 && at - start < 64 && inLocalPart.test(text[start - 1]!)) start--
      let end = at + 1
      while (end < text.length && end - at <= 255 && inDomain.test(text[end]!)) end++
      const domain = text.slice(at, end).replace(/\.{1,9}$/, '')
      const local = text.slice(start, at)
      // `to=ann@…` of a URI, `'ann@…` in quotes that are none.
      for (const each of new Set([local, local.slice(local.lastIndexOf('=') + 1), local.replace(/^'/, '')])) {
        const address = normaliseAddress(each + domain)
        if (address !== undefined) found.push(address)
      }
    }
  }
  return found
}

/** Percent signs of a URI undone (RFC 3986 §2.1), as far as they are ASCII. */
function unescaped(value: string): string {
  return value.replace(/%([0-7][0-9a-f])/gi, (_all, code: string) => String.fromCharCode(parseInt(code, 16)))
}

/** A field's name as people write it. */
function titled(lowerName: string): string {
  return lowerName.replace(/(?:^|-)[a-z]/g, letter => letter.toUpperCase())
}
