import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { baseAddress, normaliseRecipient, writtenAddress } from '../../mail/address/address.ts'
import { readMailbox } from '../../mail/header/mailbox.ts'
import type { SendRequest } from '../../model/send.ts'
import type { Correspondents } from './correspondents.ts'
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
  if (mailbox.name.length > limits.displayNameLength) {
    throw invalidRequest(`body${path}`, `has a name of more than ${limits.displayNameLength} characters`)
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

/** A reply: who took part in what it answers, and whether it goes to all of them. */
export interface Reply {
  readonly correspondents: Correspondents
  readonly isToAll: boolean
}

/**
 * Whom a message goes to: whom its request names and, of a reply, whom that leaves to what is answered.
 * @param sender the inbox's own address
 * @throws Problem `invalid_request` for nobody or too many; `recipient_is_sender`
 */
export function chooseAddressees(named: Named, sender: string, reply: Reply | undefined): Addressees {
  const taken = new Set<string>()
  const written = new Map<string, string>()
  const once = (people: readonly Person[]) =>
    people.filter(({ address, written: as = address }) => {
      if (taken.has(address)) return false
      if (as !== address) written.set(address, as)
      return taken.add(address)
    })
  const wanted = reply ? complete(named, reply) : named
  const addressees = {
    to: once(wanted.to),
    cc: once(wanted.cc),
    bcc: once(named.bcc),
    replyTo: named.replyTo,
  }
  const all = [...taken]
  if (addressees.to.length === 0) {
    const why = reply
      ? 'is required: what is answered names nobody else whom a reply could go to'
      : 'is required unless this is a reply'
    throw invalidRequest('body/to', why)
  }
  if (all.length > limits.sendRecipients) {
    throw invalidRequest(
      '',
      `A message goes to at most ${limits.sendRecipients} recipients, and this one would go to ${all.length}${reply ? '; say in to whom the reply is for, without replyAll' : ''}`,
    )
  }
  const self = all.find(address => baseAddress(address) === sender)
  if (self !== undefined) {
    throw new Problem('recipient_is_sender', `An inbox can't send to itself (${self}).`, { recipient: self })
  }
  return { ...addressees, all, written }
}

/**
 * Where a reply goes: without a `to`, to whom the answered message wants it; with one of those people, to all of them
 * where the inbox was only copied; and else as its request says. Who is to get a blind copy gets no other.
 */
function complete(named: Named, { correspondents, isToAll }: Reply): Pick<Named, 'to' | 'cc'> {
  const { main, copied, others, isInboxCopied } = correspondents
  const theirs = [...main, ...copied]
  const isIn = (list: readonly Person[], { address }: Person) => list.some(one => one.address === address)
  const isCompleted =
    named.to.length === 0 || (isInboxCopied && named.to.every(person => isIn(theirs, person)))
  const added = [...(isCompleted ? copied : isToAll ? theirs : []), ...(isToAll ? others : [])]
  return {
    to: isCompleted
      ? main.map(one => named.to.find(({ address, name }) => address === one.address && name !== '') ?? one)
      : named.to,
    cc: [...named.cc, ...added.filter(person => !isIn(named.bcc, person))],
  }
}
