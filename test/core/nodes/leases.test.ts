import { mock } from 'node:test'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { StorageUnreachable } from '../../../lib/base/faults.ts'
import { createLog } from '../../../lib/base/log.ts'
import { type Clock, nodeBeatMs, nodeSureMs, systemClock } from '../../../lib/base/time.ts'
import { createNodes } from '../../../lib/core/nodes/nodes.ts'
import { nodeClass } from '../../../lib/store/dialect/lock.ts'
import { listNodes, nodeLeaseMs, setDraining } from '../../../lib/store/nodes.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import { openPostgres } from '../../../lib/store/postgres/pool.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')
const log = createLog('silent')

/** Nodes on one database, whose looks come when the test says so. */
async function nodesOn(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const store = await openStore(url, systemClock)
  t.teardown(() => store.close())
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const cutOff = new Set<string>()
  /** How many looks of each are over. */
  const looks = new Map<string, number>()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())

  async function start(id: string) {
    const over = () => void looks.set(id, looks.get(id)! + 1)
    const its: Store = Object.create(store, {
      writeUnsynced: {
        value: async (work: Parameters<Store['writeUnsynced']>[0]) => {
          if (!cutOff.has(id)) return store.writeUnsynced(work)
          over()
          throw new StorageUnreachable(new Error('as the test says'))
        },
      },
    })
    const nodes = createNodes({
      ...{ store: its, clock, log, id, name: id, version: '1', settings: {} },
      ...{ blobs: 's3://there', bucketOwner: async () => 'ours', hasFiles: async () => false },
    })
    await nodes.join()
    looks.set(id, 0)
    nodes.watch(async () => over())
    t.teardown(() => nodes.leave())
    return nodes
  }

  /** Time goes on by a beat, and each node but those that left looks. */
  async function pass(...left: string[]): Promise<void> {
    nowMs += nodeBeatMs
    const before = new Map(looks)
    mock.timers.tick(nodeBeatMs)
    const hasAll = () => [...before].every(([id, count]) => left.includes(id) || looks.get(id)! > count)
    while (!hasAll()) await new Promise(resolve => setImmediate(resolve))
    await new Promise(resolve => setImmediate(resolve))
  }

  async function passLong(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += nodeBeatMs) await pass()
  }

  /** The lease of a node is over by the clock of the server. */
  const endLease = (id: string) =>
    store.write(db => sql`update "node" set "leasedUntil" = '2026' where "id" = ${id}`.execute(db))
  const rowOf = async (id: string) => (await listNodes(store.read)).find(row => row.id === id)!
  return { url, store, start, cutOff, pass, passLong, endLease, rowOf }
}

t.test('a node that renews its lease keeps what it holds, and its name', { skip }, async t => {
  const { start, passLong, rowOf } = await nodesOn(t)
  const [one, two] = [await start('one'), await start('two')]
  const holders = [one.holder, two.holder]
  const before = (await rowOf('one')).leasedUntil!
  await passLong(2 * nodeLeaseMs)
  t.strictSame([one.holder, two.holder], holders)
  t.strictSame(
    [one.mayLease, one.count, one.holds(one.holder), one.holds(two.holder)],
    [true, 2, true, false],
  )
  const { state, leasedUntil } = await rowOf('one')
  t.equal(state, 'up')
  t.ok(leasedUntil! > before, 'by the clock of the server')
})

t.test(
  'a node that cannot renew relies on nothing; it is gone when its lease is over and nobody has its lock, and begins anew',
  { skip },
  async t => {
    const { url, start, cutOff, pass, passLong, endLease, rowOf } = await nodesOn(t)
    const [one, two] = [await start('one'), await start('two')]
    const before = one.holder
    // Before that it would not take over from a node that has just come back, too.
    await passLong(nodeLeaseMs)
    const process = openPostgres(url, 1)
    t.teardown(process.close)
    const lock = await process.take()
    await lock.send('select pg_advisory_lock($1, hashtext($2))', [nodeClass, 'one'])
    cutOff.add('one')
    await passLong(nodeSureMs - nodeBeatMs)
    t.ok(one.mayLease)
    await pass()
    t.strictSame([one.mayLease, one.holds(before)], [false, false])
    await passLong(nodeLeaseMs)
    t.equal((await rowOf('one')).state, 'up', 'its lease holds by the clock of the server')
    await endLease('one')
    await passLong(2 * nodeBeatMs)
    t.equal((await rowOf('one')).state, 'up', 'its lock says that it lives')
    await lock.send('select pg_advisory_unlock_all()')
    lock.release()
    await pass()
    t.equal((await rowOf('one')).state, 'gone')
    t.equal(two.count, 1)
    cutOff.clear()
    await pass()
    t.not(one.holder, before)
    t.strictSame([one.mayLease, one.holds(before)], [true, false])
    t.equal((await rowOf('one')).state, 'up')
    await pass()
    t.equal(two.count, 2)
  },
)

t.test('after an outage of all, nobody is taken for gone before it could come back', { skip }, async t => {
  const { start, cutOff, pass, passLong, endLease, rowOf } = await nodesOn(t)
  const [one] = [await start('one'), await start('two')]
  const before = one.holder
  await passLong(nodeLeaseMs)
  for (const id of ['one', 'two']) cutOff.add(id)
  await passLong(2 * nodeLeaseMs)
  for (const id of ['one', 'two']) await endLease(id)
  cutOff.delete('two')
  await passLong(nodeLeaseMs - nodeBeatMs)
  t.equal((await rowOf('one')).state, 'up')
  cutOff.clear()
  await pass()
  t.strictSame([one.holder, one.mayLease], [before, true])
})

t.test(
  'a node that drains leases nothing more, also when it begins anew; one that ends is over immediately',
  { skip },
  async t => {
    const { store, start, pass, passLong, cutOff, endLease, rowOf } = await nodesOn(t)
    const [one, two] = [await start('one'), await start('two')]
    await store.write(db => setDraining(db, 'one', true))
    await pass()
    t.strictSame([one.isDraining, one.mayLease, one.holds(one.holder)], [true, false, true])
    t.strictSame([two.isDraining, two.mayLease], [false, true])
    const before = one.holder
    cutOff.add('one')
    await passLong(nodeLeaseMs)
    await endLease('one')
    await pass()
    cutOff.clear()
    await passLong(2 * nodeBeatMs)
    t.not(one.holder, before)
    t.strictSame([one.isDraining, one.mayLease], [true, false])
    await two.leave()
    await pass('two')
    t.equal(one.count, 1)
    t.equal((await rowOf('two')).state, 'stopped')
  },
)

t.test('one node at a time has a sweep, until it gives it back or is gone', { skip }, async t => {
  const { store, start, passLong, endLease, cutOff, rowOf } = await nodesOn(t)
  const [one, two] = [await start('one'), await start('two')]
  const giveBack = await one.takeSweep('tidy')
  t.ok(giveBack)
  t.equal(await two.takeSweep('tidy'), undefined)
  await giveBack!()
  t.ok(await two.takeSweep('tidy'))
  t.equal(await one.takeSweep('tidy'), undefined)
  cutOff.add('two')
  await passLong(nodeLeaseMs)
  await endLease('two')
  await until('it to be gone', async () => {
    await passLong(nodeBeatMs)
    return (await rowOf('two')).state === 'gone'
  })
  t.ok(await one.takeSweep('tidy'))
  t.strictSame(await store.read.selectFrom('sweep').select('heldBy').execute(), [{ heldBy: one.holder }])
})
