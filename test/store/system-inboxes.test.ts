import { deleteInbox, insertInbox, listInboxes } from '../../lib/store/inboxes.ts'
import { door } from '../../lib/store/migrations/0012-door.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInstallation } from '../support/rows.ts'

onEveryDatabase(
  'the inbox of postmaster is in no counter, nor after the migration of an old installation',
  async (t, store) => {
    await store.write(async db => {
      const { pod, inbox } = await insertInstallation(db)
      const system = {
        ...inbox,
        id: '019b0000-0000-7000-8000-000000000001',
        address: 'postmaster@example.com',
      }
      const counters = async () => [
        (await db.selectFrom('account').select('inboxCount').executeTakeFirstOrThrow()).inboxCount,
        (await db.selectFrom('pod').select('inboxCount').where('id', '=', pod.id).executeTakeFirstOrThrow())
          .inboxCount,
        ...(await db.selectFrom('domainUse').select('inboxCount').execute()).map(row => row.inboxCount),
      ]
      const before = await counters()
      const page = { limit: 10, offset: 0 }
      const listed = async (withSystem: boolean) => {
        const { rows, total } = await listInboxes(db, { podId: pod.id, withSystem }, page)
        return [rows.length, total]
      }
      // As it was counted once.
      await insertInbox(db, system)
      t.not(String(await counters()), String(before))
      await door.fill!(db)
      t.strictSame(await counters(), before)
      t.strictSame(
        [await listed(false), await listed(true)],
        [
          [1, 1],
          [2, 2],
        ],
      )
      await deleteInbox(db, { ...system, isSystem: 1 }, '2026-01-02T03:04:05.678Z')
      t.strictSame(await counters(), before)
    })
  },
)
