import t from 'tap'
import { limits } from '../../lib/base/limits.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { gatherNotices, type Notices } from '../../lib/store/dialect/notices.ts'
import { startPlacer } from '../../lib/store/placer.ts'
import { takeConnection } from '../../lib/store/transactions/connection.ts'

/** A placer beside whose writes somebody leaves events; each time that it comes to its turn it places as many as the next of `some`. */
async function openPlacer(some: readonly (number | undefined)[]) {
  const asked: string[] = []
  const notices: Notices = new Map()
  const { db } = await takeConnection(async () => ({
    async query(text) {
      asked.push((text as unknown as { text?: string }).text ?? text)
      return { command: 'SELECT', rowCount: 1, rows: [{ last: 1 }] }
    },
    release() {},
  }))
  const left = [...some]
  let turns = 0
  const placer = startPlacer(db, async turn => {
    turns++
    // As one does who finds that there are none any more.
    gatherNotices(db as WriteDb, notices)
    await turn.finish(db as WriteDb, [[], '1'] as never)
    return left.shift() as never
  })
  return { placer, asked, notices, turns: () => turns }
}

t.test('it goes on while there may be more', async t => {
  const { placer, notices, turns } = await openPlacer([limits.placedAtOnce, limits.placedAtOnce, 10, 1])
  placer.wake()
  await placer.stop()
  t.equal(turns(), 3)
  t.strictSame([...notices], [], 'nobody is told of what another has placed')
})

t.test('and while another is at it, who may have looked before they came', async t => {
  const { placer, turns } = await openPlacer([undefined, undefined, 1, 1])
  placer.wake()
  await placer.stop()
  t.equal(turns(), 3)
})

t.test('who was told of events does not ask whether there are any', async t => {
  const { placer, asked } = await openPlacer([1])
  placer.wake()
  await placer.stop()
  t.strictSame(asked, [])
})
