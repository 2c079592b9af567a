import { parseAddress } from '../address/address.ts'
import { type AddressList, readAddressList } from './address-list.ts'
import { decodeWords } from './encoded-word.ts'
import { singleLine } from './text.ts'

/** Someone in a header (RFC 5322 §3.4). */
export interface Mailbox {
  /** With the domain in A-labels; what is no address, such as `root`, stands as it came. */
  readonly address: string
  /** The display name; empty when there is none. */
  readonly name: string
}

/** The mailboxes of a list, those of groups too, each on one line and with its name decoded (RFC 2047 §5). */
export function mailboxes(list: AddressList): Mailbox[] {
  return list.mailboxes.flatMap(({ address, name }) => {
    const text = singleLine(address)
    const parsed = parseAddress(text)
    if (text === '') return []
    return [
      {
        address: parsed ? `${parsed.localPart}@${parsed.domain}` : text,
        name: singleLine(decodeWords(name)),
      },
    ]
  })
}

/** The display names by lower-case address; null when there are none. An object without prototype: `__proto__` is a name. */
export function addressNames(list: readonly Mailbox[]): Record<string, string> | null {
  const names: Record<string, string> = Object.create(null)
  for (const { address, name } of list) {
    const key = address.toLowerCase()
    if (name !== '' && name.toLowerCase() !== key) names[key] ??= name
  }
  return Object.keys(names).length > 0 ? names : null
}

/**
 * The one mailbox that a client names, as `ann@example.com` or `Ann <ann@example.com>`; undefined for what is none, is
 * several, or can be read in two ways. The address stands as it came: `normaliseAddress` says whether it is one.
 */
export function readMailbox(text: string): Mailbox | undefined {
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) return undefined
  const list = readAddressList(text)
  const [mailbox, ...others] = mailboxes(list)
  return list.fault !== undefined || list.hasGroup || others.length > 0 ? undefined : mailbox
}

/** A mailbox as `readMailbox` reads it. */
export function writeMailbox({ address, name }: Mailbox): string {
  if (name === '') return address
  const phrase = /^[\p{L}\p{M}\p{N} _'-]+$/u.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`
  return `${phrase} <${address}>`
}

/** The addresses of a text in which they stand with a comma between them, without names. */
export function listedAddresses(text: string): string[] {
  // Nearly always: a comma that separates nothing stands only in quotes.
  if (!text.includes('"')) return text === '' ? [] : text.split(', ')
  return mailboxes(readAddressList(text)).map(({ address }) => address)
}
