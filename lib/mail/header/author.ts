import { literalAddress, parseAddress } from '../address/address.ts'
import { type AddressList, readAddressList } from './address-list.ts'
import type { Header, HeaderField } from './header.ts'
import { type Mailbox, mailboxes } from './mailbox.ts'

/** Who wrote a message, as its header says, read once: who is judged is who is shown. */
export type Author =
  /** The header has exactly one From field, with exactly one mailbox; its domain is in A-labels, lower-case. */
  | { readonly mailbox: Mailbox }
  /** It is not sure who wrote it: why, in words for the log, and what may be shown of it. */
  | { readonly fault: string; readonly shown: Mailbox | undefined }

/** What no field holds, and what some readers take for the end of a line. */
const control = /[^\P{Cc}\t]|[\u2028\u2029]/u
const controls = new RegExp(control, 'gu')

/**
 * Reads the author out of From (RFC 5322 §3.6.2). Anything that two readers might read in two ways is a fault, though one
 * of them may be what the standard says: doubt is never a pass.
 */
export function readAuthor(header: Header): Author {
  const fields = header.fields.filter(field => field.lowerName === 'from')
  const field = fields.at(-1)
  if (!field) return { fault: 'no From field', shown: undefined }
  const list = readAddressList(field.value)
  const [mailbox, ...others] = mailboxes(list)
  const fault =
    headerFault(header, field, fields.length) ??
    fieldFault(field) ??
    (list.hasGroup ? 'a group in From' : list.fault && `From has ${list.fault}`) ??
    (others.length > 0 ? 'several mailboxes in From' : undefined)
  if (!mailbox) return { fault: fault ?? 'no mailbox in From', shown: undefined }
  const addressFault = fault ?? mailboxFault(mailbox, field, list)
  return addressFault === undefined ? { mailbox } : { fault: addressFault, shown: mailbox }
}

/** What stands around an address, whichever way it is read. */
const aroundAddresses = /[\s\p{Cc}<>()[\],;:"\\]+/u

/**
 * Whom a header names as its author, in whatever reading: where it is not sure, each mailbox of each From field, those of groups too, and
 * each word with an @. A blocked sender must not get in next to another address, nor with a control character inside their own,
 * which most readers do not show.
 * @param author as `readAuthor` found it in this header
 */
export function namedAuthors(header: Header, author: Author): string[] {
  if ('mailbox' in author) return [author.mailbox.address]
  const fields = header.fields.filter(field => field.lowerName === 'from')
  const values = new Set(fields.flatMap(({ value }) => [value, value.replace(controls, '')]))
  const named = [...values].flatMap(value => [
    ...mailboxes(readAddressList(value)).map(({ address }) => address),
    ...value.split(aroundAddresses).flatMap(word => (word.includes('@') ? [word, withoutRoot(word)] : [])),
  ])
  return [...new Set(named)]
}

/** A name with the dot of the root behind it leads where it leads without. */
const withoutRoot = (word: string) => (word.endsWith('.') ? word.slice(0, -1) : word)

/** The mailbox to show for an author. */
export function shownAuthor(author: Author): Mailbox | null {
  return 'mailbox' in author ? author.mailbox : (author.shown ?? null)
}

function headerFault({ fault, strayFromAt }: Header, from: HeaderField, count: number): string | undefined {
  if (count > 1) return 'several From fields'
  if (strayFromAt !== undefined && strayFromAt < from.start)
    return 'a line that is no field and may be a second From'
  return fault === undefined ? undefined : `a header that was not read to its end: ${fault}`
}

function fieldFault({ name, start, valueStart, value }: HeaderField): string | undefined {
  if (valueStart - start > name.length + 1) return 'white space between From and its colon'
  return control.test(value) ? 'a control character in From' : undefined
}

function mailboxFault(
  { address }: Mailbox,
  { isUtf8 }: HeaderField,
  { mailboxes: listed }: AddressList,
): string | undefined {
  const parsed = parseAddress(address)
  if (parsed === undefined) return 'an address in From that is none'
  // No DMARC policy, SPF record or key can be asked for (RFC 7489 §6.6.1: of From a domain must be had).
  if (literalAddress(parsed.domain) !== undefined) return 'an address literal in From'
  // As it came: a domain in A-labels no longer says of what letters they were made.
  const isGuessed = !isUtf8 && listed.some(each => /[^\x00-\x7f]/.test(each.address))
  return isGuessed ? 'an address in From that is not UTF-8' : undefined
}
