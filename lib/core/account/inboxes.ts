import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isId } from '../../base/ids.ts'
import { packageRoot } from '../../base/package-root.ts'
import {
  type FoundFault,
  faultsOfText,
  type Given,
  invalidRequest,
  mailboxNameMax,
  mailboxNameMin,
  Problem,
} from '../../base/problem.ts'

import { randomBase36, sha256Hex } from '../../base/secrets.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { singleLine } from '../../mail/header/text.ts'
import type { Inbox, InboxChange, InboxCreation } from '../../model/inbox.ts'
import type { Listed, Page } from '../../model/page.ts'
import { revokeInboxApiKeys } from '../../store/api-keys.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { holdRows } from '../../store/hold-rows.ts'
import * as inboxes from '../../store/inboxes.ts'
import { findDefaultPod, findPod } from '../../store/pods.ts'
import { deletePolicy } from '../../store/policy.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { type Caller, reachesInbox, reachesPod, requireAccess } from '../app/caller.ts'
import { findInboxByName, findPodByName, findReachableInbox, getInboxRow, noSuchInbox } from '../app/reach.ts'
import { secretOf } from '../app/secrets.ts'
import { findHolder, isOpenTo, isUsable, unusableDomain } from '../domains/usable.ts'
import { changeForwarding, requireTargetAddress } from '../forwarding/settings.ts'
import { forgetBounce } from '../outbound/suppressions.ts'
import { takeInboxPlace } from '../quota/plan.ts'
import { readWebhookUrl, webhookChange, webhookFaults } from '../webhooks/settings.ts'

/** As the caller may see it: where its events go is not for the key of an agent. */
function present(row: InboxRow, caller: Caller): Inbox {
  const { id, podId, clientId, address, displayName, forwardTo, createdAt } = row
  const webhookUrl = caller.inboxId === null ? row.webhookUrl : null
  return {
    id,
    podId,
    clientId,
    address,
    displayName,
    webhookUrl,
    forwardTo,
    forwardWhen: row.forwardWhen as Inbox['forwardWhen'],
    forwardStatus: row.forwardStatus as Inbox['forwardStatus'],
    createdAt,
  }
}

/** @throws Problem `not_found` */
export async function getInbox(app: Rows, caller: Caller, idOrAddress: string): Promise<Inbox> {
  return present(await getInboxRow(app.store.read, caller, idOrAddress), caller)
}

/** Which inboxes are wanted; undefined is no choice. */
export interface InboxesAsked {
  /** Its id or clientId; one that is unknown gives an empty list. */
  readonly pod?: string | undefined
  /** The one with this address, a system inbox too. */
  readonly address?: string | undefined
  /** The inbox of postmaster, too. */
  readonly withSystem?: boolean | undefined
}

/** @throws Problem `forbidden` when a scoped key asks for system inboxes */
export async function listInboxes(
  app: Rows,
  caller: Caller,
  { pod, address, withSystem = false }: InboxesAsked,
  page: Page,
): Promise<Listed<Inbox>> {
  if (withSystem) requireAccess(caller, 'account')
  const db = app.store.read
  const named = pod === undefined ? undefined : await findPodByName(db, pod)
  if (pod !== undefined && (!named || !reachesPod(caller, named.id))) return { rows: [], total: 0 }
  const only = address ?? caller.inboxId
  if (only !== null) {
    const row = await findReachableInbox(db, caller, only)
    const isWanted = row && (address === undefined || !isId(address)) && (!named || row.podId === named.id)
    return {
      rows: isWanted && page.offset === 0 && page.limit > 0 ? [present(row, caller)] : [],
      total: isWanted ? 1 : 0,
    }
  }
  const { rows, total } = await inboxes.listInboxes(
    db,
    { podId: named?.id ?? caller.podId, withSystem },
    page,
  )
  return { rows: rows.map(row => present(row, caller)), total }
}

/** As `ensureInbox`, for whom it is the same whether the inbox was there before. */
export async function createInbox(app: App, caller: Caller, request: InboxCreation): Promise<Inbox> {
  return (await ensureInbox(app, caller, request)).inbox
}

/**
 * Makes an inbox. The same request with the same `clientId` again gives the inbox that it made, as it is now, and changes
 * nothing: `isNew` says which it was.
 * @throws Problem as `takeInboxPlace`, `readWebhookUrl` and `changeForwarding`; `invalid_mailbox_name`, `invalid_domain`,
 * `address_taken`; `invalid_pod`, also to a pod key that names another pod; `client_id_taken` when the pod has an inbox
 * of this clientId that another request made
 */
export async function ensureInbox(
  app: App,
  caller: Caller,
  request: InboxCreation,
): Promise<{ readonly inbox: Inbox; readonly isNew: boolean }> {
  const name = request.mailboxName === undefined ? undefined : requireMailboxName(request.mailboxName)
  const domain = normaliseDomain(request.domain ?? app.config.account_domain)
  const url = readWebhookUrl(app, caller, request.webhookUrl)
  const clientId = requireClientId(request.clientId ?? null)
  const creationHash = clientId === null ? null : hashOfCreation(request)
  return app.store.write(async db => {
    const podId = await podForNewInbox(db, caller, request.podId)
    const known = clientId === null ? undefined : await inboxes.findInboxByClientId(db, podId, clientId)
    if (known) {
      if (known.creationHash !== creationHash) throw otherContent(known)
      return { inbox: present(known, caller), isNew: false }
    }
    const holder = domain === undefined ? undefined : await findHolder(app, db, domain)
    const isOpen = holder && isUsable(app, holder) && isOpenTo(holder, { podId })
    if (!isOpen) throw await unusableDomain(db, domain, podId)
    await takeInboxPlace(app, db, caller)
    const address =
      name === undefined
        ? await freeAddress(db, holder.domain)
        : await requireFreeAddress(db, name, holder.domain)
    await forgetBounce(db, address)
    const displayName = request.displayName ?? null
    const row = await insertInbox(app, db, { podId, address, displayName, clientId, creationHash })
    const { columns, secret } = await webhookChange(app, db, secretOf.inboxWebhook(row.id), row, url)
    if (url) await inboxes.updateInbox(db, row.id, columns)
    const forwarding = await changeForwarding(app, db, caller, { ...row, ...columns }, request)
    const inbox = { ...present(forwarding, caller), ...(secret !== undefined && { webhookSecret: secret }) }
    return { inbox, isNew: true }
  })
}

/** What no schema says of an inbox that is to be made or changed; the codes of its own stay where nothing else is wrong. */
export function* inboxFaults(given: Given, app: App): Generator<FoundFault> {
  const name = `must be ${mailboxNameMin} to ${mailboxNameMax} of a-z, 0-9, dot, hyphen and underscore, with a letter or digit at both ends and no two dots in a row`
  yield* faultsOfText(given, 'mailboxName', requireMailboxName, name)
  yield* faultsOfText(given, 'clientId', requireClientId)
  yield* webhookFaults(given, app)
  yield* faultsOfText(
    given,
    'forwardTo',
    requireTargetAddress,
    'must be one email address in a domain of the public Internet',
  )
}

/** @throws Problem `invalid_request` */
function requireClientId(clientId: string | null): string | null {
  if (clientId === '') throw invalidRequest('body/clientId', 'must have at least one character')
  return clientId
}

/** What tells one creation from another: all that is asked for but the pod, within which a clientId is looked up. */
function hashOfCreation(request: InboxCreation): string {
  const { mailboxName, displayName, domain, webhookUrl, forwardTo, forwardWhen } = request
  const asked = [
    mailboxName?.toLowerCase(),
    domain?.toLowerCase(),
    displayName,
    webhookUrl,
    forwardTo,
    forwardWhen,
  ]
  return sha256Hex(JSON.stringify(asked.map(value => value ?? null)))
}

function otherContent({ id, address }: InboxRow): Problem {
  const message = `The pod has an inbox with this clientId, ${address}, that was asked for with other content. Change that one, or choose another clientId.`
  return new Problem('client_id_taken', message, { inboxId: id })
}

/** Writes the row of a new inbox whose address is known to be free. */
export async function insertInbox(
  app: App,
  db: WriteDb,
  inbox: Pick<InboxRow, 'podId' | 'address' | 'displayName'> &
    Partial<Pick<InboxRow, 'clientId' | 'creationHash'>> & { readonly isSystem?: boolean },
): Promise<InboxRow> {
  const row: InboxRow = {
    id: app.ids.next(),
    podId: inbox.podId,
    address: inbox.address,
    displayName: inbox.displayName === null ? null : singleLine(inbox.displayName),
    inboundCount: 0,
    outboundCount: 0,
    threadCount: 0,
    unreadThreadCount: 0,
    createdAt: app.clock.now().toISOString(),
    deletedAt: null,
    purgedAt: null,
    webhookUrl: null,
    webhookSecret: null,
    forwardTo: null,
    forwardWhen: null,
    forwardStatus: null,
    forwardFailures: 0,
    suspendedAt: null,
    suspendedReason: null,
    isSystem: inbox.isSystem ? 1 : 0,
    hasHeld: 0,
    clientId: inbox.clientId ?? null,
    creationHash: inbox.creationHash ?? null,
    lastMessageMs: null,
    storedKiB: 0,
  }
  await inboxes.insertInbox(db, row)
  return row
}

async function podForNewInbox(db: Db, caller: Caller, named: string | undefined): Promise<string> {
  if (named === undefined) {
    if (caller.podId !== null) {
      // It may have been deleted since the key was looked at.
      if (!(await findPod(db, caller.podId))) throw new Problem('not_found', 'There is no such pod.')
      return caller.podId
    }
    const pod = await findDefaultPod(db)
    if (!pod) throw new Error('the account has no default pod')
    return pod.id
  }
  const pod = await findPodByName(db, named)
  // A pod key gets the same answer for a foreign pod and for none: it never learns what else there is.
  if (!pod || !reachesPod(caller, pod.id)) throw new Problem('invalid_pod')
  return pod.id
}

async function requireFreeAddress(db: Db, name: string, domain: string): Promise<string> {
  const address = `${name}@${domain}`
  if (isReservedName(name) || (await inboxes.isAddressUsed(db, address))) throw new Problem('address_taken')
  return address
}

async function freeAddress(db: Db, domain: string): Promise<string> {
  // 36^8 names: a second turn is rare, a tenth means that something else is wrong.
  for (let tried = 0; tried < 10; tried++) {
    const address = `${randomMailboxName()}@${domain}`
    if (!(await inboxes.isAddressUsed(db, address))) return address
  }
  throw new Error('no free random mailbox name found')
}

/** @throws Problem `not_found`; as `readWebhookUrl` and `changeForwarding` */
export async function changeInbox(
  app: App,
  caller: Caller,
  idOrAddress: string,
  change: InboxChange,
): Promise<Inbox> {
  const url = readWebhookUrl(app, caller, change.webhookUrl)
  const { id } = await getInboxRow(app.store.read, caller, idOrAddress)
  const changed = await app.store.write(async db => {
    await holdRows(db, { inboxes: [id] })
    const row = await changeForwarding(app, db, caller, await getInboxRow(db, caller, id), change)
    const { columns, secret } = await webhookChange(app, db, secretOf.inboxWebhook(row.id), row, url)
    const changes: Partial<InboxRow> = { ...columns }
    if (change.displayName !== undefined) {
      changes.displayName = change.displayName === null ? null : singleLine(change.displayName)
    }
    if (Object.keys(changes).length > 0) await inboxes.updateInbox(db, row.id, changes)
    return {
      ...present({ ...row, ...changes }, caller),
      ...(secret !== undefined && { webhookSecret: secret }),
    }
  })
  return changed
}

/**
 * The address stops receiving and is never given out again; the inbox's keys are revoked.
 * @throws Problem `not_found`; `forbidden` to a pod key for another pod's inbox (so the specification has it, and not 404)
 */
export async function deleteInbox(app: App, caller: Caller, idOrAddress: string): Promise<void> {
  await app.store.write(async db => {
    const row = await findInboxByName(db, idOrAddress)
    if (!row) throw noSuchInbox()
    if (!reachesInbox(caller, row))
      throw new Problem('forbidden', "This inbox belongs to another pod than the key's.")
    // RFC 5321 §4.5.1: the mail of postmaster must always find a place, and no address is ever given out again.
    if (row.isSystem === 1) {
      throw new Problem('forbidden', 'This inbox takes the mail of postmaster and abuse and must stay.')
    }
    const now = app.clock.now().toISOString()
    await inboxes.deleteInbox(db, row, now)
    await revokeInboxApiKeys(db, row.id, now)
    notice(db, 'revocation')
    await deletePolicy(db, row.id)
  })
}

const form = /^[a-z0-9][a-z0-9._-]*[a-z0-9]$/
const randomLength = 8

let reserved: ReadonlySet<string> | undefined

/** The local part of a new inbox, lower-case. @throws Problem `invalid_mailbox_name` */
export function requireMailboxName(text: string): string {
  const name = text.toLowerCase()
  const isFitting = name.length >= mailboxNameMin && name.length <= mailboxNameMax
  if (!isFitting || !form.test(name) || name.includes('..')) throw new Problem('invalid_mailbox_name')
  return name
}

/** Whether the name is one of config/reserved-names.txt, which no inbox gets. */
function isReservedName(name: string): boolean {
  reserved ??= readReservedNames()
  return reserved.has(name)
}

function readReservedNames(): ReadonlySet<string> {
  const lines = readFileSync(join(packageRoot(), 'config', 'reserved-names.txt'), 'utf8').split('\n')
  return new Set(lines.map(line => line.replace(/#.*/, '').trim().toLowerCase()).filter(line => line !== ''))
}

/** Eight characters of a-z0-9, without bias. */
function randomMailboxName(): string {
  return randomBase36(randomLength)
}
