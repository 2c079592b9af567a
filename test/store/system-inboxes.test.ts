import { deleteInbox, insertInbox, listInboxes } from '../../lib/store/inboxes.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInstallation } from '../support/rows.ts'

onEveryDatabase('the inbox of postmaster is in no counter', async (t, store) => {
  await store.write(async db => {
    const { pod, inbox } = await insertInstallation(db)
    const system = {
      ...inbox,
      id: '019b0000-0000-7000-8000-000000000001',
      address: 'postmaster@example.com',
      isSystem: 1,
    }
    const counters = async () => [
      (await db.selectFrom('account').select('inboxCount').executeTakeFirstOrThrow()).inboxCount,
      (await db.selectFrom('pod').select('inboxCount').where('id', '=', pod.id).executeTakeFirstOrThrow())
        .inboxCount,
    ]
    const before = await counters()
    const page = { limit: 10, offset: 0 }
    const listed = async (withSystem: boolean) => {
      const { rows, total } = await listInboxes(db, { podId: pod.id, withSystem }, page)
      return [rows.length, total]
    }
    await insertInbox(db, system)
    t.strictSame(await counters(), before)
    const uses = async () =>
      (await db.selectFrom('domainUse').select('inboxCount').execute()).map(row => row.inboxCount)
    t.strictSame(await uses(), [2], 'its domain is in use all the same')
    t.strictSame(
      [await listed(false), await listed(true)],
      [
        [1, 1],
        [2, 2],
      ],
    )
    await deleteInbox(db, system, '2026-01-02T03:04:05.678Z')
    t.strictSame(await counters(), before)
    t.strictSame(await uses(), [1])
  })
})
