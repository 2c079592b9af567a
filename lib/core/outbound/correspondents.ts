import { limits } from '../../base/limits.ts'
import { baseAddress, normaliseAddress, writtenAddress } from '../../mail/address/address.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { Person } from './person.ts'

/** Who took part in a message that is answered: others wrote it, so nothing here is trusted to be an address, or few. */
export interface Correspondents {
  /** Whom a reply is written to. */
  readonly main: readonly Person[]
  /** Who gets a copy of every reply. */
  readonly copied: readonly Person[]
  /** Who gets a copy of a reply to all, besides. */
  readonly others: readonly Person[]
  /** Whether the inbox was only copied, and a reply to one of these people is one to all of them. */
  readonly isInboxCopied: boolean
}

/** Of a thread that has no message any more. */
export const nobody: Correspondents = { main: [], copied: [], others: [], isInboxCopied: false }

type Answered = Pick<
  MessageRow,
  'direction' | 'fromAddr' | 'replyTo' | 'toAddr' | 'headerTo' | 'cc' | 'deliveryRole' | 'addressNames'
>

/**
 * A reply goes to whom Reply-To names, else to the author (RFC 5322 §3.6.3). Where the inbox was copied (`deliveryRole` cc) it
 * goes to whom the message was written to, and copies who wrote it. After a message of our own it goes to that one's
 * recipients. The inbox itself is never among them, whatever a stranger writes into Reply-To or To.
 * @param self the inbox's own address
 */
export function correspondentsOf(answered: Answered, self: string): Correspondents {
  const names = (answered.addressNames === null ? {} : JSON.parse(answered.addressNames)) as Record<
    string,
    string
  >
  const people = (addresses: readonly string[]): Person[] =>
    addresses.flatMap(text => {
      const address = normaliseAddress(text)
      if (address === undefined || baseAddress(address) === self) return []
      const name = (Object.hasOwn(names, address) && names[address]) || ''
      const shown = name.slice(0, limits.displayNameLength).toWellFormed()
      return [{ address, name: shown, written: writtenAddress(text) }]
    })
  const cc = people(JSON.parse(answered.cc) as string[])
  const to = people(answered.headerTo === null ? [] : listedAddresses(answered.headerTo))
  if (answered.direction === 'outbound') {
    const main = to.length > 0 ? to : people([answered.toAddr])
    return { main, copied: [], others: cc, isInboxCopied: false }
  }
  const asked = people(listedAddresses(answered.replyTo ?? ''))
  const writers = asked.length > 0 ? asked : people([answered.fromAddr])
  return answered.deliveryRole === 'cc' && to.length > 0
    ? { main: to, copied: writers, others: cc, isInboxCopied: true }
    : { main: writers, copied: [], others: [...to, ...cc], isInboxCopied: false }
}
