import { forwardCooldownMs, Problem } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { domainOf, literalAddress, normaliseRecipient } from '../../mail/address/address.ts'
import { forwardModes } from '../../model/inbox.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import {
  findLastAskedAt,
  insertForwardConfirmation,
  listAskedAfter,
} from '../../store/forward-confirmations.ts'
import { type Forwarding, updateInbox } from '../../store/inboxes.ts'
import { findMember } from '../../store/members.ts'
import { findMessage } from '../../store/messages.ts'
import { deleteSuppression, findSuppression } from '../../store/suppressions.ts'
import type { InboxRow, SuppressionRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { podShare } from '../app/share.ts'
import { isDeliveredHere } from '../domains/usable.ts'
import { secondsUntil } from '../quota/period.ts'
import { forwardConfirmationMs, writeConfirmationMail } from './question.ts'

/** What a request says of forwarding; a field that it does not have stays as it is, null takes it away. */
export interface ForwardingRequest {
  readonly forwardTo?: string | null
  readonly forwardWhen?: string | null
}

const hourMs = 3_600_000
const none: Forwarding = { forwardTo: null, forwardWhen: null, forwardStatus: null, forwardFailures: 0 }

/**
 * Does what a request says of an inbox's forwarding, in its write, and gives the inbox as it is then. A member gets
 * copies at once; any other address is mailed a link first, and gets none until it is used. An address that gets copies
 * already is not asked again.
 * @throws Problem `invalid_forward_to`, `forward_to_is_service_address`, `invalid_forward_when`,
 * `forward_when_requires_forward_to`, `forward_verification_cooldown`, `forward_verification_limit`
 */
export async function changeForwarding(
  app: App,
  db: WriteDb,
  caller: Caller,
  inbox: InboxRow,
  request: ForwardingRequest,
): Promise<InboxRow> {
  const { forwardTo, forwardWhen } = request
  if (forwardTo === undefined && forwardWhen === undefined) return inbox
  const changes = await changesOf(app, db, caller, inbox, request)
  await updateInbox(db, inbox.id, changes)
  return { ...inbox, ...changes }
}

/** @throws Problem as `changeForwarding` */
async function changesOf(
  app: App,
  db: WriteDb,
  caller: Caller,
  inbox: InboxRow,
  { forwardTo, forwardWhen }: ForwardingRequest,
): Promise<Partial<Forwarding>> {
  if (typeof forwardWhen === 'string') requireMode(forwardWhen)
  const isUnset = forwardTo === null || (forwardTo === undefined && inbox.forwardTo === null)
  if (isUnset && typeof forwardWhen === 'string') throw new Problem('forward_when_requires_forward_to')
  if (isUnset) return none
  // Null is what it is where nothing is said.
  const mode = {
    forwardWhen: (forwardWhen === undefined ? inbox.forwardWhen : forwardWhen) ?? forwardModes[0],
  }
  if (forwardTo === undefined) return mode
  const address = await requireTarget(app, db, inbox, forwardTo)
  if (address === inbox.forwardTo && inbox.forwardStatus === 'active') return mode
  const isMember = (await findMember(db, address)) !== undefined
  if (!isMember) await askForConsent(app, db, caller, inbox, address)
  return { ...mode, forwardTo: address, forwardStatus: isMember ? 'active' : 'pending', forwardFailures: 0 }
}

function requireMode(text: string): void {
  if (!forwardModes.some(mode => mode === text)) throw new Problem('invalid_forward_when')
}

/**
 * An address, in lower case, that mail could be forwarded to: one of a domain, for an address literal may be this server's.
 * @throws Problem `invalid_forward_to`
 */
export function requireTargetAddress(text: string): string {
  const address = normaliseRecipient(text)
  if (address === undefined || literalAddress(domainOf(address)) !== undefined)
    throw new Problem('invalid_forward_to')
  return address
}

/**
 * An address that is not ours and is written to. One that is suppressed because copies of this inbox's mail came back, or
 * were complained of, is written to again: setting it anew resumes forwarding, and who is no member is asked first.
 */
async function requireTarget(app: App, db: WriteDb, inbox: InboxRow, text: string): Promise<string> {
  const address = requireTargetAddress(text)
  if (domainOf(address) === app.config.hostname || (await isDeliveredHere(app, db, address)))
    throw new Problem('forward_to_is_service_address')
  const by = { podId: inbox.podId, now: app.clock.now().toISOString() }
  // There may be one for the pod and one for all.
  for (;;) {
    const suppressed = await findSuppression(db, [address], by)
    if (!suppressed) return address
    if (await isByOwnCopy(db, inbox, address, suppressed)) {
      await deleteSuppression(db, address, { podId: suppressed.podId })
      continue
    }
    const message = `${address} is on the suppression list (${suppressed.reason}), so nothing is sent to it.`
    throw new Problem('invalid_forward_to', message, { type: suppressed.reason })
  }
}

async function isByOwnCopy(
  db: Db,
  inbox: InboxRow,
  address: string,
  { messageId }: SuppressionRow,
): Promise<boolean> {
  if (inbox.forwardStatus !== 'disabled' || inbox.forwardTo !== address || messageId === null) return false
  const message = await findMessage(db, messageId)
  // What was sent by the inbox itself is no copy.
  return message?.inboxId === inbox.id && message.direction === 'inbound'
}

/** Mails the address a new link; from then on those before it, for this inbox, are not good any more. */
async function askForConsent(
  app: App,
  db: WriteDb,
  caller: Caller,
  inbox: InboxRow,
  address: string,
): Promise<void> {
  const now = app.clock.now()
  await takeQuestion(app, db, caller, address, now)
  const question = {
    id: app.ids.next(),
    inboxId: inbox.id,
    address,
    createdAt: now.toISOString(),
    expiresAt: isoAfter(now, forwardConfirmationMs),
    usedAt: null,
  }
  await insertForwardConfirmation(db, question)
  await writeConfirmationMail(app, db, inbox, question)
}

/** The questions that were asked count themselves. */
async function takeQuestion(app: App, db: Db, caller: Caller, address: string, now: Date): Promise<void> {
  const refuse = (
    code: 'forward_verification_cooldown' | 'forward_verification_limit',
    since: string,
    ms: number,
  ) => {
    const retryAfterSeconds = secondsUntil(new Date(Date.parse(since) + ms), now)
    throw new Problem(code, undefined, { retryAfterSeconds })
  }
  const asked = await findLastAskedAt(db, address)
  if (asked !== undefined && asked > isoAfter(now, -forwardCooldownMs)) {
    refuse('forward_verification_cooldown', asked, forwardCooldownMs)
  }
  const all = app.config.limits.forward_confirmations_per_hour
  const requireRoom = async (podId: string | null, places: number) => {
    const within = await listAskedAfter(db, { after: isoAfter(now, -hourMs), podId }, places)
    const oldest = within[places - 1]
    if (oldest !== undefined) refuse('forward_verification_limit', oldest, hourMs)
  }
  await requireRoom(null, all)
  if (caller.podId !== null) await requireRoom(caller.podId, podShare(all))
}
