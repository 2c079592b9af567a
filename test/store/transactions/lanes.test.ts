import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { createWriters } from '../../../lib/store/transactions/writers.ts'
import { lockKept, scriptConnections } from '../../support/scripted-connections.ts'
import { until } from '../../support/until.ts'

interface Asked {
  readonly names: readonly string[]
  readonly has: PromiseWithResolvers<void>
}

/**
 * Writers over two connections to a server that gives a transaction what it asks for when the test says so.
 * @param taking waited for before each connection is had
 */
function openLanes(t: Test, { taking = async () => {}, monotonicMs = systemClock.monotonicMs } = {}) {
  const asked: Asked[] = []
  const all: (readonly string[])[] = []
  const server = scriptConnections(async ({ name, values }) => {
    if (name !== 'hold') return undefined
    const one = { names: values[1] as string[], has: Promise.withResolvers<void>() }
    for (const other of asked)
      for (const held of other.names) t.notOk(one.names.includes(held), `${held} is under way once`)
    all.push(one.names)
    asked.push(one)
    await one.has.promise.finally(() => asked.splice(asked.indexOf(one), 1))
    return undefined
  })
  const writers = createWriters({
    async take() {
      await taking()
      return server.take()
    },
    connections: 2,
    writeLeft: async () => {},
    committed() {},
    transacted() {},
    monotonicMs,
  })
  const done: string[] = []
  const write = async (name: string, ...names: string[]) => {
    await writers.write(
      () => ({ names }),
      async () => {},
    )
    done.push(name)
  }
  const find = (name: string) => asked.find(({ names }) => names.includes(name))
  return {
    all,
    asked,
    done,
    write,
    /** Resolves when a transaction asks for `name`. */
    asksFor: (name: string) => until(`one asks for ${name}`, () => find(name)),
    give: (name: string) => find(name)!.has.resolve(),
    refuse: (name: string) => find(name)!.has.reject(lockKept()),
    async requireClean() {
      await writers.idle()
      t.strictSame(server.broken, [])
      t.equal(server.inUse(), 0)
    },
  }
}

t.test('what is under way over one connection is left to it, and all else goes on over another', async t => {
  const { all, done, write, asksFor, give, requireClean } = openLanes(t)
  const writes = [write('a1', 'a')]
  await asksFor('a')
  writes.push(write('a2', 'a'), write('b1', 'b'), write('a3', 'a', 'c'), write('b2', 'b'))
  await asksFor('b')
  give('b')
  await until('they are done', () => done.length === 2)
  t.strictSame(done, ['b1', 'b2'])
  // What comes when all that waits is held by the first.
  writes.push(write('d', 'd'))
  await asksFor('d')
  give('d')
  give('a')
  await asksFor('c')
  give('c')
  await Promise.all(writes)
  t.strictSame(all, [['a'], ['b'], ['d'], ['a', 'c']])
  t.strictSame(
    done.filter(name => name.startsWith('a')),
    ['a1', 'a2', 'a3'],
  )
  await requireClean()
})

t.test('who holds much comes before those behind him that hold some of it', async t => {
  const { all, done, write, asksFor, give, requireClean } = openLanes(t)
  const writes = [write('a1', 'a')]
  await asksFor('a')
  writes.push(write('wide', 'a', 'b'), write('b', 'b'), write('behind it', 'b', 'c'), write('d', 'd'))
  await asksFor('d')
  give('d')
  give('a')
  await asksFor('b')
  give('b')
  await Promise.all(writes)
  t.strictSame(all, [['a'], ['d'], ['a', 'b', 'c']])
  t.strictSame(done.slice(2), ['wide', 'b', 'behind it'])
  await requireClean()
})

t.test('what is tried alone waits for what is under way, and that for it', async t => {
  const { all, asked, done, write, asksFor, give, refuse, requireClean } = openLanes(t)
  const writes = [write('a1', 'a'), write('b1', 'b')]
  await asksFor('a')
  refuse('a')
  await until('the first is tried alone', () => all.length === 2)
  writes.push(write('a2', 'a'), write('ab', 'a', 'b'), write('c', 'c'))
  await asksFor('c')
  give('c')
  give('a')
  let isDone = false
  const ended = Promise.all(writes).then(() => {
    isDone = true
  })
  while (!isDone) {
    await until('one asks, or all are done', () => isDone || asked.length > 0)
    for (const { has } of asked) has.resolve()
  }
  await ended
  t.strictSame(done.toSorted(), ['a1', 'a2', 'ab', 'b1', 'c'])
  t.strictSame(all.slice(0, 3), [['a', 'b'], ['a'], ['c']])
  await requireClean()
})

t.test(
  'what a lane begins while the one that is set aside waits for a connection is left to the lane',
  async t => {
    let now = 1_000_000
    let takes = 0
    const hasConnection = Promise.withResolvers<void>()
    const { done, write, asksFor, give, refuse, requireClean } = openLanes(t, {
      // The first is of a lane, and the second of who is set aside.
      taking: async () => (++takes === 2 ? hasConnection.promise : undefined),
      monotonicMs: () => now,
    })
    const late = write('b1', 'b')
    await asksFor('b')
    refuse('b')
    await until('it waits for a connection', () => takes === 2)
    // For so long that nobody remembers what it holds.
    now += 2 * limits.postgresLockWaitMs
    const other = write('c', 'c')
    await asksFor('c')
    refuse('c')
    const second = write('b2', 'b')
    await asksFor('b')
    hasConnection.resolve()
    await asksFor('c')
    give('c')
    await other
    give('b')
    await second
    await t.rejects(late, { name: 'StorageContended' })
    t.strictSame(done, ['c', 'b2'])
    await requireClean()
  },
)

t.test(
  'what comes at once is begun over one connection, and after a failure to have one likewise',
  async t => {
    let takes = 0
    let isBroken = true
    const { all, write, asksFor, give, requireClean } = openLanes(t, {
      async taking() {
        takes++
        // A connection that is there is had later than what comes at once.
        await setImmediate()
        if (isBroken) throw new Error('no connection')
      },
    })
    const both = () => Promise.allSettled([write('a', 'a'), write('b', 'b')])
    const failed = await both()
    t.match(failed, [{ reason: { message: 'no connection' } }, { reason: { message: 'no connection' } }])
    t.equal(takes, 1)
    isBroken = false
    const ended = both()
    await asksFor('a')
    give('a')
    t.match(await ended, [{ status: 'fulfilled' }, { status: 'fulfilled' }])
    t.strictSame(all, [['a', 'b']])
    t.equal(takes, 2)
    await requireClean()
  },
)
