import { Problem } from '../../base/problem.ts'
import { singleLine } from '../../mail/header/text.ts'
import type { EventName } from '../../model/event.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdRows } from '../../store/hold-rows.ts'
import { findInbox, updateInbox } from '../../store/inboxes.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { operator } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import { recordEvent } from '../events/record.ts'
import { holdSome, releaseSome } from '../outbound/hold.ts'

/** Whether an inbox may send; while it is suspended it receives all the same. */
export type Suspension = Pick<InboxRow, 'id' | 'address' | 'suspendedAt' | 'suspendedReason'>

/**
 * Suspends an inbox; what it has in the queue is held. One that is suspended already keeps the time of its suspension and gets the new reason.
 * @throws Problem `not_found`
 */
export async function suspendInbox(
  app: App,
  idOrAddress: string,
  reason: string | null,
): Promise<Suspension> {
  const suspendedReason = reason === null ? null : singleLine(reason)
  let held: string | undefined
  const suspension = await change(
    app,
    idOrAddress,
    ({ suspendedAt }) => ({
      suspendedAt: suspendedAt ?? app.clock.now().toISOString(),
      suspendedReason,
    }),
    async (db, id) => {
      held = await holdSome(app, db, id, '')
    },
  )
  // What comes up in the queue before it is held here is held then.
  while (held !== undefined) {
    const after: string = held
    held = await app.store.writeHolding(
      () => ({ inboxes: [suspension.id] }),
      db => holdSome(app, db, suspension.id, after),
    )
  }
  return suspension
}

/** Lets a suspended inbox send again, and goes on with what it had in the queue. @throws Problem `not_found` */
export async function resumeInbox(app: App, idOrAddress: string): Promise<Suspension> {
  const resumed = await change(app, idOrAddress, () => ({ suspendedAt: null, suspendedReason: null }))
  while ((await releaseSome(app, resumed.id)) > 0);
  return resumed
}

type Changes = Pick<Suspension, 'suspendedAt' | 'suspendedReason'>

async function change(
  app: App,
  idOrAddress: string,
  changesOf: (row: InboxRow) => Changes,
  also: (db: WriteDb, id: string) => Promise<void> = async () => {},
): Promise<Suspension> {
  const { id } = await getInboxRow(app.store.read, operator, idOrAddress)
  return app.store.write(async db => {
    await holdRows(db, { inboxes: [id] })
    const row = await findInbox(db, id)
    if (!row) throw new Problem('not_found', 'There is no such inbox.')
    const changes = changesOf(row)
    await updateInbox(db, id, changes)
    await also(db, id)
    const event = eventOf(row, changes)
    if (event) {
      const subject = { podId: row.podId, inboxId: id, threadId: null, messageId: null }
      await recordEvent(app, db, event, subject, { reason: changes.suspendedReason })
    }
    return { id, address: row.address, ...changes }
  })
}

function eventOf(before: Changes, after: Changes): EventName | undefined {
  if ((before.suspendedAt === null) === (after.suspendedAt === null)) return undefined
  return after.suspendedAt === null ? 'inbox.reactivated' : 'inbox.suspended'
}
