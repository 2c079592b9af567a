import { sendRecipients } from '../../base/lengths.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { baseAddress, normaliseAddress, writtenAddress } from '../../mail/address/address.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import type { Addressees } from '../outbound/addressees.ts'
import type { Person } from '../outbound/person.ts'

/** Whom the header of a submitted message names. */
export interface HeaderPeople {
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
}

/**
 * Whom a submitted message goes to: the recipients of its envelope, and nobody else. Those that To and Cc do not name are
 * blind copies.
 * @param rcptTos as the client wrote them, each an address
 * @throws Problem `invalid_request`, `recipient_is_sender`
 */
export function submittedAddressees(
  sender: string,
  rcptTos: readonly string[],
  header: HeaderPeople,
): Addressees {
  const all = [...new Set(rcptTos.map(normal))]
  const self = all.find(address => baseAddress(address) === sender)
  if (self !== undefined) {
    throw new Problem('recipient_is_sender', `An inbox can't send to itself (${self}).`, { recipient: self })
  }
  const written = new Map<string, string>()
  for (const rcptTo of rcptTos) {
    const as = writtenAddress(rcptTo)
    if (as !== undefined && as !== normal(rcptTo)) written.set(normal(rcptTo), as)
  }
  const shown = new Set<string>()
  const once = (people: readonly Mailbox[]) =>
    people
      .slice(0, sendRecipients)
      .flatMap(asPerson)
      .filter(({ address }) => !shown.has(address) && shown.add(address))
  const to = once(header.to)
  const cc = once(header.cc)
  // Somebody must stand there.
  if (to.length === 0) to.push(...cc.splice(0, 1))
  const blind = all.filter(address => !shown.has(address))
  if (to.length === 0) to.push({ address: blind.shift()!, name: '' })
  const bcc = blind.map(address => ({ address, name: '' }))
  const replyTos = header.replyTo.flatMap(asPerson).map(({ address }) => address)
  const replyTo = replyTos.length === 0 ? null : replyTos.join(', ')
  return { to, cc, bcc, replyTo, all, written }
}

function normal(rcptTo: string): string {
  const address = normaliseAddress(rcptTo)
  if (address === undefined) throw invalidRequest('', `${rcptTo} is not an address`)
  return address
}

function asPerson({ address: given, name }: Mailbox): Person[] {
  const address = normaliseAddress(given)
  return address === undefined ? [] : [{ address, name }]
}
