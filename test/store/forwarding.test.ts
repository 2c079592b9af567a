import { findCopyBefore, insertAttempt, insertDeliveries, wasTaken } from '../../lib/store/deliveries.ts'
import * as confirmations from '../../lib/store/forward-confirmations.ts'
import { findInbox, updateInbox } from '../../lib/store/inboxes.ts'
import { deleteMember, findMember, insertMember, listMembers } from '../../lib/store/members.ts'
import type { DeliveryRow } from '../../lib/store/tables.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInboxRow, insertInstallation, insertMessageRow, insertThreadRow } from '../support/rows.ts'

const at = (minute: number) => `2026-01-02T00:${String(minute).padStart(2, '0')}:00.000Z`

onEveryDatabase('members, in the order of their addresses', async (t, store) => {
  await store.write(async db => {
    for (const name of ['c', 'a', 'b'])
      await insertMember(db, { address: `${name}@x.example`, name: null, createdAt: at(0) })
  })
  t.match(await listMembers(store.read, { limit: 2, offset: 1 }), {
    rows: [{ address: 'b@x.example' }, { address: 'c@x.example' }],
    total: 3,
  })
  t.equal(await store.write(db => deleteMember(db, 'b@x.example')), true)
  t.equal(await store.write(db => deleteMember(db, 'b@x.example')), false)
  t.equal(await findMember(store.read, 'b@x.example'), undefined)
  await t.rejects(
    store.write(db => insertMember(db, { address: 'a@x.example', name: null, createdAt: at(1) })),
  )
})

onEveryDatabase('what was asked, when, and for which inbox', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const other = await store.write(db => insertInboxRow(db, pod.id, 'bea@example.com'))
  const ask = (id: string, inboxId: string, address: string, minute: number) =>
    store.write(db =>
      confirmations.insertForwardConfirmation(db, {
        ...{ id, inboxId, address, createdAt: at(minute), expiresAt: at(59), usedAt: null },
      }),
    )
  await ask('1', inbox.id, 'a@x.example', 1)
  await ask('2', other.id, 'a@x.example', 2)
  await ask('3', inbox.id, 'b@x.example', 3)
  t.equal(await confirmations.findLastForwardConfirmationId(store.read, inbox.id), '3')
  t.equal(await confirmations.findLastForwardConfirmationId(store.read, other.id), '2')
  t.equal(await confirmations.findLastForwardConfirmationId(store.read, 'none'), undefined)
  t.equal(await confirmations.findLastAskedAt(store.read, 'a@x.example'), at(2))
  t.equal(await confirmations.findLastAskedAt(store.read, 'c@x.example'), undefined)
  const asked = (after: string, podId: string | null, limit = 9) =>
    confirmations.listAskedAfter(store.read, { after, podId }, limit)
  t.strictSame(await asked(at(1), null), [at(3), at(2)])
  t.strictSame(await asked(at(0), null, 2), [at(3), at(2)])
  t.strictSame(await asked(at(0), 'none'), [])
  const { podId } = await store.read.selectFrom('inbox').select('podId').executeTakeFirstOrThrow()
  t.strictSame(await asked(at(0), podId, 2), [at(3), at(2)])
  await store.write(db => confirmations.setForwardConfirmationUsed(db, '1', at(4)))
  t.match(await confirmations.findForwardConfirmation(store.read, '1'), { usedAt: at(4) })
  const remove = (of: { before: string; inboxId?: string }, limit = 9) =>
    store.write(db => confirmations.deleteForwardConfirmations(db, of, limit))
  t.equal(await remove({ before: at(2), inboxId: other.id }), 0)
  t.equal(await remove({ before: at(3), inboxId: other.id }), 1)
  t.equal(await remove({ before: at(9) }, 1), 1)
  t.equal(await remove({ before: at(9) }), 1)
})

onEveryDatabase('the copy before, and whether a host took it', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const copies = await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const rows: DeliveryRow[] = []
    for (const [index, recipient] of ['a@x.example', 'b@x.example', 'a@x.example'].entries()) {
      const message = await insertMessageRow(db, thread)
      rows.push({
        ...{
          id: `d${index}`,
          messageId: message.id,
          recipient,
          state: 'delivered',
          captured: 0,
          attempts: 1,
        },
        ...{ replyCode: 250, replyEnhanced: null, replyText: null, remoteHost: null, nextAttemptAt: null },
        ...{
          createdAt: at(index),
          updatedAt: at(index),
          purpose: 'forward',
          mailFrom: null,
          heldBy: null,
          rcptTo: null,
          replyClass: null,
          notify: null,
          noticeAt: null,
        },
      })
    }
    await insertDeliveries(db, rows)
    for (const [id, deliveryId, result] of [
      ['a0', 'd0', 'transient'],
      ['a1', 'd0', 'delivered'],
      ['a2', 'd1', 'permanent'],
    ] as const) {
      await insertAttempt(db, {
        ...{ id, deliveryId, result, replyCode: null, replyEnhanced: null, replyText: '', remoteHost: null },
        ...{ remoteAddress: null, tls: null, durationMs: 1, createdAt: at(0) },
      })
    }
    await updateInbox(db, inbox.id, { forwardTo: 'a@x.example', forwardFailures: 2 })
    return rows
  })
  t.match(await findCopyBefore(store.read, inbox.id, copies[2]!, 9), { id: 'd0' })
  t.equal(await findCopyBefore(store.read, inbox.id, copies[2]!, 1), undefined, 'no further than told')
  t.equal(await findCopyBefore(store.read, inbox.id, copies[0]!, 9), undefined)
  t.equal(await wasTaken(store.read, 'd0'), true)
  t.equal(await wasTaken(store.read, 'd1'), false)
  t.match(await findInbox(store.read, inbox.id), { forwardTo: 'a@x.example', forwardFailures: 2 })
})
