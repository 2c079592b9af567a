import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { findAccount } from '../store/account.ts'
import type { Db } from '../store/dialect.ts'
import * as confirmations from '../store/forward-confirmations.ts'
import { findInbox, updateInbox } from '../store/inboxes.ts'
import type { ForwardConfirmationRow, InboxRow } from '../store/tables.ts'
import type { App } from './app.ts'
import { readConfirmationToken } from './confirmation-token.ts'

/** What somebody with a link is asked. */
export interface ForwardQuestion {
  /** The inbox whose mail is copied. */
  readonly from: string
  readonly to: string
}

/** Why a link is not good: not ours, too old, used, or not the newest for what the inbox is set to now. */
export type DeadLink = 'unknown' | 'expired' | 'used' | 'superseded'

/** What the link with this token asks; changes nothing, because mail scanners follow links. */
export async function findForwardQuestion(app: App, token: string): Promise<ForwardQuestion | DeadLink> {
  const found = await findOpenQuestion(app, app.store.read, token)
  return typeof found === 'string' ? found : { from: found.inbox.address, to: found.question.address }
}

/** The address consents: from now on it gets copies. A link is good once. */
export async function confirmForwarding(app: App, token: string): Promise<ForwardQuestion | DeadLink> {
  return app.store.write(async db => {
    const found = await findOpenQuestion(app, db, token)
    if (typeof found === 'string') return found
    const { question, inbox } = found
    await confirmations.setForwardConfirmationUsed(db, question.id, app.clock.now().toISOString())
    await updateInbox(db, inbox.id, { forwardStatus: 'active', forwardFailures: 0 })
    app.log.info({ inboxId: inbox.id, confirmationId: question.id }, 'forwarding confirmed')
    return { from: inbox.address, to: question.address }
  })
}

async function findOpenQuestion(
  app: App,
  db: Db,
  token: string,
): Promise<{ question: ForwardConfirmationRow; inbox: InboxRow } | DeadLink> {
  const account = await findAccount(db)
  if (!account) throw new Error('there is no account row')
  const read = readConfirmationToken(account.signingSecret, token, app.clock.now())
  if (typeof read === 'string') return read
  const question = await confirmations.findForwardConfirmation(db, read.id)
  if (!question) return 'superseded'
  if (question.usedAt !== null) return 'used'
  const inbox = await findAskingInbox(db, question)
  return inbox ? { question, inbox } : 'superseded'
}

/** The inbox, while it still waits for the answer to this question and to no newer one. */
export async function findAskingInbox(
  db: Db,
  question: ForwardConfirmationRow,
): Promise<InboxRow | undefined> {
  const inbox = await findInbox(db, question.inboxId)
  if (inbox?.forwardTo !== question.address || inbox.forwardStatus !== 'pending') return undefined
  const newest = await confirmations.findLastForwardConfirmationId(db, question.inboxId)
  return newest === question.id ? inbox : undefined
}

/** Deletes some questions whose links are over; gives how many. */
export async function expireForwardConfirmations(app: App): Promise<number> {
  const before = isoAfter(app.clock.now(), -limits.forwardConfirmationMs)
  return app.store.write(db => confirmations.deleteForwardConfirmations(db, { before }, limits.sweepRows))
}
