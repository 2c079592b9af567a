import t, { type Test } from 'tap'
import {
  createThreadMark,
  createThreadWatch,
  findCulprit,
  markWork,
  places,
  placesIn,
} from '../../lib/base/threads.ts'
import { until } from '../support/until.ts'

/** A thread that does `work` before each look, of which ten make its time; gives how often it was called late. */
function watched(t: Test, work: (place: Int32Array) => void) {
  const place = new Int32Array(places.count)
  const seen = { looks: 0, late: 0 }
  const clock = {
    now: () => new Date(0),
    monotonicMs() {
      seen.looks++
      work(place)
      return seen.looks
    },
  }
  const watch = createThreadWatch(place, 10, clock, () => seen.late++)
  t.teardown(() => watch.stop())
  watch.start()
  return seen
}

t.test('a thread is late that is at one message too long, though its event loop comes round', async t => {
  const seen = watched(t, place => {
    place[places.current] = 7
    place[places.heartbeat]!++
  })
  await until('it is late', () => seen.late > 0)
  t.ok(seen.looks > 10)
})

t.test(
  'a thread is late whose event loop stands still, though it is at no message, or at ever others',
  async t => {
    for (const work of [
      () => {},
      (place: Int32Array) => {
        place[places.current]!++
      },
    ]) {
      const seen = watched(t, work)
      await until('it is late', () => seen.late > 0)
      t.ok(seen.looks > 10)
    }
  },
)

t.test('a thread is not late because the process was stopped or the machine suspended', async t => {
  const place = new Int32Array(places.count)
  let [now, looks, late] = [0, 0, 0]
  const monotonicMs = () => {
    looks++
    // Now and then an hour passes between two looks.
    now += looks % 4 === 2 ? 3_600_000 : 1
    if (looks % 4 === 1) place[places.heartbeat]!++
    return now
  }
  const watch = createThreadWatch(place, 10, { now: () => new Date(0), monotonicMs }, () => late++)
  t.teardown(() => watch.stop())
  watch.start()
  await until('it was looked at often', () => looks > 40)
  t.equal(late, 0)
})

t.test('a thread is not late that goes from message to message, or has none', async t => {
  for (const isBusy of [true, false]) {
    const seen = watched(t, place => {
      if (isBusy) place[places.current]!++
      place[places.heartbeat]!++
    })
    await until('it was looked at often', () => seen.looks > 50)
    t.equal(seen.late, 0)
  }
})

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
