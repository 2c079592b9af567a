import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { SchemaFault } from '../../../lib/base/schema-fault.ts'
import { insertRows } from '../../../lib/store/dialect/insert.ts'
import { copyRows, digestRows } from '../../../lib/store/moving/copy.ts'
import { describeTables } from '../../../lib/store/moving/moved-tables.ts'
import { closeToOthers, openToOthers, targetStateOf } from '../../../lib/store/moving/target.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const at = '2026-01-01T00:00:00.000Z'
const silent = () => {}

async function newFile(t: Test): Promise<Store> {
  const store = await openStore(join(temporaryDir(t), 'rows.sqlite'), systemClock)
  t.teardown(() => store.close())
  return store
}

/** Names that databases, JavaScript and people order differently. */
const names = ['', 'a', 'B', 'ä', 'Z', '_', 'ﬀ', '\u{ffff}', '😀', 'a b', "it's", '"', '?']

async function fill(store: Store): Promise<void> {
  await store.write(async db => {
    const pods = Array.from({ length: limits.movedPageRows + 500 }, (_, n) => ({
      id: `pod-${n}`,
      clientId: n % 2 === 0 ? null : `client-${n}`,
      name: `pod ${n}`,
      isDefault: n === 0 ? 1 : 0,
      inboxCount: n,
      createdAt: at,
    }))
    await insertRows(db, 'pod', pods)
    await insertRows(
      db,
      'member',
      names.map(address => ({ address, name: address === '' ? null : address, createdAt: at })),
    )
    const tlsResults = names.flatMap(host =>
      names.map(domain => ({
        day: '2026-01-01',
        domain,
        policyType: 'sts',
        type: 't',
        host,
        count: 1,
        reportedAt: null,
      })),
    )
    await insertRows(db, 'tlsResult', tlsResults)
    const slots = Array.from({ length: 30 }, (_, slot) => ({
      slot,
      key: `k${slot}`,
      passes: 0,
      firstSeenAt: at,
      expiresAt: at,
    }))
    await insertRows(db, 'greylistEntry', slots)
    // Two of them are more than a page; one alone is.
    for (const [n, bytes] of [
      0,
      limits.movedPageBytes / 2,
      limits.movedPageBytes / 2,
      2 * limits.movedPageBytes,
      7,
    ].entries())
      await insertRows(db, 'raw', [
        { id: `raw-${n}`, createdAt: at, content: Buffer.alloc(bytes, n), sizeBytes: bytes, sha256: '' },
      ])
  })
}

t.test('the tables that are moved are all but those that are made of others, with their keys', async t => {
  const store = await newFile(t)
  const { rows } = await sql<{ name: string }>`select "name" from sqlite_master where "type" = 'table'
    and "name" not like 'messageSearch%' and "name" not like 'sqlite_%'`.execute(store.read)
  const made = ['migration', 'reader', 'unindexedBody']
  t.strictSame(
    rows
      .map(({ name }) => name)
      .filter(name => !made.includes(name))
      .sort(),
    (await describeTables(store.read)).map(({ name }) => name).sort(),
  )
  const before = new Set<string>()
  for (const { name, keys, columns } of await describeTables(store.read)) {
    const { rows: inKey } = await sql<{ name: string }>`
      select "name" from pragma_table_info(${name}) where "pk" > 0 order by "pk"`.execute(store.read)
    t.strictSame(
      inKey.map(row => row.name),
      keys,
      name,
    )
    t.ok(columns.length > 0)
    const { rows: referred } = await sql<{ table: string }>`
      select "table" from pragma_foreign_key_list(${name})`.execute(store.read)
    for (const { table } of referred) t.ok(before.has(table), `${name} after ${table}`)
    before.add(name)
  }
})

onEveryDatabase(
  'rows go to another database and back, and only those that changed go again',
  async (t, to) => {
    const from = await newFile(t)
    await fill(from)
    const first = await copyRows(from.read, to, silent)
    t.equal(first.removed, 0)
    const wanted = await digestRows(from.read, silent)
    t.strictSame(await digestRows(to.read, silent), wanted)
    t.equal(
      wanted.reduce((sum, { rows }) => sum + rows, 0),
      first.put,
    )
    t.strictSame(await copyRows(from.read, to, silent), { put: 0, removed: 0 })

    await from.write(async db => {
      await sql`delete from "member" where "address" = 'ä'`.execute(db)
      await sql`update "pod" set "name" = null where "id" in ('pod-7', 'pod-1400')`.execute(db)
      // Another row has a name that must be unique.
      await sql`delete from "pod" where "id" = 'pod-3'`.execute(db)
      await sql`update "pod" set "clientId" = 'client-3' where "id" = 'pod-2'`.execute(db)
      await sql`update "raw" set "content" = ${Buffer.from('1234567')} where "id" = 'raw-4'`.execute(db)
    })
    t.not(JSON.stringify(await digestRows(from.read, silent)), JSON.stringify(wanted))
    t.strictSame(await copyRows(from.read, to, silent), { put: 4, removed: 2 })
    t.strictSame(await digestRows(to.read, silent), await digestRows(from.read, silent))

    const back = await newFile(t)
    await copyRows(to.read, back, silent)
    t.strictSame(await digestRows(back.read, silent), await digestRows(from.read, silent))
  },
)

onEveryDatabase('what was cut off goes on where it was', async (t, to) => {
  const from = await newFile(t)
  await fill(from)
  let left = 4
  const dying = {
    read: to.read,
    write: <T>(work: Parameters<Store['write']>[0]) => {
      if (left-- === 0) throw new Error('power')
      return to.write(work) as Promise<T>
    },
  }
  await t.rejects(copyRows(from.read, dying as Pick<Store, 'read' | 'write'>, silent), { message: 'power' })
  const all = (await digestRows(from.read, silent)).reduce((sum, { rows }) => sum + rows, 0)
  const there = (await digestRows(to.read, silent)).reduce((sum, { rows }) => sum + rows, 0)
  t.ok(there > 0 && there < all, `${there} of ${all}`)
  t.strictSame(await copyRows(from.read, to, silent), { put: all - there, removed: 0 })
})

t.test('nobody but who moves rows into it opens a database before all are there', async t => {
  const path = join(temporaryDir(t), 'rows.sqlite')
  let store = await openStore(path, systemClock)
  t.equal(await targetStateOf(store.read, 'one'), 'empty')
  await store.write(db => closeToOthers(db, 'one', at))
  t.strictSame(
    [await targetStateOf(store.read, 'one'), await targetStateOf(store.read, 'two')],
    ['begun', 'of another'],
  )
  await store.close()
  await t.rejects(openStore(path, systemClock), SchemaFault)
  await t.rejects(openStore(path, systemClock), { message: /are being moved.*mailboxctl migrate/ })
  store = await openStore(path, systemClock, { isTarget: true })
  await store.write(openToOthers)
  await store.close()
  store = await openStore(path, systemClock)
  t.equal(await targetStateOf(store.read, 'one'), 'empty')
  await store.close()
})
