import { parseAddress } from '../address/address.ts'
import type { AddressList } from './address-list.ts'
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
