import { existsSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { createLog } from '../../../lib/base/log.ts'
import { openDisk } from '../../../lib/blob/disk.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { expireBeforeUpgrade } from '../../../lib/core/backup/upgrade.ts'
import { verify } from '../../../lib/core/backup/verify.ts'
import { openSqliteWriter } from '../../../lib/store/dialect/sqlite.ts'
import { migrations } from '../../../lib/store/migrations/index.ts'
import { migrate } from '../../../lib/store/migrations/migrate.ts'
import { openStore } from '../../../lib/store/open.ts'
import { startDaemon } from '../../support/daemon.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const at = '2026-01-02T03:04:05.678Z'

/** What names a file has the form of an id. */
const idOf = (n: number) => `01936f00-0000-7000-8000-00000000000${n}`

/** What a small installation of the first schema holds: an inbox, mail that came, mail that went, and one on its way. */
const firstRows = `
insert into "account" values ('${idOf(0)}', 'secret', 1, 1, '${at}');
insert into "pod" values ('p', null, null, 1, 1, '${at}');
insert into "inbox" values ('i', 'p', 'ann@ours.example', 'Ann', 1, 2, 2, 1, '${at}', null, null);
insert into "raw" values ('${idOf(1)}', 5, x'68656c6c6f', '${at}');
insert into "raw" values ('${idOf(2)}', 5, x'68656c6c6f', '${at}');
insert into "raw" values ('${idOf(3)}', 5, x'68656c6c6f', '${at}');
insert into "thread" values ('t1', 'i', 'Fish', 0, 2, '${at}', '${at}');
insert into "thread" values ('t2', 'i', 'Bread', 1, 1, '${at}', '${at}');
insert into "message" values ('m1', 'i', 't1', 'inbound', 'received', '${idOf(1)}', '<1@x>', null, '[]', 'bob@x.example', '', 'bob@x.example',
  'ann@ours.example', null, 'to', null, '[]', '[]', null, 'Fish', 'how much', '', '[]', 'personal', 1, 'clean', '{}', '${at}');
insert into "message" values ('m2', 'i', 't1', 'outbound', 'sent', '${idOf(2)}', '<2@x>', null, '[]', 'ann@ours.example', '', 'ann@ours.example',
  'bob@x.example', null, null, null, '[]', '[]', null, 'Re: Fish', 'cheap', '', '[]', 'personal', 1, 'clean', '{}', '${at}');
insert into "message" values ('m3', 'i', 't2', 'outbound', 'pending', '${idOf(3)}', '<3@x>', null, '[]', 'ann@ours.example', '', 'ann@ours.example',
  'bob@x.example', null, null, null, '[]', '[]', null, 'Bread', 'fresh', '', '[]', 'personal', 1, 'clean', '{}', '${at}');
insert into "delivery" values ('d2', 'm2', 'bob@x.example', 'delivered', 0, 1, 250, null, 'ok', 'mx.x.example', null, '${at}', '${at}');
insert into "delivery" values ('d3', 'm3', 'bob@x.example', 'queued', 0, 0, null, null, null, null, '${at}', '${at}', '${at}');
insert into "queueEntry" values ('q3', 'delivery', 'd3', 'x.example', 'ready', '${at}', '2099-01-01T00:00:00.000Z', 0, null, null, '${at}');
insert into "event" values ('e1', 'message.received', 'p', 'i', 't1', 'm1', '{}', '${at}');
`

/** A database with the rows of the first schema, brought to the step `last`. */
async function makeOld(path: string, last: number): Promise<void> {
  const writer = openSqliteWriter(path)
  const { db } = writer
  await sql`create table "migration" ("number" integer primary key, "name" text not null,
    "breaking" integer not null, "appliedAt" text not null)`.execute(db)
  const migrateTo = async (step: number) => {
    for (const { number } of migrations.filter(one => one.number > step)) {
      await sql`insert into "migration" values (${number}, 'skipped', 0, 'x')`.execute(db)
    }
    await migrate(db, 'sqlite', at)
    await sql`delete from "migration" where "name" = 'skipped'`.execute(db)
  }
  await migrateTo(1)
  for (const statement of firstRows.split(/;\n/).filter(text => text.trim()))
    await sql.raw(statement).execute(db)
  await migrateTo(last)
  writer.close()
}

t.test('a database of every schema is brought up to date, and all that was promised holds', async t => {
  for (const { number, name } of migrations) {
    const dir = temporaryDir(t)
    await mkdir(join(dir, 'raw'))
    const path = join(dir, 'mailboxd.sqlite')
    await makeOld(path, number)
    const asked: number[] = []
    const store = await openStore(path, systemClock, {
      beforeMigration: async lastStep => void asked.push(lastStep),
    })
    await store.close()
    t.strictSame(
      asked,
      number === migrations.at(-1)!.number ? [] : [number],
      `${name}: who keeps it is asked before`,
    )
    const found = await verify({
      dataDir: dir,
      openBlobs: () => openDisk(dir),
      clock: systemClock,
      eventsKeptMs: 7 * 86_400_000,
    })
    t.strictSame(found, [], `from ${number} (${name})`)
  }
})

t.test(
  'an upgrade keeps the database of before, mailboxctl makes none, and an older program refuses',
  async t => {
    const daemon = await startDaemon(t)
    await daemon.end('SIGTERM')
    const path = join(daemon.dataDir, 'mailboxd.sqlite')
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    await makeOld(path, 1)
    t.match(await daemon.ctlResult('inbox', 'list'), {
      code: 1,
      stderr: /older mailboxd than this program: start/,
    })
    t.match(await daemon.ctlResult('verify'), { code: 1, stderr: /start mailboxd/ })

    const upgraded = await daemon.restart()
    const kept = join(daemon.dataDir, 'before-upgrade-1.sqlite')
    const before = new Database(kept, { readonly: true })
    t.strictSame(before.prepare('select "number" from "migration"').pluck().all(), [1], 'as it was')
    t.equal(before.prepare('select count(*) from "message"').pluck().get(), 3)
    before.close()
    t.match(await upgraded.ctl('message', 'list', 'ann@ours.example'), { total: 3 })
    await upgraded.end('SIGTERM')

    const app = {
      config: { data_dir: daemon.dataDir },
      clock: systemClock,
      log: createLog('silent'),
    } as unknown as App
    t.equal(await expireBeforeUpgrade(app), 0, 'for a week')
    utimesSync(kept, new Date(0), new Date(0))
    t.equal(await expireBeforeUpgrade(app), 1)
    t.notOk(existsSync(kept), 'and no longer')
    t.ok(readdirSync(daemon.dataDir).includes('mailboxd.sqlite'))

    const newer = new Database(path)
    newer.exec(
      `insert into "migration" ("number", "name", "breaking", "appliedAt") values (9999, 'of tomorrow', 1, '${at}')`,
    )
    newer.close()
    t.match(await daemon.ctlResult('inbox', 'list'), {
      code: 1,
      stderr: /newer mailboxd; install that version/,
    })
  },
)
