import { type FoundFault, faultsOfText, type Given, Problem } from '../../base/problem.ts'

import { normaliseAddress } from '../../mail/address/address.ts'
import { singleLine } from '../../mail/header/text.ts'
import type { Member, MemberCreation } from '../../model/member.ts'
import type { Listed, Page } from '../../model/page.ts'
import { countForwardingTo } from '../../store/inboxes.ts'
import * as members from '../../store/members.ts'
import type { App, Rows } from '../app/app.ts'
import { requireKnownAddress } from '../outbound/addressees.ts'

/** In the order of their addresses. */
export function listMembers(app: Rows, page: Page): Promise<Listed<Member>> {
  return members.listMembers(app.store.read, page)
}

/**
 * From now on mail can be forwarded to this address without asking it. A question that is open already stays open: it must
 * be answered, or forwardTo be set again.
 * @throws Problem `invalid_request`, `member_exists`
 */
export async function addMember(app: App, request: MemberCreation): Promise<Member> {
  const name = request.name ?? null
  const row: Member = {
    address: requireKnownAddress(request.address, '/address'),
    name: name === null ? null : singleLine(name),
    createdAt: app.clock.now().toISOString(),
  }
  await app.store.write(async db => {
    if (await members.findMember(db, row.address)) throw new Problem('member_exists')
    await members.insertMember(db, row)
  })
  return row
}

/** What no schema says of a member that is to be added. */
export function memberFaults(given: Given): Iterable<FoundFault> {
  return faultsOfText(given, 'address', text => requireKnownAddress(text, '/address'))
}

/** How many inboxes forward to an address, or wait for its consent. @throws Problem `not_found` when it is no member */
export async function countForwardingToMember({ store }: Rows, address: string): Promise<number> {
  const known = normaliseAddress(address)
  if (known === undefined || !(await members.findMember(store.read, known))) throw noSuchMember()
  return countForwardingTo(store.read, known)
}

/** What is forwarded to the address already goes on. @throws Problem `not_found` */
export async function removeMember(app: App, address: string): Promise<void> {
  const known = normaliseAddress(address)
  const isGone = known !== undefined && (await app.store.write(db => members.deleteMember(db, known)))
  if (!isGone) throw noSuchMember()
}

const noSuchMember = () => new Problem('not_found', 'This address is not a member.')
