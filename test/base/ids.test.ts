import t from 'tap'
import { createIds, idAfter, isId } from '../../lib/base/ids.ts'

t.test('ids are in the order in which they were made, whatever the clock does', async t => {
  let now = Date.parse('2026-11-22T00:00:00.000Z')
  const ids = createIds({ now: () => new Date(now) })
  const made: string[] = []
  for (const step of [0, 1, -5000, 0, 7000]) {
    now += step
    for (let count = 0; count < 1000; count++) made.push(ids.next())
  }
  t.same(made, [...made].sort(), 'one after the other')
  t.equal(new Set(made).size, made.length, 'and no two the same')
  t.ok(
    made.every(id => isId(id) && id[14] === '7' && '89ab'.includes(id[19]!)),
    'UUIDs of version 7 (RFC 9562 §5.7)',
  )
  t.equal(Number.parseInt(made[0]!.replace('-', '').slice(0, 12), 16), Date.parse('2026-11-22T00:00:00.000Z'))
  t.ok(made.every((id, at) => idAfter(id) > id && idAfter(id) <= (made[at + 1] ?? 'g')))
})

t.test('one of several nodes goes by its clock again when that was set far back', async t => {
  let now = Date.parse('2026-11-22T00:00:00.000Z')
  const ids = createIds({ now: () => new Date(now) }, 60_000)
  now += 40 * 86_400_000
  const wrong = ids.next()
  now -= 60_000
  t.ok(ids.next() > wrong, 'so far it goes on')
  now -= 40 * 86_400_000
  const right = ids.next()
  t.equal(Number.parseInt(right.replace('-', '').slice(0, 12), 16), now)
  t.ok(ids.next() > right)
})

t.test('the ids of two processes are not the same at the same instant', async t => {
  const clock = { now: () => new Date(0) }
  const [one, other] = [createIds(clock), createIds(clock)]
  const all = Array.from({ length: 100 }, () => [one.next().slice(24), other.next().slice(24)]).flat()
  t.equal(new Set(all).size, all.length)
})
