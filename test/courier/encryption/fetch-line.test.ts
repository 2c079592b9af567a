import t from 'tap'
import { FetchLine } from '../../../lib/courier/encryption/fetch-line.ts'

const never = new AbortController().signal

t.test('so many in all; a pod leaves some to the next, and who waits takes turns of pods', async t => {
  const line = new FetchLine(8)
  const begun: string[] = []
  const enter = (podId: string, signal = never) =>
    line.enter(podId, signal).then(is => {
      begun.push(is ? podId : `${podId} gave up`)
    })
  const settled = () => new Promise(setImmediate)
  for (let n = 0; n < 20; n++) void enter('eve')
  await settled()
  t.equal(begun.length, 6, 'three times as many as are left')
  void enter('gus')
  await settled()
  t.equal(begun.at(-1), 'gus', 'at once')

  const gone = new AbortController()
  void enter('eve', gone.signal)
  for (let n = 0; n < 5; n++) void enter('ann')
  await settled()
  const before = begun.length
  gone.abort()
  await settled()
  t.strictSame(begun.slice(before), ['eve gave up'])
  for (let n = 0; n < 4; n++) line.leave('eve')
  await settled()
  t.ok(begun.filter(podId => podId === 'ann').length >= 2, begun.join())
  t.equal(await line.enter('eve', AbortSignal.abort()), false)
})

t.test('all that waits has its turn when those before it leave, and nothing is kept of them', async t => {
  const line = new FetchLine(4)
  let under = 0
  let most = 0
  const all = Array.from({ length: 200 }, async (_, n) => {
    const podId = `pod${n % 3}`
    t.equal(await line.enter(podId, never), true)
    most = Math.max(most, ++under)
    await new Promise(setImmediate)
    under--
    line.leave(podId)
  })
  await Promise.all(all)
  t.ok(most <= 4, String(most))
  t.equal(line.hasRoomFor('pod0'), true)
})
