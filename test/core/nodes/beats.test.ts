import { mock } from 'node:test'
import type { Test } from 'tap'
import type { Clock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { createLog } from '../../../lib/base/log.ts'
import { StorageUnreachable } from '../../../lib/base/storage-fault.ts'
import { createNodes } from '../../../lib/core/nodes/nodes.ts'
import { findNode, setDraining } from '../../../lib/store/nodes.ts'
import type { Store } from '../../../lib/store/open.ts'
import { onEveryDatabase } from '../../support/databases.ts'

const log = createLog('silent')

/** Nodes on one database, and their turns, which go on when the test says so. */
function nodesOn(t: Test, store: Store) {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const cutOff = new Set<string>()
  /** The turns of each that are over. */
  const turns = new Map<string, number>()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())

  async function start(id: string) {
    const over = () => void turns.set(id, turns.get(id)! + 1)
    const reach = (write: Store['write']): Store['write'] => {
      return async work => {
        if (!cutOff.has(id)) return write(work)
        over()
        throw new StorageUnreachable(new Error('as the test says'))
      }
    }
    // In a file, which no other may have, a node is asked nothing of all this; the rows are the same.
    const its: Store = Object.create(store, {
      dialect: { value: 'postgres' },
      write: { value: reach(store.write) },
      writeUnsynced: { value: reach(store.writeUnsynced) },
    })
    const nodes = createNodes({
      ...{ store: its, clock, log, id, name: id, version: '1', settings: {} },
      ...{ blobs: 's3://there', bucketOwner: async () => 'ours', hasFiles: async () => false },
    })
    await nodes.join()
    turns.set(id, 0)
    nodes.watch(async () => over())
    return nodes
  }

  /** Time goes on, and each node has its turn. */
  async function pass(ms: number, ...left: string[]): Promise<void> {
    nowMs += ms
    const before = new Map(turns)
    begin()
    const hasAll = () => [...before].every(([id, count]) => left.includes(id) || turns.get(id)! > count)
    while (!hasAll()) await nextTurn()
    // The next timer of each is set when its turn is over.
    await nextTurn()
  }

  /** The turns begin. */
  const begin = () => mock.timers.tick(limits.nodeBeatMs)

  async function passLong(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += limits.nodeBeatMs) await pass(limits.nodeBeatMs)
  }

  const beatOf = async (id: string) => (await findNode(store.read, id))!
  return { start, cutOff, pass, passLong, begin, beatOf }
}

const nextTurn = () => new Promise(resolve => setImmediate(resolve))

onEveryDatabase('nodes that work are heard, each by its beat, and keep what they hold', async (t, store) => {
  const { start, passLong, beatOf } = nodesOn(t, store)
  const [one, two] = [await start('one'), await start('two')]
  await passLong(3 * limits.nodeGoneMs)
  const beats = (3 * limits.nodeGoneMs) / limits.nodeBeatMs
  for (const id of ['one', 'two'])
    t.match(await beatOf(id), { state: 'up', generation: 1, beat: beats, beatAt: '2026-01-01T00:01:00.000Z' })
  for (const [node, other] of [
    [one, two],
    [two, one],
  ] as const) {
    t.strictSame([node.mayLease, node.count], [true, 2])
    t.ok(node.holds(node.holder))
    t.notOk(node.isOver(other.holder))
    t.notOk(node.isOver(node.holder))
    t.notOk(node.isOver('three.1'), 'one that has come since is not over')
    t.ok(node.isOver(`${other.id}.0`), 'what it held before it began anew is')
  }
})

onEveryDatabase(
  'who can not say that it works relies on nothing, before others take what it held, and begins anew',
  async (t, store) => {
    const { start, cutOff, pass, passLong, beatOf } = nodesOn(t, store)
    const [one, two] = [await start('one'), await start('two')]
    await pass(limits.nodeBeatMs)
    cutOff.add('one')
    await passLong(limits.nodeSureMs - limits.nodeBeatMs)
    await pass(limits.nodeBeatMs - 1)
    t.ok(one.mayLease)
    await pass(1)
    t.strictSame([one.mayLease, one.holds('one.1')], [false, false])
    t.strictSame([two.mayLease, two.isOver('one.1'), two.count], [true, false, 2])
    await passLong(limits.nodeGoneMs - limits.nodeSureMs - limits.nodeBeatMs)
    await pass(limits.nodeBeatMs - 1)
    t.notOk(two.isOver('one.1'))
    await pass(1)
    t.strictSame([two.isOver('one.1'), two.count], [true, 1])
    t.match(await beatOf('one'), { state: 'gone', beat: 1 })
    cutOff.clear()
    await pass(limits.nodeBeatMs)
    t.strictSame([one.holder, one.mayLease, one.isOver('one.1')], ['one.2', true, true])
    await pass(limits.nodeBeatMs)
    t.strictSame([two.count, two.isOver('one.1'), two.isOver('one.2')], [2, true, false])
  },
)

onEveryDatabase('who heard nothing for a while takes nobody for gone because of that', async (t, store) => {
  const { start, cutOff, pass, passLong } = nodesOn(t, store)
  const [one, two] = [await start('one'), await start('two')]
  await pass(limits.nodeBeatMs)
  cutOff.add('one')
  // All machines were paused, and the other is not back yet.
  await pass(2 * limits.nodeGoneMs)
  t.notOk(two.isOver('one.1'))
  await passLong(limits.nodeGoneMs - limits.nodeSureMs)
  cutOff.add('two')
  await passLong(limits.nodeSureMs - limits.nodeBeatMs)
  cutOff.delete('two')
  await passLong(2 * limits.nodeBeatMs)
  t.strictSame([two.count, two.isOver('one.1'), two.holder], [2, false, 'two.1'])
  cutOff.clear()
  await pass(limits.nodeBeatMs)
  t.strictSame([one.holder, one.mayLease, two.isOver('one.1')], ['one.1', true, false])
})

onEveryDatabase(
  'one that drains leases nothing more, and one that ends is over at once',
  async (t, store) => {
    const { start, pass, passLong, cutOff } = nodesOn(t, store)
    const [one, two] = [await start('one'), await start('two')]
    await store.write(db => setDraining(db, 'one', true))
    await pass(limits.nodeBeatMs)
    t.strictSame([one.isDraining, one.mayLease, one.holds('one.1')], [true, false, true])
    t.strictSame([two.isDraining, two.mayLease], [false, true])
    cutOff.add('one')
    await passLong(limits.nodeGoneMs)
    cutOff.clear()
    await passLong(2 * limits.nodeBeatMs)
    t.strictSame([one.holder, one.isDraining, one.mayLease], ['one.2', true, false], 'it goes on to drain')
    await two.leave()
    await pass(limits.nodeBeatMs, 'two')
    t.strictSame([one.isOver('two.1'), one.count], [true, 1])
  },
)

onEveryDatabase('one that was started again is heard anew, though its beat is the same', async (t, store) => {
  const { start, cutOff, pass, passLong } = nodesOn(t, store)
  const two = await start('two')
  await start('one')
  cutOff.add('one')
  await passLong(limits.nodeGoneMs)
  cutOff.delete('one')
  await start('one')
  cutOff.add('one')
  await pass(limits.nodeBeatMs)
  t.strictSame([two.isOver('one.1'), two.isOver('one.2'), two.count], [true, false, 2])
  await passLong(limits.nodeGoneMs - limits.nodeBeatMs)
  t.notOk(two.isOver('one.2'))
  await pass(limits.nodeBeatMs)
  t.strictSame([two.isOver('one.2'), two.count], [true, 1])
})

onEveryDatabase('one that leaves in the middle of a turn has none after it', async (t, store) => {
  const { start, pass, begin, beatOf } = nodesOn(t, store)
  const [one, two] = [await start('one'), await start('two')]
  await pass(limits.nodeBeatMs)
  begin()
  await one.leave()
  await pass(limits.nodeBeatMs, 'one')
  await pass(limits.nodeBeatMs, 'one')
  t.match(await beatOf('one'), { state: 'stopped', generation: 1 })
  t.strictSame([two.isOver('one.1'), two.count], [true, 1])
})
