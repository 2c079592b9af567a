import t from 'tap'
import { limits } from '../../lib/base/limits.ts'
import { startPlacer } from '../../lib/store/placer.ts'
import { takeConnection } from '../../lib/store/transactions/connection.ts'

/** A placer beside whose writes somebody leaves events; each time that it comes to its turn it places as many as the next of `some`. */
async function openPlacer(some: readonly (number | undefined)[]) {
  const asked: string[] = []
  const { db } = await takeConnection(async () => ({
    async query(text) {
      asked.push((text as unknown as { text?: string }).text ?? text)
      return { command: 'SELECT', rowCount: 1, rows: [{ last: 1 }] }
    },
    release() {},
  }))
  const left = [...some]
  let turns = 0
  const placer = startPlacer(db, async () => {
    turns++
    return left.shift() as never
  })
  return { placer, asked, turns: () => turns }
}

t.test('it goes on while there may be more', async t => {
  const { placer, turns } = await openPlacer([limits.placedAtOnce, limits.placedAtOnce, 10, 1])
  placer.wake()
  await placer.stop()
  t.equal(turns(), 3)
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
