import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { createSetAside } from '../../../lib/store/transactions/set-aside.ts'
import { createWriters } from '../../../lib/store/transactions/writers.ts'
import { lockKept, type Statement, scriptConnections } from '../../support/scripted-connections.ts'
import { until } from '../../support/until.ts'

/** What is set aside, at times that the test says. */
function openSetAside() {
  let now = 1_000_000
  const aside = createSetAside<{ name: string; names: string[]; sinceMs: number }>(() => now)
  const put = (name: string, ...names: string[]) => {
    const one = { name, names, sinceMs: now }
    aside.add(one)
    return one
  }
  const next = (...underWay: string[]) => {
    const one = aside.next(new Set(underWay))
    return typeof one === 'number' ? one : one.name
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { aside, put, next, pass }
}

t.test('what was tried in vain rests, and so does what holds something of it', async t => {
  const { aside, put, next, pass } = openSetAside()
  t.equal(next(), Infinity)
  const first = put('first', 'a', 'b')
  put('like it', 'b')
  t.equal(next(), 'first')
  aside.rest(first)
  t.equal(next(), limits.postgresLockRestMs)
  put('like it, too', 'b')
  t.equal(next(), limits.postgresLockRestMs, 'who comes to it rests with it')
  pass(limits.postgresLockRestMs - 1)
  t.equal(next(), 1)
  const other = put('other', 'c')
  t.equal(next(), 'other')
  pass(1)
  aside.remove(other)
  // What is not locked of two that have it in common is not kept behind the other.
  t.equal(next(), 'like it')
})

t.test(
  'who waits for longest is tried first, so that what stays locked keeps nobody from his try',
  async t => {
    const { aside, put, pass } = openSetAside()
    for (let n = 0; n < 10; n++) put(`kept ${n}`, `k${n}`)
    pass(1)
    put('free', 'f')
    const tried: string[] = []
    while (tried.at(-1) !== 'free' && tried.length < 20) {
      const one = aside.next(new Set())
      if (typeof one === 'number') break
      tried.push(one.name)
      aside.rest(one)
      // Of ten that are tried the first has rested before the last one's turn.
      pass(limits.postgresLockRestMs / 5)
    }
    t.strictSame(tried, [...Array.from({ length: 10 }, (_, n) => `kept ${n}`), 'free'])
  },
)

t.test('what it held is free for all who hold something of it', async t => {
  const { aside, put, next } = openSetAside()
  const [one, like] = [put('one', 'a'), put('like it', 'a', 'b')]
  put('other', 'c')
  t.ok(aside.isSuspect(['b']))
  t.strictSame(aside.free(like), [one, like])
  t.notOk(aside.isSuspect(['a', 'b']))
  t.ok(aside.isSuspect(['c']))
  t.equal(next(), 'other')
})

t.test('what another has under way is not tried beside it', async t => {
  const { put, next } = openSetAside()
  put('one', 'a', 'b')
  put('other', 'c')
  t.equal(next('b'), 'other')
  t.equal(next('b', 'c'), Infinity)
  t.equal(next('d'), 'one')
})

t.test('what nobody asks for any more is forgotten, and who waits for too long is late', async t => {
  const { aside, put, pass } = openSetAside()
  const one = put('one', 'a')
  pass(limits.postgresLockWaitMs - 1)
  t.strictSame(aside.late(), [])
  pass(1)
  t.strictSame(aside.late(), [one])
  aside.remove(one)
  put('next', 'b')
  t.ok(aside.isSuspect(['a']))
  pass(1)
  put('last', 'c')
  t.notOk(aside.isSuspect(['a']))
  t.ok(aside.isSuspect(['b']))
})

/** Writers over a server on which somebody keeps `locked`. */
function openWriters(
  t: Test,
  { connections = 2, also = (_: Statement): Promise<void> | undefined => undefined } = {},
) {
  const locked = new Set<string>()
  const server = scriptConnections(async statement => {
    await also(statement)
    const { name, values } = statement
    if (name === 'hold' && (values[1] as string[]).some(one => locked.has(one))) throw lockKept()
    return undefined
  })
  let broken: Error | undefined
  const transactions: number[] = []
  const writers = createWriters({
    async take() {
      if (broken) throw broken
      return server.take()
    },
    connections,
    writeLeft: async () => {},
    committed() {},
    transacted: writes => void transactions.push(writes),
    monotonicMs: systemClock.monotonicMs,
  })
  const done: string[] = []
  /** Gives its name when it is done; each time that it begins is in `done`. */
  const write = (name: string, ...names: string[]) =>
    writers.write(
      () => ({ names }),
      async () => {
        done.push(name)
        if (name.startsWith('refused')) throw new Error(name)
        return name
      },
    )
  const holds = () => server.said.filter(text => text.includes('lock_timeout')).length
  const requireClean = async () => {
    await writers.idle()
    t.strictSame(server.broken, [])
    t.equal(server.inUse(), 0)
  }
  return {
    server,
    locked,
    writers,
    write,
    done,
    holds,
    transactions,
    requireClean,
    breakOff(error: Error) {
      broken = error
    },
  }
}

t.test('who waits for a lock when no connection is to be had is told so, once', async t => {
  const { locked, write, writers, breakOff, holds, requireClean } = openWriters(t)
  locked.add('kept')
  const both = ['one', 'two'].map(name => write(name, 'kept'))
  await until('they are tried alone', () => holds() > 2)
  breakOff(new Error('no connection'))
  for (const one of both) await t.rejects(one, { message: 'no connection' })
  await writers.idle()
  await requireClean()
})

t.test('what is set aside is waited for at the end', async t => {
  const { locked, write, writers, holds, requireClean } = openWriters(t)
  locked.add('kept')
  const kept = write('one', 'kept')
  await until('it is tried alone', () => holds() > 1)
  let isIdle = false
  const idle = writers.idle().then(() => {
    isIdle = true
  })
  await until('it is tried again', () => holds() > 3)
  t.notOk(isIdle)
  locked.clear()
  t.equal(await kept, 'one')
  await idle
  await requireClean()
})

t.test('what can be done in parts is told at once that some of it is locked', async t => {
  const { locked, writers, write, done, requireClean } = openWriters(t)
  locked.add('kept')
  const inParts = () =>
    writers.write(
      () => ({ names: ['kept', 'free'], isDivisible: true }),
      async () => void done.push('in parts'),
    )
  await t.rejects(inParts(), { name: 'StorageContended' })
  const kept = write('one', 'kept')
  t.equal(await write('other', 'free'), 'other')
  const begun = () => done.filter(name => name === 'in parts').length
  const before = begun()
  await t.rejects(inParts(), { name: 'StorageContended' })
  t.equal(begun(), before, 'now it is known, and not begun')
  locked.clear()
  await kept
  await requireClean()
})

t.test('what was refused, done or freed is set aside no longer', async t => {
  const { locked, write, done, holds, transactions, requireClean } = openWriters(t)
  locked.add('kept')
  const refused = write('refused', 'kept')
  await until('it is tried alone', () => holds() > 2)
  locked.clear()
  await t.rejects(refused, { message: 'refused' })
  const begun = done.length
  await requireClean()
  t.equal(done.length, begun, 'it is not tried again')

  locked.add('kept')
  const names = ['one', 'two', 'three', 'four']
  const all = names.map(name => write(name, 'kept'))
  const before = holds()
  await until('they are tried alone', () => holds() > before + 2)
  locked.clear()
  t.strictSame(await Promise.all(all), names)
  await requireClean()
  t.strictSame(transactions, [1, 3], 'one alone, and those that it freed together')
  t.equal(await write('later', 'kept'), 'later')
})

t.test('who holds what may be locked shares no transaction with others', async t => {
  const asked: unknown[] = []
  const { locked, write, transactions, holds, requireClean } = openWriters(t, {
    also({ name, values }) {
      if (name === 'hold') asked.push(values[1])
      return undefined
    },
  })
  locked.add('kept')
  const kept = [write('one', 'kept')]
  await until('it is tried alone', () => holds() > 1)
  kept.push(write('two', 'kept'))
  t.equal(await write('free', 'free'), 'free')
  t.strictSame(transactions, [1])
  for (const names of asked) t.equal((names as string[]).length, 1)
  locked.clear()
  await Promise.all(kept)
  await requireClean()
})

t.test('what is set aside while the last one before it ends is tried as well', async t => {
  const inTurn = async (turns: number) => {
    const asked = new Map<string, PromiseWithResolvers<void>>()
    const { write, requireClean } = openWriters(t, {
      also({ name, values }) {
        const lock = Promise.withResolvers<void>()
        if (name !== 'hold') return undefined
        asked.set((values[1] as string[])[0]!, lock)
        return lock.promise
      },
    })
    const one = write('one', 'a')
    await until('it asks', () => asked.has('a'))
    const other = write('other', 'b')
    await until('the other asks', () => asked.has('b'))
    asked.get('a')!.reject(lockKept())
    asked.delete('a')
    await until('it is tried alone', () => asked.has('a'))
    const kept = asked.get('b')!
    asked.delete('b')
    asked.get('a')!.resolve()
    // Each time a little later.
    for (let turn = 0; turn < turns; turn++) await null
    kept.reject(lockKept())
    await until('the other is tried, too', () => asked.has('b'))
    asked.get('b')!.resolve()
    await Promise.all([one, other])
    await requireClean()
  }
  await Promise.all(Array.from({ length: 40 }, (_, turns) => inTurn(turns)))
})

t.test('a lock that is met behind a savepoint is no fault of who meets it', async t => {
  const { server, locked, write, writers, requireClean } = openWriters(t)
  let tries = 0
  const meets = writers.write(
    () => ({}),
    async () => {
      // Not by the first try, after which all of its transaction have savepoints.
      if (++tries > 1 && locked.has('row')) throw lockKept()
      return 'done'
    },
  )
  const refused = write('refused')
  const other = write('other')
  locked.add('row')
  await t.rejects(refused, { message: 'refused' })
  t.equal(await other, 'other')
  t.ok(server.said.includes('savepoint one'))
  await until('it is tried alone', () => tries > 2)
  locked.clear()
  t.equal(await meets, 'done')
  await requireClean()
})
