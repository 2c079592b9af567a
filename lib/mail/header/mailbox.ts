import { parseAddress } from '../address/address.ts'
import { singleLine } from './text.ts'

/** Someone in a header (RFC 5322 §3.4). */
export interface Mailbox {
  /** With the domain in A-labels; what is no address, such as `root`, stands as it came. */
  readonly address: string
  /** The display name; empty when there is none. */
  readonly name: string
}

/** One address, or a group of them. */
export interface AddressOrGroup {
  readonly address?: string
  readonly name: string
  readonly group?: readonly AddressOrGroup[]
}

/** The mailboxes of a list, those of groups too (RFC 5322 §3.4), without those that have no address. */
export function mailboxes(list: readonly AddressOrGroup[]): Mailbox[] {
  return list.flatMap(({ address, name, group }) => {
    if (group) return mailboxes(group)
    const text = singleLine(address ?? '')
    const parsed = parseAddress(text)
    if (text === '') return []
    return [{ address: parsed ? `${parsed.localPart}@${parsed.domain}` : text, name: singleLine(name) }]
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
