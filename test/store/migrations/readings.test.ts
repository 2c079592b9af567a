import { sql } from 'kysely'
import t from 'tap'
import { openSqliteWriter } from '../../../lib/store/dialect/sqlite.ts'
import { findWholeMessage } from '../../../lib/store/messages.ts'
import { migrate } from '../../../lib/store/migrations/migrate.ts'
import { searchMessages } from '../../../lib/store/search/search.ts'
import { insertInstallation, insertThreadRow } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('messages of before keep their texts, once for a raw, and are found', async t => {
  const writer = openSqliteWriter(`${temporaryDir(t)}/old.sqlite`)
  t.teardown(() => writer.close())
  const { db } = writer
  const skip = async (numbers: readonly number[]) => {
    for (const number of numbers) {
      await sql`insert into "migration" values (${number}, 'skipped', 0, 'x')`.execute(db)
    }
  }
  await sql`create table "migration" ("number" integer primary key, "name" text not null,
    "breaking" integer not null, "appliedAt" text not null)`.execute(db)
  await skip([7, 13, 27, 29, 45])
  await migrate(db, 'sqlite', 'x')
  const { inbox } = await insertInstallation(db)
  const thread = await insertThreadRow(db, inbox.id)
  await sql`insert into "raw" values ('r1', 1, null, 'x')`.execute(db)
  const insert = (id: string, direction: string, rawId: string | null, text: string) =>
    sql`insert into "message" ("id", "inboxId", "threadId", "direction", "status", "rawId", "references", "mailFrom", "trace",
      "fromAddr", "toAddr", "cc", "bcc", "subject", "bodyText", "bodyHtml", "attachments", "category", "autoReplyable",
      "verdict", "authentication", "createdAt")
      values (${id}, ${inbox.id}, ${thread.id}, ${direction}, 'x', ${rawId}, '[]', '', '', 'b@x', 'a@x', '[]', '[]', 's', ${text},
      '<p>', '[{"filename":"menu.pdf"}]', 'personal', 1, 'clean', '{}', '2026-01-02T03:04:05.678Z')`.execute(
      db,
    )
  await insert('m1', 'inbound', 'r1', 'shared words')
  await insert('m2', 'inbound', 'r1', 'shared words')
  await insert('m3', 'outbound', 'r1', 'as it was composed')
  await insert('m4', 'outbound', null, 'without a raw')
  await sql`delete from "migration" where "name" = 'skipped'`.execute(db)
  t.strictSame(await migrate(db, 'sqlite', 'x'), [7, 13, 27, 29, 45])

  t.match(await findWholeMessage(db, 'm1'), {
    bodyText: 'shared words',
    bodyHtml: '<p>',
    parseProblems: '[]',
  })
  t.match(await findWholeMessage(db, 'm2'), { bodyText: 'shared words', extracted: null, readingId: 'r1' })
  t.match(await findWholeMessage(db, 'm3'), { bodyText: 'as it was composed', readingId: 'm3' })
  t.match(await findWholeMessage(db, 'm4'), { bodyText: 'without a raw', attachments: /menu/ })
  t.equal((await db.selectFrom('reading').select('id').execute()).length, 3)
  const scope = { podId: null, inboxId: inbox.id }
  const found = await searchMessages(db, scope, { q: 'composed menu' }, { limit: 10, offset: 0 })
  t.strictSame(found.rows, ['m3'])
})
