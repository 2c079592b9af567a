import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { insertRows } from '../../../lib/store/dialect/insert.ts'
import { copyRows, findOccupant, isHalfCopied } from '../../../lib/store/moving/copy.ts'
import { describeTables } from '../../../lib/store/moving/moved-tables.ts'
import { movedPageBytes, movedPageRows } from '../../../lib/store/moving/pages.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import type { AccountRow } from '../../../lib/store/tables.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { sealedText } from '../../support/rows.ts'
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
    const pods = Array.from({ length: movedPageRows + 500 }, (_, n) => ({
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
    for (const [n, bytes] of [0, movedPageBytes / 2, movedPageBytes / 2, 2 * movedPageBytes, 7].entries())
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

const account: AccountRow = {
  ...{ id: 'account', signingSecret: sealedText('x'), podCount: 0, inboxCount: 0, createdAt: at },
  ...{ webhookUrl: null, webhookSecret: null, healthAt: null },
}

async function fillAll(store: Store): Promise<void> {
  await fill(store)
  await store.write(db => insertRows(db, 'account', [account]))
}

onEveryDatabase('all rows go to another database and back, and stay the same', async (t, to) => {
  const from = await newFile(t)
  await fillAll(from)
  const wanted = await copyRows(from.read, to, silent)
  t.match(
    wanted.find(({ table }) => table === 'pod'),
    { rows: movedPageRows + 500 },
  )
  t.equal(await isHalfCopied(to.read), false)
  t.match(await findOccupant(to.read), /an installation is there already/)
  const back = await newFile(t)
  t.equal(await findOccupant(back.read), undefined)
  t.strictSame(await copyRows(to.read, back, silent), wanted)
})

onEveryDatabase(
  'a copy that was cut off anywhere is recognised, and not taken for an installation',
  async (t, to) => {
    const from = await newFile(t)
    await fillAll(from)
    let left = 5
    const dying = {
      read: to.read,
      write: <T>(work: Parameters<Store['write']>[0]) => {
        if (left-- === 0) throw new Error('power')
        return to.write(work) as Promise<T>
      },
    }
    await t.rejects(copyRows(from.read, dying as Pick<Store, 'read' | 'write'>, silent), { message: 'power' })
    t.equal(await isHalfCopied(to.read), true)
    t.match(await findOccupant(to.read), /copy that was cut off \(pod\): drop that database/)
  },
)

onEveryDatabase('a copy with another value, or without a row, is noticed', async (t, to) => {
  const from = await newFile(t)
  await fillAll(from)
  for (const harm of [
    sql`update "member" set "name" = 'x' where "address" = 'a'`,
    sql`delete from "raw" where "id" = 'raw-4'`,
  ]) {
    for (const { name } of (await describeTables(to.read)).toReversed())
      await to.write(db => sql`delete from ${sql.table(name)}`.execute(db))
    const harmed = {
      read: to.read,
      async write<T>(work: Parameters<Store['write']>[0]) {
        const done = await to.write(work)
        await to.write(db => harm.execute(db))
        return done as T
      },
    }
    const copied = copyRows(from.read, harmed as Pick<Store, 'read' | 'write'>, silent)
    await t.rejects(copied, { name: 'CopyDiffers' })
    t.equal(await isHalfCopied(to.read), true)
  }
})
