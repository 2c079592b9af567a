import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import type { Held } from '../../../lib/store/dialect/held.ts'
import { leftRows } from '../../../lib/store/dialect/left-rows.ts'
import { type Notices, notice } from '../../../lib/store/dialect/notices.ts'
import { createWriters } from '../../../lib/store/transactions/writers.ts'
import {
  lockKept,
  type Statement,
  scriptConnections,
  serverError,
} from '../../support/scripted-connections.ts'

/** Writers over one connection to a server that is not there. */
function openWriters(script?: (statement: Statement) => undefined) {
  const server = scriptConnections(script)
  const told: Record<string, string[]>[] = []
  const lefts: string[][] = []
  const transactions: number[] = []
  const writers = createWriters({
    take: server.take,
    connections: 1,
    async writeLeft(_db, { unindexed }) {
      const ids = unindexed.map(({ messageId }) => messageId)
      lefts.push(ids)
      // What stands in a row, and no row that another has or that is not there.
      if (ids.includes('wrong')) throw serverError('23502')
      if (ids.includes('late')) throw serverError('23503')
      if (ids.includes('locked') && lefts.length < 3) throw lockKept()
    },
    committed: (notices: Notices) =>
      void told.push(Object.fromEntries([...notices].map(([topic, about]) => [topic, [...about]]))),
    transacted: writes => void transactions.push(writes),
    monotonicMs: systemClock.monotonicMs,
  })
  const write = <T>(work: (db: WriteDb) => Promise<T>, held: Held = {}) => writers.write(() => held, work)
  const requireClean = async (t: Test) => {
    await writers.idle()
    t.strictSame(server.broken, [])
    t.equal(server.inUse(), 0)
  }
  return { server, told, lefts, transactions, write, requireClean }
}

const leave = (db: WriteDb, messageId: string) =>
  void leftRows(db).unindexed.push({ messageId, state: 'new' })

t.test('of what writes leave together none fails for the rows of another', async t => {
  for (const [wrong, code] of [
    ['wrong', '23502'],
    ['late', '23503'],
  ]) {
    const { write, lefts, transactions, requireClean } = openWriters()
    const writes = ['a', wrong!, 'b'].map(id => write(async db => leave(db, id)))
    const ended = await Promise.allSettled(writes)
    t.match(ended, [
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code } },
      { status: 'fulfilled' },
    ])
    t.strictSame(lefts[0], ['a', wrong, 'b'])
    t.strictSame(transactions, [1, 1])
    await requireClean(t)
  }
})

t.test('a lock that is met by what a write left is waited for', async t => {
  const { write, lefts, requireClean } = openWriters()
  await write(async db => leave(db, 'locked'))
  t.equal(lefts.length, 3)
  await requireClean(t)
})

t.test('what writes of a transaction give notice of is told once, without what was undone', async t => {
  const { write, told, lefts, requireClean } = openWriters()
  const all = ['a', 'b', 'refused', 'a'].map(about =>
    write(async db => {
      notice(db, 'mail', about)
      if (about !== 'a') notice(db, 'event')
      leave(db, about)
      if (about === 'refused') throw new Error('refused')
    }),
  )
  await Promise.allSettled(all)
  t.strictSame(told, [{ mail: ['a', 'b'], event: [''] }])
  t.strictSame(lefts, [['a', 'b', 'a']])
  await requireClean(t)
})

t.test('a transaction of one has no savepoints, and its failure is what it threw', async t => {
  const { server, write, requireClean } = openWriters()
  const refused = new Error('refused')
  const alone = write(async () => {
    throw refused
  })
  t.equal(await alone.catch(error => error), refused)
  await write(async () => {})
  t.notOk(server.said.some(text => text.includes('savepoint')))
  await requireClean(t)
})

t.test('each is undone alone behind its savepoint, for as many writes as come then', async t => {
  const { server, write, transactions, requireClean } = openWriters()
  const together = (count: number, refused = -1) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, n) =>
        write(async () => {
          if (n === refused) throw new Error('refused')
        }),
      ),
    )
  const saved = () => server.said.filter(text => text === 'savepoint one').length
  await together(64, 3)
  t.equal(saved(), 64)
  t.strictSame(
    server.said.filter(text => ['rollback', 'release one', 'rollback to one'].includes(text)).slice(0, 6),
    ['rollback', 'release one', 'release one', 'release one', 'rollback to one', 'release one'],
  )
  await together(1)
  t.equal(saved(), 64, 'it is alone without one')
  await together(64)
  t.equal(saved(), 128)
  await together(64)
  t.equal(saved(), 128, 'none has thrown for long')
  t.strictSame(transactions, [64, 1, 64, 64])
  await requireClean(t)
})

t.test(
  'what can not even be undone is done again over another connection, and nobody is told what another has thrown',
  async t => {
    let isBroken = false
    const { server, write } = openWriters(({ text }) => {
      if (isBroken && text === 'rollback') throw serverError('57P01')
      return undefined
    })
    const fail = async () => {
      isBroken = server.connections() === 1
      throw new Error('refused')
    }
    const ended = await Promise.allSettled([write(fail), write(async () => 'done')])
    t.match(ended, [{ reason: { message: 'refused' } }, { value: 'done' }])
    t.equal(server.connections(), 2)
  },
)

t.test('at the most 64 writes share a transaction', async t => {
  const { write, transactions, requireClean } = openWriters()
  await Promise.all(Array.from({ length: 130 }, () => write(async () => {})))
  t.strictSame(transactions, [64, 64, 2])
  await requireClean(t)
})

t.test('of a transaction that met another each write is done again, alone', async t => {
  const { write, transactions, requireClean } = openWriters()
  let tried = 0
  const all = ['a', 'b', 'c'].map(name =>
    write(async () => {
      if (name === 'b' && tried++ < 2) throw serverError('40001')
    }),
  )
  await Promise.all(all)
  t.equal(tried, 3)
  t.strictSame(transactions, [1, 1, 1])
  await requireClean(t)
})
