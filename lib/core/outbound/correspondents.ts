import { displayNameLength } from '../../base/lengths.ts'
import { Problem } from '../../base/problem.ts'
import { baseAddress, normaliseAddress, writtenAddress } from '../../mail/address/address.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import { derivedRecipientsOfAll } from '../../model/message.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { Participants } from '../mailbox/participants.ts'
import type { Person } from './person.ts'

/** Recipients that the header of a received message may give a reply. */
const derivedRecipients = 10

/** Whom a reply reaches when its request names nobody in `to`. */
export interface Derived {
  readonly to: readonly Person[]
  readonly cc: readonly Person[]
  /** Addresses that the answered message names and that are left out, because they are no participants of the thread. */
  readonly notIncluded: readonly string[]
}

/** For a thread that has no message left. */
export const nobody: Derived = { to: [], cc: [], notIncluded: [] }

type Answered = Pick<
  MessageRow,
  'direction' | 'fromAddr' | 'replyTo' | 'toAddr' | 'headerTo' | 'cc' | 'deliveryRole' | 'addressNames'
>

/**
 * Derives the recipients of a reply from the message that it answers: Reply-To, else the author (RFC 5322 §3.6.3); if the inbox
 * was only copied (`deliveryRole` cc), the people in To, with a copy to the author. After a message of our own: its recipients.
 * The inbox itself is never among them. A stranger wrote that header, so a reply by thread reaches participants only, and
 * what a header names is few.
 * @param self the inbox's own address
 * @param participants null if the request names the answered message itself
 * @throws Problem `too_many_recipients`
 */
export function deriveRecipients(
  answered: Answered,
  self: string,
  { isToAll, participants }: { readonly isToAll: boolean; readonly participants: Participants | null },
): Derived {
  const people = peopleOf(answered, self)
  const to = people(answered.headerTo === null ? [] : listedAddresses(answered.headerTo))
  const cc = isToAll ? people(JSON.parse(answered.cc) as string[]) : []
  if (answered.direction === 'outbound') {
    return { to: to.length > 0 ? to : people([answered.toAddr]), cc, notIncluded: [] }
  }
  const author = people([answered.fromAddr])
  const replyTo = listedAddresses(answered.replyTo ?? '')
  // So many are kept at most, and perhaps some were left out: whom a reply reaches is not known.
  if (replyTo.length > derivedRecipientsOfAll) throw tooMany(isToAll)
  const askedFor = people(replyTo)
  const writers = askedFor.length > 0 ? askedFor : author
  const isInboxCopied = answered.deliveryRole === 'cc' && to.length > 0
  const wanted = isInboxCopied
    ? { main: to, others: [...writers, ...cc] }
    : { main: writers, others: isToAll ? [...to, ...cc] : [] }
  const mayReach = ({ address }: Person) => participants === null || participants.has(address)
  const once = new Map(
    [...wanted.main, ...wanted.others].toReversed().map(person => [person.address, person]),
  )
  const isFirst = (person: Person) => once.get(person.address) === person
  const main = wanted.main.filter(mayReach).filter(isFirst)
  const others = wanted.others.filter(mayReach).filter(isFirst)
  // An agent that answers a participant reaches a participant, whatever the header asks for.
  const derived =
    main.length > 0 ? { to: main, cc: others } : { to: others.length > 0 ? others : author, cc: [] }
  requireFew([...derived.to, ...derived.cc], isToAll)
  const included = new Set([...derived.to, ...derived.cc].map(({ address }) => address))
  const named = new Set([...wanted.main, ...wanted.others].map(({ address }) => address))
  return { ...derived, notIncluded: [...named].filter(address => !included.has(address)) }
}

/** Reads addresses of the answered message with the names that it gives them, without the inbox's own. */
function peopleOf({ addressNames }: Answered, self: string): (addresses: readonly string[]) => Person[] {
  const names = (addressNames === null ? {} : JSON.parse(addressNames)) as Record<string, string>
  return addresses =>
    addresses.flatMap(text => {
      const address = normaliseAddress(text)
      if (address === undefined || baseAddress(address) === self) return []
      const name = (Object.hasOwn(names, address) && names[address]) || ''
      const shown = name.slice(0, displayNameLength).toWellFormed()
      return [{ address, name: shown, written: writtenAddress(text) }]
    })
}

function requireFew(people: readonly Person[], isToAll: boolean): void {
  const count = new Set(people.map(({ address }) => address)).size
  if (count > limitOf(isToAll)) throw tooMany(isToAll)
}

function limitOf(isToAll: boolean): number {
  return isToAll ? derivedRecipientsOfAll : derivedRecipients
}

function tooMany(isToAll: boolean): Problem {
  const limit = limitOf(isToAll)
  const message = `The answered message names more than ${limit} recipients, which is the most that a reply ${isToAll ? 'to all ' : ''}without \`to\` reaches. Nothing was sent. List the recipients that you want in \`to\`, for example its author.`
  return new Problem('too_many_recipients', message, { limit })
}
