import t from 'tap'
import { atMost } from '../../lib/base/turns.ts'

t.test('so many at once, the others in their order, whatever fails', async t => {
  const work = atMost(2)
  const under: number[] = []
  const ends = new Map<number, PromiseWithResolvers<number>>()
  const begin = (n: number) =>
    work(() => {
      under.push(n)
      const end = Promise.withResolvers<number>()
      ends.set(n, end)
      return end.promise.finally(() => under.splice(under.indexOf(n), 1))
    })
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const all = [1, 2, 3, 4, 5].map(begin)
  await settled()
  t.strictSame(under, [1, 2])
  const failed = t.rejects(all[1]!, /no/)
  ends.get(2)!.reject(new Error('no'))
  await failed
  await settled()
  t.strictSame(under, [1, 3])
  ends.get(1)!.resolve(1)
  t.equal(await all[0], 1)
  await settled()
  t.strictSame(under, [3, 4])
  for (const n of [3, 4]) ends.get(n)!.resolve(n)
  await settled()
  t.strictSame(under, [5])
  ends.get(5)!.resolve(5)
  t.strictSame(await Promise.all([all[2], all[3], all[4]]), [3, 4, 5])
  const next = begin(6)
  const other = begin(7)
  await settled()
  t.strictSame(under, [6, 7], 'all places are free again')
  for (const n of [6, 7]) ends.get(n)!.resolve(n)
  await Promise.all([next, other])
})
