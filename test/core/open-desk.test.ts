import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { StorageUnreachable } from '../../lib/base/faults.ts'
import { createIds } from '../../lib/base/ids.ts'
import { systemClock } from '../../lib/base/time.ts'
import { quietLog } from '../../lib/cli/log.ts'
import { localConfig } from '../../lib/config/load.ts'
import { openDesk } from '../../lib/core/open-desk.ts'
import { databasePath, openRows, outageSteadyMs } from '../../lib/core/open-rows.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

t.test('who looks into a database that is there waits for nobody who writes, and writes nothing', async t => {
  const dataDir = join(temporaryDir(t), 'data')
  const parts = {
    config: localConfig({ dataDir }),
    clock: systemClock,
    ids: createIds(systemClock),
    log: quietLog,
    mayMigrate: true,
    baseUrl: () => 'http://127.0.0.1',
  }
  const made = await openDesk(parts)
  const { keyId } = made.secrets
  await made.store.close()

  const other = new Database(databasePath(dataDir))
  t.teardown(() => other.close())
  other.prepare('begin immediate').run()
  const version = () => other.pragma('data_version', { simple: true })
  const before = version()
  const desk = await openDesk({ ...parts, mayMigrate: false })
  t.equal(desk.secrets.keyId, keyId)
  await desk.store.close()
  other.prepare('rollback').run()
  t.equal(version(), before)
})

t.test(
  'a server that is short of something is out until it has worked for a while, and says of what',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase(migratedDatabase)
    let nowMs = systemClock.monotonicMs()
    const clock = { ...systemClock, monotonicMs: () => nowMs }
    const { store, shortage } = await openRows({
      config: { ...localConfig({ dataDir: temporaryDir(t) }), database },
      ...{ clock, ids: createIds(clock), log: quietLog, mayMigrate: false },
    })
    t.teardown(() => store.close())
    /** A write that meets what a server says with this code, or none. */
    const write = (code?: string) =>
      store.write(db =>
        (code === undefined
          ? sql`select 1`
          : sql.raw(`do $$ begin raise exception 'as the test says' using errcode = '${code}'; end $$`)
        ).execute(db),
      )
    t.equal(shortage(), undefined)
    for (const [code, sentence] of [
      ['53100', 'The disk of the database is full.'],
      ['53200', 'The server of the database has no memory left.'],
    ] as const) {
      await t.rejects(write(code), StorageUnreachable)
      t.equal(shortage()?.sentence, sentence)
      await write()
      nowMs += outageSteadyMs - 1
      await write()
      t.equal(shortage()?.sentence, sentence, 'one that can be written over works meanwhile')
      // What another connection met is told a moment later, and begins the while anew.
      await until('it is over', async () => {
        nowMs += 1
        await write()
        nowMs += outageSteadyMs / 5
        return shortage() === undefined
      })
    }
    await t.rejects(write('53100'), StorageUnreachable)
    await t.rejects(write('57P01'), StorageUnreachable)
    t.equal(shortage(), undefined, 'one that goes down is short of nothing')
    await t.rejects(write('23505'), { code: '23505' })
    t.equal(shortage(), undefined, 'nor is one that refuses a row')
  },
)
