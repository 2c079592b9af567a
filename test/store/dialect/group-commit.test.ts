import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { DiskFailed, StorageLocked } from '../../../lib/base/faults.ts'
import {
  type CommitTarget,
  commitRestMs,
  createGroupCommit,
  lockWaitMs,
} from '../../../lib/store/dialect/group-commit.ts'
import { insertRow } from '../../../lib/store/dialect/insert.ts'
import { createListeners, notice } from '../../../lib/store/dialect/notices.ts'
import { openSqliteReader, openSqliteWriter } from '../../../lib/store/dialect/sqlite.ts'
import { writeLeft } from '../../../lib/store/last-statements.ts'
import { migrate } from '../../../lib/store/migrations/migrate.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { insertInstallation, insertPodRow } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

/** A real SQLite file whose fsync the test holds in its hand. */
function setUp(t: Test) {
  const path = `${temporaryDir(t)}/held.sqlite`
  const writer = openSqliteWriter(path)
  const reader = openSqliteReader(path)
  t.teardown(() => {
    reader.close()
    writer.close()
  })
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  const syncs: { resolve: () => void; reject: (error: Error) => void }[] = []
  const transactions = { begun: 0 }
  /** The statement that fails the next time, and no more. */
  const failing: { statement: string | undefined; left: number } = { statement: undefined, left: 0 }
  const told: unknown[] = []
  const took: unknown[] = []
  const waits: boolean[] = []
  const target: CommitTarget = {
    db: writer.db,
    exec(statement) {
      if (statement === failing.statement) {
        failing.statement = undefined
        throw new Error(`no ${statement}`)
      }
      if (statement === 'begin immediate') transactions.begun++
      writer.exec(statement)
    },
    requireWhole: () => {},
    async writeLeft(left) {
      if (failing.left-- > 0) throw new Error('nothing can be left')
      await writeLeft(writer.db, left)
    },
    givenBytes: writer.givenBytes,
    isLocked: writer.isLocked,
    waitsForLock: isWaiting => waits.push(isWaiting),
    isDiskFault: writer.isDiskFault,
    sync: () => new Promise<void>((resolve, reject) => syncs.push({ resolve, reject })),
  }
  const failures: DiskFailed[] = []
  /** Its event loop is idle unless the test says otherwise; what rests does so until the test ends it. */
  const load = { isBusy: false, rests: [] as { ms: number; end: () => void }[] }
  const group = createGroupCommit(
    target,
    clock,
    {
      committed(notices) {
        for (const [topic, about] of notices) told.push([topic, ...about])
      },
      failed: error => failures.push(error),
      transacted: (writes, ms) => took.push([writes, ms]),
      synced: ms => took.push(ms),
    },
    {
      isBusy: () => load.isBusy,
      rest: ms => new Promise<void>(end => load.rests.push({ ms, end })),
    },
  )
  return { path, failures, group, syncs, transactions, reader, clock, failing, told, took, waits, load }
}

t.test('no promise resolves before the fsync, and what comes meanwhile shares the next one', async t => {
  const { group, syncs, transactions } = setUp(t)
  const order: string[] = []
  const first = group.write(async db => {
    await migrate(db, 'sqlite', 'x')
    await insertInstallation(db)
  })
  first.then(() => order.push('first'))
  await until('the first fsync asked for', () => syncs.length === 1)
  const others = Array.from({ length: 20 }, (_, index) =>
    group.write(async db => {
      await insertPodRow(db)
      return index
    }),
  )
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame([order, transactions.begun, syncs.length], [[], 1, 1], 'committed, and waiting for the disk')
  syncs[0]!.resolve()
  await first
  await until('the second fsync asked for', () => syncs.length === 2)
  t.equal(transactions.begun, 2, 'twenty writes, one transaction')
  syncs[1]!.resolve()
  t.strictSame(
    await Promise.all(others),
    Array.from({ length: 20 }, (_, index) => index),
  )
  await group.idle()
  t.equal(syncs.length, 2)
})

t.test('while the event loop is busy, writes that come together wait for others', async t => {
  const { group, syncs, transactions, load, clock } = setUp(t)
  const write = () => group.write(async () => {})
  const turn = () => new Promise(resolve => setImmediate(resolve))
  let fsyncs = 0
  const commitAll = async (writes: Promise<void>[]) => {
    fsyncs++
    await until('the fsync asked for', () => syncs.length === fsyncs)
    syncs.at(-1)!.resolve()
    await Promise.all(writes)
    await turn()
  }
  await commitAll([write(), write()])
  t.equal(load.rests.length, 0, 'none while it is idle')
  load.isBusy = true
  await commitAll([write()])
  t.equal(load.rests.length, 0, 'nor for one alone')
  const together = [write(), write()]
  await until('the fsync asked for', () => syncs.length === 3)
  clock.ms += 1
  await commitAll(together)
  t.strictSame(
    load.rests.map(({ ms }) => ms),
    [commitRestMs - 1],
    'from the begin of the last one on',
  )
  const first = write()
  await turn()
  const second = write()
  await turn()
  t.equal(transactions.begun, 3)
  load.rests[0]!.end()
  await commitAll([first, second])
  t.equal(transactions.begun, 4, 'and have one transaction')
  load.rests[1]!.end()
  await group.idle()
})

t.test(
  'what may be lost waits for no fsync, and builds on nothing that has not reached the disk',
  async t => {
    const { group, syncs, reader, transactions } = setUp(t)
    const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
    await until('the fsync asked for', () => syncs.length === 1)
    const installed = group.write(insertInstallation)
    const seen: number[] = []
    const look = () =>
      group.writeUnsynced(async db => {
        seen.push((await db.selectFrom('pod').select('id').execute()).length)
      })
    const first = look()
    await new Promise(resolve => setImmediate(resolve))
    t.equal(transactions.begun, 1, 'what comes next is not begun before')
    syncs[0]!.resolve()
    await migrated
    await first
    t.strictSame(seen, [0], 'it was asked for later, and comes before what is not on the disk')
    await until('the second fsync asked for', () => syncs.length === 2)
    t.equal(transactions.begun, 2, 'in the same transaction, and it has not waited for its fsync')
    const second = look()
    await new Promise(resolve => setImmediate(resolve))
    t.equal(transactions.begun, 2)
    syncs[1]!.resolve()
    await Promise.all([installed, second])
    t.strictSame(seen, [0, 1])
    t.equal(syncs.length, 2, 'alone, it is there without an fsync')
    const meanwhile: Promise<void>[] = []
    const third = group.write(async db => {
      await insertPodRow(db)
      meanwhile.push(look())
    })
    await until('the third fsync asked for', () => syncs.length === 3)
    t.strictSame(seen, [0, 1], 'nor does it join a transaction that has begun')
    syncs[2]!.resolve()
    await Promise.all([third, ...meanwhile])
    t.strictSame(seen, [0, 1, 2])
    reader.refresh()
    t.equal((await reader.db.selectFrom('pod').select('id').execute()).length, 2)
    await t.rejects(
      group.writeUnsynced(async () => {
        throw new Error('no')
      }),
      { message: 'no' },
    )
  },
)

t.test('where one of many throws, all are done once more, and it alone fails', async t => {
  const { group, syncs, transactions, reader } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  let done = 0
  const insert = () =>
    group.write(async db => {
      done++
      await insertPodRow(db)
    })
  const fail = () =>
    group.write(async db => {
      await insertPodRow(db)
      throw new Error('no')
    })
  const installed = group.write(insertInstallation)
  const writes = [insert(), fail(), insert(), fail(), insert()]
  const ends = Promise.allSettled(writes)
  syncs[0]!.resolve()
  await migrated
  await until('the second fsync asked for', () => syncs.length === 2)
  syncs[1]!.resolve()
  await installed
  const are = (await ends).map(({ status }) => status)
  t.strictSame(are, ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
  t.strictSame([done, transactions.begun], [4, 3], 'those before the first that throws twice, and no more')
  reader.refresh()
  t.equal((await reader.db.selectFrom('pod').select('id').execute()).length, 1 + 3)
  await group.idle()
})

t.test('one that throws and is alone is undone', async t => {
  const { group, syncs, reader } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  syncs[0]!.resolve()
  await migrated
  const failed = group.write(async db => {
    await insertInstallation(db)
    throw new Error('no')
  })
  await t.rejects(failed, { message: 'no' })
  await group.idle()
  reader.refresh()
  t.strictSame(await reader.db.selectFrom('pod').select('id').execute(), [])
  t.equal(syncs.length, 1, 'and nothing waits for the disk')
})

t.test('what a write gives notice of is told after its fsync, and of what is undone nothing', async t => {
  const { group, syncs, told } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  const kept = group.write(async db => notice(db, 'mail', 'a'))
  const undone = group.write(async db => {
    notice(db, 'mail', 'b')
    throw new Error('no')
  })
  undone.catch(() => {})
  await until('the fsync asked for', () => syncs.length === 1)
  t.strictSame(told, [], 'committed, and not on the disk')
  syncs[0]!.resolve()
  await Promise.all([migrated, kept])
  await t.rejects(undone, { message: 'no' })
  t.strictSame(told, [['mail', 'a']])
  const claimed = group.writeUnsynced(async db => notice(db, 'event'))
  await until('an fsync for what is told', () => syncs.length === 2)
  t.equal(told.length, 1)
  syncs[1]!.reject(new Error('EIO'))
  await t.rejects(claimed, DiskFailed)
  t.equal(told.length, 1, 'nor is what the disk did not keep')
})

t.test('what can be read is settled once it is on the disk', async t => {
  const { group, syncs } = setUp(t)
  t.equal(group.settled(), undefined)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  let isSettled = false
  const settled = group.settled()?.then(() => {
    isSettled = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(isSettled, false, 'committed, and not on the disk')
  syncs[0]!.resolve()
  await migrated
  await settled
  t.equal(isSettled, true)
  t.equal(group.settled(), undefined)

  await group.writeUnsynced(async () => {})
  t.equal(group.settled(), undefined, 'what may be lost with the power is waited for by nobody')

  const lost = group.write(async () => {})
  await until('an fsync', () => syncs.length === 2)
  const waiting = group.settled()
  syncs[1]!.reject(new Error('EIO'))
  await t.rejects(lost, DiskFailed)
  await t.rejects(waiting!, DiskFailed, 'what the disk did not keep')
  await t.rejects(group.settled()!, DiskFailed, 'and is read still')
})

t.test('a transaction is bounded by the bytes that it writes, and what waits goes into the next', async t => {
  const { group, syncs, transactions } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  syncs[0]!.resolve()
  await migrated
  const content = Buffer.alloc(600_000)
  const before = transactions.begun
  const written = Array.from({ length: 10 }, (_, index) =>
    group.writeUnsynced(db =>
      insertRow(db, 'raw', {
        id: `r${index}`,
        sizeBytes: content.length,
        sha256: '',
        content,
        createdAt: 'x',
      }),
    ),
  )
  await Promise.all(written)
  t.equal(transactions.begun - before, 3, 'four in each of them, for that is more than 2 MiB')
})

t.test('who listens is told of its topic until it ends that', async t => {
  const listeners = createListeners()
  const heard: string[] = []
  const off = listeners.on('mail', about => heard.push(...about))
  listeners.tell(new Map([['mail', new Set(['a', 'b'])]]))
  listeners.tell(new Map([['queue', new Set(['c'])]]))
  t.strictSame(heard, ['a', 'b'])
  off()
  listeners.tell(new Map([['mail', new Set(['d'])]]))
  t.strictSame(heard, ['a', 'b'])
})

t.test('where a transaction does not begin or end, its writes fail, and the next is done', async t => {
  const { group, syncs, reader, failing } = setUp(t)
  const done = async <T>(write: Promise<T>, sync: number) => {
    await until('the fsync asked for', () => syncs.length === sync)
    syncs[sync - 1]!.resolve()
    return write
  }
  await done(
    group.write(async db => {
      await migrate(db, 'sqlite', 'x')
      await insertInstallation(db)
    }),
    1,
  )
  for (const [index, statement] of ['begin immediate', 'commit'].entries()) {
    failing.statement = statement
    const writes = [1, 2].map(() => group.write(insertPodRow))
    const results = await Promise.allSettled(writes)
    t.strictSame(
      results.map(({ status }) => status),
      ['rejected', 'rejected'],
      statement,
    )
    await done(group.write(insertPodRow), index + 2)
    reader.refresh()
    const pods = await reader.db.selectFrom('pod').select('id').execute()
    t.equal(pods.length, index + 2, 'and they left nothing')
  }
})

t.test('where what writes left can not be written, each is done again alone, and fails alone', async t => {
  const { group, syncs, transactions, failing } = setUp(t)
  /** How each of so many writes ends, and in how many transactions, where the first `failures` of these fail at their end. */
  const ends = async (count: number, failures: number) => {
    failing.left = failures
    const begunBefore = transactions.begun
    const writes = Array.from({ length: count }, () => group.write(async () => {}))
    const isOver = { is: false }
    const all = Promise.allSettled(writes).finally(() => {
      isOver.is = true
    })
    let resolved = 0
    await until('their end', () => {
      for (const one of syncs.slice(resolved)) one.resolve()
      resolved = syncs.length
      return isOver.is
    })
    const kept = (await all).filter(({ status }) => status === 'fulfilled').length
    return { kept, transactions: transactions.begun - begunBefore }
  }
  t.strictSame(await ends(1, 1), { kept: 0, transactions: 1 }, 'it was alone')
  t.strictSame(await ends(2, 1), { kept: 2, transactions: 3 })
  t.strictSame(await ends(3, 2), { kept: 2, transactions: 4 }, 'the first one fails again')
})

t.test('how long a transaction took is told, and apart from it how long the disk did', async t => {
  const { group, syncs, clock, took } = setUp(t)
  clock.ms = 100
  const written = group.write(async () => {
    clock.ms += 5
  })
  await until('the fsync asked for', () => syncs.length === 1)
  clock.ms += 7
  syncs[0]!.resolve()
  await written
  t.strictSame(took, [[1, 5], 7])
})

t.test('a transaction takes 64 writes at the most', async t => {
  const { group, syncs, transactions } = setUp(t)
  const writes = Array.from({ length: 130 }, () => group.write(async () => transactions.begun))
  for (let sync = 0; sync < 3; sync++) {
    await until('the next fsync asked for', () => syncs.length === sync + 1)
    syncs[sync]!.resolve()
  }
  const within = await Promise.all(writes)
  t.strictSame(
    [1, 2, 3].map(number => within.filter(each => each === number).length),
    [64, 64, 2],
  )
})

t.test('while another connection writes, what is asked for waits, and the event loop goes round', async t => {
  const { group, syncs, path, clock, reader, transactions, waits } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the first fsync asked for', () => syncs.length === 1)
  syncs[0]!.resolve()
  await migrated
  const other = new Database(path)
  t.teardown(() => other.close())
  other.exec('begin immediate')
  const answered: string[] = []
  const early = group.write(insertInstallation)
  early.then(
    () => answered.push('early'),
    error => answered.push(String(error.name)),
  )
  t.notOk(waits.includes(true), 'nobody was in the way')
  const tried = transactions.begun
  const { turns } = await turnsDuring(() => until('it has asked again', () => transactions.begun > tried + 3))
  t.ok(turns > 3, 'without standing still')
  t.strictSame(await reader.db.selectFrom('pod').select('id').execute(), [])
  t.strictSame(answered, [], 'neither done nor refused')
  t.equal(waits.at(-1), true, 'who shares the file may learn that it waits')
  clock.ms += lockWaitMs - 1
  const late = group.write(insertInstallation)
  clock.ms += 1
  await t.rejects(early, StorageLocked, 'nobody waits for ever')
  t.strictSame(answered, ['StorageLocked'], 'and who came later waits on')
  other.exec('commit')
  await until('the fsync asked for', () => syncs.length === 2)
  t.equal(waits.at(-1), false)
  syncs[1]!.resolve()
  await late
  await group.idle()
})

t.test('when the fsync fails nobody is told yes, and nothing more is written', async t => {
  const { group, syncs, failures } = setUp(t)
  const write = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  syncs[0]!.reject(new Error('EIO'))
  await t.rejects(write, DiskFailed)
  await t.rejects(group.write(insertInstallation), DiskFailed)
  t.equal(syncs.length, 1)
  t.equal(failures.length, 1, 'and it is told, once')
})

t.test('when somebody else has seen the disk fail, nothing more is written', async t => {
  const { group, syncs, failures } = setUp(t)
  group.fail(new Error('the log is gone'))
  await t.rejects(
    group.write(async () => {}),
    DiskFailed,
  )
  t.strictSame([syncs.length, failures.length], [0, 1])
})

t.test('a transaction ends after 20 ms of work, and the event loop comes round before the next', async t => {
  const { group, syncs, transactions, clock } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  const done: number[][] = []
  const writes = Array.from({ length: 5 }, () =>
    group.write(async db => {
      await db.selectFrom('pod').select('id').execute()
      clock.ms += 9
      done.push([transactions.begun])
    }),
  )
  syncs[0]!.resolve()
  await migrated
  await until('the second fsync asked for', () => syncs.length === 2)
  t.strictSame(done.flat(), [2, 2, 2], 'three of 9 ms are 27, and no fourth is begun')
  let hasTurned = false
  syncs[1]!.resolve()
  await writes[0]
  setImmediate(() => {
    hasTurned = true
  })
  await until('the third fsync asked for', () => syncs.length === 3)
  t.ok(hasTurned)
  t.strictSame(done.flat(), [2, 2, 2, 3, 3])
  syncs[2]!.resolve()
  await Promise.all(writes)
})

t.test('a write that takes longer than that alone is done alone', async t => {
  const { group, syncs, transactions, clock } = setUp(t)
  const migrated = group.write(db => migrate(db, 'sqlite', 'x'))
  await until('the fsync asked for', () => syncs.length === 1)
  const long = () =>
    group.write(async () => {
      clock.ms += 1000
    })
  const writes = [long(), long()]
  for (let sync = 0; sync < 3; sync++) {
    await until('the next fsync asked for', () => syncs.length === sync + 1)
    syncs[sync]!.resolve()
  }
  await Promise.all([migrated, ...writes])
  t.equal(transactions.begun, 3)
})
