import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import {
  createThreadMark,
  createThreadWatch,
  findCulprit,
  markWork,
  placesIn,
} from '../../lib/base/thread-watch.ts'
import { until } from '../support/until.ts'

t.test('it is seen from outside for whom a thread is at work', async t => {
  const mark = createThreadMark()
  const work = markWork(mark)
  t.equal(findCulprit(mark), undefined)
  const party = '2001:db8:1234:5678::/64'
  t.equal(
    work(party, () => findCulprit(mark)),
    party,
  )
  t.equal(findCulprit(mark), undefined, 'and for nobody after it')
  const shorter = work('192.0.2.1', () => findCulprit(mark))
  t.equal(shorter, '192.0.2.1', 'nothing is left of a longer name')
  t.throws(() => work(party, () => placesIn(mark).fill(0) && JSON.parse('')))
  t.equal(findCulprit(mark), undefined, 'nor after a fault')
})

t.test('a thread whose event loop stands still is told of', async t => {
  const mark = createThreadMark()
  let late = 0
  const watch = createThreadWatch(placesIn(mark), 20, systemClock, () => late++)
  watch.start()
  await until('it is late', () => late > 0)
  watch.stop()
  t.pass('it was')
})
