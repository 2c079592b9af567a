import pg from 'pg'
import t, { type Test } from 'tap'
import { SchemaFault } from '../../lib/base/faults.ts'
import { systemClock } from '../../lib/base/time.ts'
import { listOtherNodes } from '../../lib/store/living-nodes.ts'
import { newestStep } from '../../lib/store/migrations/migrate.ts'
import type { Migration } from '../../lib/store/migrations/migration.ts'
import { openStore } from '../../lib/store/open.ts'
import { holdNode } from '../../lib/store/postgres/hold.ts'
import { upgradeServer } from '../../lib/store/upgrade-server.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { addStep } from '../support/other-programs.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { nodeRow, putNodeRow } from '../support/rows.ts'
import { until } from '../support/until.ts'

const skip = without('postgres')

async function connect(t: Test, url: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}

t.test('a step that older programs could not work on waits until none lives', { skip }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  const store = await openStore(url, systemClock)
  t.teardown(() => store.close())
  const lock = (node: string) => holdNode({ url, node, clock: systemClock, requireSame: async () => {} })
  const older = await lock('older')
  t.teardown(() => older.release())
  await older.letOthersStart()
  const newer = await lock('newer')
  t.teardown(() => newer.release())
  await store.write(db =>
    putNodeRow(db, nodeRow('older', { name: 'mx1', newestStep: newestStep - 1, leasedUntil: null })),
  )
  t.strictSame(await listOtherNodes(store.read, 'newer'), [
    { id: 'older', name: 'mx1', version: '0.1.0', newestStep: newestStep - 1 },
  ])
  t.match(await listOtherNodes(store.read, 'older'), [{ id: '?', newestStep: null }])

  const step: Migration = { number: 9001, name: 'harsh', breaking: true, sql: '' }
  const upgrade = (missing: Migration) =>
    upgradeServer({ url, node: 'newer', missing: [missing], appliedAt: 'x' })
  const refusal = new SchemaFault(
    'the database is not brought up to date: after its step 9001 (harsh) these nodes, which run an older mailboxd, could not work on it: mx1 (older, version 0.1.0). Stop them, then start this one again',
  )
  await t.rejects(upgrade(step), refusal)
  await t.rejects(upgrade({ ...step, unusedSince: newestStep }), refusal)
  await upgrade({ ...step, unusedSince: newestStep - 1 })
  await upgrade({ ...step, breaking: false })
  await older.release()
  await upgrade(step)
})

t.test('an upgrade waits for a table only for moments, in which others wait for it', { skip }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  addStep(t, { number: 2, name: 'next', breaking: false, sql: 'alter table "node" add column "later" text;' })
  const [dump, writer] = [await connect(t, url), await connect(t, url)]
  await dump.query('begin')
  await dump.query('select * from "node"')
  const opening = openStore(url, systemClock)
  const isWaiting = `select 1 from pg_locks where not granted and relation = '"node"'::regclass and mode = 'AccessExclusiveLock'`
  await until('it to wait', async () => (await writer.query(isWaiting)).rows.length > 0)
  // It gives way while the other still reads.
  await writer.query(`update "node" set "leasedUntil" = null`)
  await dump.query('commit')
  const store = await opening
  t.teardown(() => store.close())
  t.strictSame((await writer.query('select "later" from "node"')).rows, [])
})
