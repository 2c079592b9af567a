import { displayNameLength, sendRecipients } from '../../base/lengths.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { baseAddress, normaliseRecipient, writtenAddress } from '../../mail/address/address.ts'
import { readMailbox } from '../../mail/header/mailbox.ts'
import type { SendRequest } from '../../model/send.ts'
import { type Derived, nobody } from './correspondents.ts'
import type { Person } from './person.ts'

/** Whom a request names itself. */
export interface Named {
  readonly to: readonly Person[]
  readonly cc: readonly Person[]
  readonly bcc: readonly Person[]
  readonly replyTo: string | null
}

/** Whom a send goes to, each recipient once. */
export interface Addressees extends Named {
  /** The addresses of to, cc and bcc in this order: one delivery for each. */
  readonly all: readonly string[]
  /** As they were written, those of `all` that differ from it: only their servers know whether case matters (RFC 5321 §2.4). */
  readonly written: ReadonlyMap<string, string>
}

/** @throws Problem `invalid_request` that names what is no address */
export function readNamed(request: Pick<SendRequest, 'to' | 'cc' | 'bcc' | 'replyTo'>): Named {
  return {
    to: readPeople(request.to, '/to'),
    cc: readPeople(request.cc, '/cc'),
    bcc: readPeople(request.bcc, '/bcc'),
    replyTo: request.replyTo === undefined ? null : requireAddress(request.replyTo, '/replyTo'),
  }
}

/** One or several people, as `ann@example.com` or `Ann <ann@example.com>`. @throws Problem `invalid_request` */
export function readPeople(given: string | readonly string[] | null | undefined, path: string): Person[] {
  if (given === undefined || given === null) return []
  if (typeof given === 'string') return [requirePerson(given, path)]
  return given.map((text, index) => requirePerson(text, `${path}/${index}`))
}

function requirePerson(text: string, path: string): Person {
  const bare = normaliseRecipient(text)
  if (bare !== undefined) return { address: bare, name: '', written: writtenAddress(text) }
  const mailbox = readMailbox(text)
  const address = mailbox && normaliseRecipient(mailbox.address)
  if (!mailbox || address === undefined) {
    throw invalidRequest(
      `body${path}`,
      'must be one email address, as ann@example.com or Ann <ann@example.com>; several stand in a list, and a name with a comma or an @ in double quotes',
    )
  }
  if (mailbox.name.length > displayNameLength) {
    throw invalidRequest(`body${path}`, `has a name of more than ${displayNameLength} characters`)
  }
  return { address, name: mailbox.name, written: writtenAddress(mailbox.address) }
}

/** The address in lower case. @throws Problem `invalid_request` that names `path` */
export function requireAddress(text: string, path: string): string {
  const address = normaliseRecipient(text)
  if (address !== undefined) return address
  throw invalidRequest(`body${path}`, 'must be a bare email address such as ann@example.com')
}

/**
 * The same of one that is kept to be compared with others: who writes a star into it means a pattern, which it would not be.
 * @throws Problem `invalid_request` that names `path`
 */
export function requireKnownAddress(text: string, path: string): string {
  const address = requireAddress(text, path)
  if (!address.includes('*')) return address
  throw invalidRequest(`body${path}`, 'must be one email address: a star is no pattern here')
}

/**
 * Chooses whom a message goes to. An explicit `to` is taken as it stands; without one, a reply goes where the answered message
 * leads. Nobody gets two copies, and nobody in bcc a visible one.
 * @param sender the inbox's own address
 * @param derived undefined unless the message is a reply
 * @throws Problem `invalid_request` for nobody or too many; `recipient_is_sender`
 */
export function chooseAddressees(named: Named, sender: string, derived: Derived | undefined): Addressees {
  const taken = new Set<string>()
  const written = new Map<string, string>()
  const once = (people: readonly Person[]) =>
    people.filter(({ address, written: as = address }) => {
      if (taken.has(address)) return false
      if (as !== address) written.set(address, as)
      return taken.add(address)
    })
  const isHidden = ({ address }: Person) => named.bcc.some(one => one.address === address)
  const added = named.to.length === 0 ? (derived ?? nobody) : nobody
  const addressees = {
    to: once([...named.to, ...added.to]),
    cc: once([...named.cc, ...added.cc.filter(person => !isHidden(person))]),
    bcc: once(named.bcc),
    replyTo: named.replyTo,
  }
  const all = [...taken]
  if (addressees.to.length === 0) {
    const why = derived
      ? 'is required: the answered message names nobody else whom a reply could go to'
      : 'is required unless this is a reply'
    throw invalidRequest('body/to', why)
  }
  if (all.length > sendRecipients) {
    throw invalidRequest(
      '',
      `A message goes to at most ${sendRecipients} recipients, and this one would go to ${all.length}`,
    )
  }
  const self = all.find(address => baseAddress(address) === sender)
  if (self !== undefined) {
    throw new Problem('recipient_is_sender', `An inbox can't send to itself (${self}).`, { recipient: self })
  }
  return { ...addressees, all, written }
}
