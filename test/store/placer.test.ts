import t from 'tap'
import { gatherRows, noRows } from '../../lib/store/dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../../lib/store/dialect/notices.ts'
import { placedAtOnce, startPlacer } from '../../lib/store/placer.ts'
import { handleOver } from '../../lib/store/postgres/connection.ts'

/** A placer beside whose writes somebody leaves events; each time that it comes to its turn it places as many as the next of `some`. */
async function openPlacer(some: readonly (number | undefined)[]) {
  const asked: string[] = []
  const notices: Notices = new Map()
  const query = async (text: string) => {
    asked.push(text)
    // Somebody leaves events all the time; what is taken is none of them here.
    const rows = /max\("number"\)/.test(text) ? [{ last: 1 }] : []
    return { command: 'SELECT', rowCount: rows.length, rows }
  }
  const connect = async () => ({ query: query as never, release() {} })
  const db = handleOver({ connect, end: async () => {} } as never, query)
  const left = [...some]
  let turns = 0
  const placer = startPlacer(db, async work => {
    turns++
    // As a process does that finds that there are none any more.
    gatherNotices(db, notices)
    gatherRows(db, noRows())
    await work(db)
    return left.shift()
  })
  return { placer, asked, notices, turns: () => turns }
}

t.test('it goes on while there may be more', async t => {
  const { placer, notices, turns } = await openPlacer([placedAtOnce, placedAtOnce, 10, 1])
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
  t.notOk(asked.some(text => /max\("number"\)/.test(text)))
})
