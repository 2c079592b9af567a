import t from 'tap'
import { DiskFailed } from '../../../lib/base/faults.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import {
  type CommitTarget,
  commitRestMs,
  createGroupCommit,
  lockWaitMs,
} from '../../../lib/store/dialect/group-commit.ts'
import { leftRows } from '../../../lib/store/dialect/left-rows.ts'
import { notice } from '../../../lib/store/dialect/notices.ts'
import { chanceOf } from '../../support/fuzz.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

/** What one write does. */
interface Write {
  readonly isSynced: boolean
  readonly ms?: number
  readonly bytes?: number
  readonly fails?: boolean
  /** What it leaves can't be written. */
  readonly leavesHarm?: boolean
  readonly tells?: string
  /** Others that are asked for in its midst, by their places in the list. */
  readonly asks?: readonly number[]
}

interface Story {
  /** The first are asked for at once; those that another asks for are not. */
  readonly writes: readonly Write[]
  /** Those that are asked for during the first fsync. */
  readonly during?: readonly number[]
  readonly isBusy?: boolean
  /** How often the lock is another's when a transaction is to begin, one after the other, and for how long each time. */
  readonly locked?: readonly number[]
  readonly lockedMs?: number
  /** Which fsync fails. */
  readonly failedSync?: number
  /** The statement that fails, at its first time. */
  readonly failing?: string
  /** Whether that makes SQLite take the whole transaction back itself. */
  readonly isGone?: boolean
  readonly isDiskFault?: boolean
}

class Locked extends Error {}

/** Tells a story to a group commit whose database is a list; gives all that was done and said, in its order. */
async function play(story: Story) {
  const lines: string[] = []
  const wrong: string[] = []
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  const db = {} as WriteDb
  let written = 0
  /** What is committed, what of it the disk has, and what the transaction under way has. */
  let committed: readonly number[] = []
  let onDisk: readonly number[] = []
  let own: number[] | undefined
  let saved: number[] | undefined
  const locked = [...(story.locked ?? [])]
  let failing = story.failing
  let syncs = 0
  let waits = false
  const outcomes = new Map<number, string>()
  const sizes: number[] = []
  let inTransaction = 0

  const exec = (statement: string) => {
    if (statement === 'begin immediate') {
      if (own) wrong.push('a transaction within another')
      if ((locked[0] ?? 0) > 0) {
        locked[0]!--
        clock.ms += story.lockedMs ?? 1
        lines.push('is locked')
        throw new Locked('locked')
      }
      locked.shift()
    }
    lines.push(statement)
    if (statement === failing) {
      failing = undefined
      if (story.isGone) own = undefined
      throw new Error(`no ${statement}`)
    }
    if (statement === 'begin immediate') {
      own = [...committed]
      inTransaction = 0
    } else if (!own) throw new Error('no transaction is under way')
    else if (statement === 'savepoint one') saved = [...own]
    else if (statement === 'rollback to one') own = [...saved!]
    else if (statement === 'rollback') own = undefined
    else if (statement === 'commit') {
      committed = own
      own = undefined
      sizes.push(inTransaction)
    }
  }
  const target: CommitTarget = {
    db,
    exec,
    requireWhole: () => {},
    async writeLeft(left) {
      const names = left.unindexed.map(({ messageId }) => messageId)
      lines.push(`left: ${names.join(' ')}`)
      if (names.includes('harm')) throw new Error('what is left is refused')
    },
    givenBytes: () => written,
    isLocked: error => error instanceof Locked,
    waitsForLock: isWaiting => {
      if (isWaiting !== waits) lines.push(isWaiting ? 'waits for the lock' : 'waits no more')
      waits = isWaiting
    },
    isDiskFault: () => story.isDiskFault === true,
    async sync() {
      const now = committed
      const nth = ++syncs
      lines.push('sync')
      if (nth === 1) for (const n of story.during ?? []) ask(n)
      // What is asked for and can be done meanwhile is done before.
      for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
      clock.ms += 2
      if (nth === story.failedSync) throw new Error('EIO')
      onDisk = now
      lines.push('synced')
    },
  }
  const group = createGroupCommit(
    target,
    clock,
    {
      committed: notices => {
        for (const [topic, about] of notices) lines.push(`told ${topic}: ${[...about].join(' ')}`)
      },
      failed: error => lines.push(`failed: ${error.message}`),
      transacted: (writes, ms) => lines.push(`transacted ${writes} in ${ms} ms`),
      synced: ms => lines.push(`synced in ${ms} ms`),
    },
    {
      isBusy: () => story.isBusy === true,
      async rest(ms) {
        lines.push(`rests ${ms} ms`)
        clock.ms += ms
      },
    },
  )
  const asked: Promise<void>[] = []
  function ask(n: number): void {
    const write = story.writes[n]!
    const work = async (given: WriteDb) => {
      lines.push(`write ${n}`)
      if (
        ++inTransaction > 1 &&
        !write.isSynced &&
        own!.some(one => !committed.includes(one) && story.writes[one]!.isSynced)
      )
        wrong.push(`${n} is not synced, and finds what is not on the disk`)
      own!.push(n)
      clock.ms += write.ms ?? 0
      written += write.bytes ?? 0
      for (const other of write.asks ?? []) if (!outcomes.has(other)) askOnce(other)
      leftRows(given).unindexed.push({ messageId: write.leavesHarm ? 'harm' : String(n), state: 'new' })
      if (write.tells !== undefined) notice(given, 'mail', write.tells)
      if (write.fails) throw new Error(`write ${n} fails`)
      return n
    }
    const promise = write.isSynced ? group.write(work) : group.writeUnsynced(work)
    asked.push(
      promise.then(
        value => {
          if (value !== n) wrong.push(`${n} was given ${value}`)
          if (!committed.includes(n)) wrong.push(`${n} was promised and is not there`)
          if ((write.isSynced || write.tells !== undefined) && !onDisk.includes(n))
            wrong.push(`${n} was promised before the disk had it`)
          outcomes.set(n, 'done')
          lines.push(`${n} is done`)
        },
        (error: Error) => {
          outcomes.set(n, `${error.name}: ${error.message}`)
          lines.push(`${n}: ${error.name}: ${error.message}`)
        },
      ),
    )
  }
  const given = new Set<number>()
  function askOnce(n: number): void {
    if (given.has(n)) return
    given.add(n)
    ask(n)
  }
  const later = new Set([...(story.during ?? []), ...story.writes.flatMap(({ asks }) => asks ?? [])])
  for (const n of story.writes.keys()) if (!later.has(n)) ask(n)
  await group.idle()
  while (asked.length > 0) await asked.shift()
  if (own) wrong.push('a transaction is left open')
  return { lines, wrong, outcomes, committed, onDisk, sizes }
}

const synced: Write = { isSynced: true }
const unsynced: Write = { isSynced: false }
const times = (count: number, write: Write) => Array.from({ length: count }, () => write)

const stories: readonly (readonly [string, Story])[] = [
  ['one', { writes: [synced] }],
  [
    'three together, one of which tells',
    { writes: [synced, { ...synced, tells: 'ann' }, { ...synced, tells: 'bea' }] },
  ],
  ['one fails alone', { writes: [{ ...synced, fails: true, tells: 'ann' }] }],
  [
    'the second of three fails',
    { writes: [synced, { ...synced, fails: true, tells: 'ann' }, { ...synced, tells: 'bea' }] },
  ],
  ['one takes long', { writes: [synced, { ...synced, ms: 20 }, synced] }],
  ['one takes nearly as long', { writes: [synced, { ...synced, ms: 19 }, synced] }],
  ['one is large', { writes: [{ ...synced, bytes: 2 * 1024 * 1024 }, synced] }],
  ['one is nearly as large', { writes: [{ ...synced, bytes: 2 * 1024 * 1024 - 1 }, synced] }],
  ['one is not synced', { writes: [unsynced] }],
  ['one that is not synced tells', { writes: [{ ...unsynced, tells: 'ann' }] }],
  [
    'of four two are not synced, and come first',
    { writes: [synced, unsynced, synced, { ...unsynced, fails: true }] },
  ],
  ['what is asked for in a write is in its transaction', { writes: [{ ...synced, asks: [1] }, synced] }],
  [
    'but not what must find nothing that is not on the disk',
    { writes: [{ ...synced, asks: [1] }, unsynced] },
  ],
  [
    'what is asked for during the fsync shares the next',
    { writes: [synced, synced, synced, unsynced], during: [1, 2, 3] },
  ],
  ['two together while the loop is busy', { writes: [{ ...synced, ms: 1 }, synced], isBusy: true }],
  [
    'two that take as long as it would rest',
    { writes: [{ ...synced, ms: commitRestMs - 2 }, synced], isBusy: true },
  ],
  ['one while the loop is busy', { writes: [synced], isBusy: true }],
  ['what one leaves is refused', { writes: [{ ...synced, leavesHarm: true }] }],
  [
    'what one of three leaves is refused',
    { writes: [synced, { ...synced, leavesHarm: true }, { ...synced, tells: 'bea' }] },
  ],
  [
    'and another is asked for meanwhile',
    { writes: [{ ...synced, leavesHarm: true, asks: [2] }, unsynced, unsynced] },
  ],
  ['another writes for a while', { writes: [synced, synced], locked: [3] }],
  ['and for too long', { writes: [synced, unsynced, synced], locked: [5], lockedMs: lockWaitMs / 2 }],
  [
    'and for as long as is waited, but one millisecond',
    { writes: [synced], locked: [1], lockedMs: lockWaitMs - 1 },
  ],
  ['the fsync fails', { writes: [synced, unsynced, synced, synced], failedSync: 1, during: [2, 3] }],
  ['the second fsync fails', { writes: [synced, synced], failedSync: 2, during: [1] }],
  ['no transaction begins', { writes: [synced, unsynced], failing: 'begin immediate' }],
  ['the commit fails', { writes: [synced, synced, unsynced], failing: 'commit' }],
  [
    'the commit fails for the disk',
    { writes: [synced, synced, synced], failing: 'commit', isDiskFault: true, during: [2] },
  ],
  ['a write fails for the disk', { writes: [{ ...synced, fails: true }, synced], isDiskFault: true }],
  [
    'SQLite takes all back',
    { writes: [synced, { ...synced, fails: true }, synced], failing: 'rollback to one', isGone: true },
  ],
  ['a savepoint fails', { writes: [synced, { ...synced, fails: true }, synced], failing: 'savepoint one' }],
]

t.test('what becomes of writes', async t => {
  const facts: Facts[] = []
  for (const [title, story] of stories) {
    const { lines, wrong } = await play(story)
    t.strictSame(wrong, [], title)
    facts.push([title, lines])
  }
  sameFacts(t, 'commits', facts)
})

t.test('so many share a transaction, and then have savepoints', async t => {
  t.strictSame((await play({ writes: times(130, synced) })).sizes, [64, 64, 2])
  const { lines, sizes } = await play({ writes: [synced, { ...synced, fails: true }, ...times(128, synced)] })
  t.strictSame(sizes, [64, 64, 2])
  t.equal(lines.filter(line => line === 'savepoint one').length, 64)
})

t.test(
  'whatever comes together, each is done once or not at all, in its order, and promised when the disk has it',
  async t => {
    for (let seed = 1; seed <= 150; seed++) {
      const chance = chanceOf(seed)
      const count = 1 + chance.number(12)
      const isRare = () => chance.number(6) === 0
      const writes = Array.from({ length: count }, (_, n): Write => {
        const later = n + 1 < count && isRare() ? [n + 1 + chance.number(count - n - 1)] : []
        return {
          isSynced: chance.number(3) > 0,
          ms: isRare() ? 11 : 0,
          bytes: isRare() ? 1024 * 1024 : 0,
          fails: isRare(),
          leavesHarm: isRare(),
          ...(isRare() && { tells: String(n) }),
          asks: later,
        }
      })
      const { wrong, outcomes, committed, onDisk } = await play({
        writes,
        locked: [chance.number(3)],
        isBusy: isRare(),
      })
      t.strictSame(wrong, [], `seed ${seed}`)
      const isAsked = (n: number) => outcomes.has(n)
      for (const [n, { fails, leavesHarm }] of writes.entries()) {
        if (!isAsked(n)) continue
        const right = fails
          ? `Error: write ${n} fails`
          : leavesHarm
            ? 'Error: what is left is refused'
            : 'done'
        if (outcomes.get(n) !== right) t.equal(outcomes.get(n), right, `write ${n} of seed ${seed}`)
      }
      const done = [...writes.keys()].filter(n => outcomes.get(n) === 'done')
      t.strictSame(
        [...committed].sort((a, b) => a - b),
        done,
        `each once, seed ${seed}`,
      )
      t.ok(onDisk.every(n => committed.includes(n)))
      for (const isSynced of [true, false]) {
        const alike = committed.filter(
          n => writes[n]!.isSynced === isSynced && !writes.some(({ asks }) => asks!.includes(n)),
        )
        t.strictSame(
          alike,
          alike.toSorted((a, b) => a - b),
          `in their order, seed ${seed}`,
        )
      }
    }
  },
)

t.test('after a failed fsync nothing is written any more', async t => {
  const { outcomes, committed } = await play({ writes: times(4, synced), failedSync: 1, during: [2, 3] })
  t.strictSame(committed, [0, 1])
  for (const outcome of outcomes.values()) t.match(outcome, new RegExp(`^${DiskFailed.name}: `))
})
