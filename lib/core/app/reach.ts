import { isId } from '../../base/ids.ts'
import { Problem } from '../../base/problem.ts'
import { normaliseAddress } from '../../mail/address/address.ts'
import { findAccount } from '../../store/account.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import * as inboxes from '../../store/inboxes.ts'
import { findInbox } from '../../store/inboxes.ts'
import * as messages from '../../store/messages.ts'
import * as pods from '../../store/pods.ts'
import type { AccountRow, InboxRow, MessageRow, PodRow, ThreadRow, WholeMessage } from '../../store/tables.ts'
import * as threads from '../../store/threads.ts'
import type { Desk } from './app.ts'
import { type Caller, reachesInbox, reachesPod } from './caller.ts'
import { secretOf } from './secrets.ts'

export function noSuchInbox(): Problem {
  return new Problem('not_found', 'There is no such inbox.')
}

/** The inbox with this id or this address, whoever may see it. */
export async function findInboxByName(db: Db, idOrAddress: string): Promise<InboxRow | undefined> {
  if (isId(idOrAddress)) return inboxes.findInbox(db, idOrAddress.toLowerCase())
  const address = normaliseAddress(idOrAddress)
  return address === undefined ? undefined : inboxes.findInboxByAddress(db, address)
}

/** The same, if the caller reaches it: what is out of reach is answered as what is not there. */
export async function findReachableInbox(
  db: Db,
  caller: Caller,
  idOrAddress: string,
): Promise<InboxRow | undefined> {
  const row = await findInboxByName(db, idOrAddress)
  return row && reachesInbox(caller, row) ? row : undefined
}

/** The inbox with this id or this address, if it is there and the caller reaches it. @throws Problem `not_found` */
export async function getInboxRow(db: Db, caller: Caller, idOrAddress: string): Promise<InboxRow> {
  return requireReachable(caller, await findInboxByName(db, idOrAddress))
}

/** An inbox row that was read, if it is there and the caller reaches it. @throws Problem `not_found` */
export function requireReachable(caller: Caller, row: InboxRow | undefined): InboxRow {
  if (!row || !reachesInbox(caller, row)) throw noSuchInbox()
  return row
}

/** The pod with this id or, failing that, this clientId. */
export async function findPodByName(db: Db, idOrClientId: string): Promise<PodRow | undefined> {
  const byId = isId(idOrClientId) ? await pods.findPod(db, idOrClientId.toLowerCase()) : undefined
  return byId ?? pods.findPodByClientId(db, idOrClientId)
}

/** The pod, if the caller reaches it. @throws Problem `not_found` */
export async function getPodRow(db: Db, caller: Caller, idOrClientId: string): Promise<PodRow> {
  const row = await findPodByName(db, idOrClientId)
  if (!row || !reachesPod(caller, row.id)) throw new Problem('not_found', 'There is no such pod.')
  return row
}

/** The thread, if it and its inbox are there and the caller reaches them. @throws Problem `not_found` */
export async function getThreadRow(db: Db, caller: Caller, id: string): Promise<ThreadRow> {
  const row = isId(id) ? await threads.findThread(db, id.toLowerCase()) : undefined
  const inbox = row && (await findInbox(db, row.inboxId))
  if (!row || !inbox || !reachesInbox(caller, inbox))
    throw new Problem('not_found', 'There is no such thread.')
  return row
}

/** The message, if it and its inbox are there and the caller reaches them. @throws Problem `not_found` */
export function getMessageRow(db: Db, caller: Caller, id: string): Promise<MessageRow> {
  return getReachable(db, caller, id, messages.findMessage)
}

/** The same with what it says. @throws Problem `not_found` */
export function getWholeMessage(db: Db, caller: Caller, id: string): Promise<WholeMessage> {
  return getReachable(db, caller, id, messages.findWholeMessage)
}

async function getReachable<Row extends MessageRow>(
  db: Db,
  caller: Caller,
  id: string,
  find: (db: Db, id: string) => Promise<Row | undefined>,
): Promise<Row> {
  const row = isId(id) ? await find(db, id.toLowerCase()) : undefined
  const inbox = row && (await findInbox(db, row.inboxId))
  if (!row || !inbox || !reachesInbox(caller, inbox)) throw noSuchMessage()
  return row
}

export function noSuchMessage(): Problem {
  return new Problem('not_found', 'There is no such message.')
}

export async function getAccountRow(db: Db): Promise<AccountRow> {
  const row = await findAccount(db)
  if (!row) throw new Error('there is no account row')
  return row
}

/** The secret of this installation, which URLs and links are signed with. */
export async function signingSecret(app: Desk, db: Db): Promise<string> {
  const row = await getAccountRow(db)
  return app.secrets.open(secretOf.accountSigning(row.id), row.signingSecret)
}
