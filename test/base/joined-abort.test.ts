import t from 'tap'
import { joinAborts } from '../../lib/base/concurrency.ts'

t.test('it ends with the first that ends, for its reason', async t => {
  const [one, other] = [new AbortController(), new AbortController()]
  const joined = joinAborts(one.signal, other.signal)
  t.equal(joined.signal.aborted, false)
  const heard: unknown[] = []
  joined.signal.addEventListener('abort', () => heard.push(joined.signal.reason))
  other.abort('other')
  one.abort('one')
  t.strictSame(heard, ['other'])
})

t.test('it has ended where one has before, and by itself for a reason of its own', async t => {
  const before = joinAborts(new AbortController().signal, AbortSignal.abort('before'))
  t.match(before.signal, { aborted: true, reason: 'before' })
  const alone = joinAborts()
  alone.abort('late')
  t.match(alone.signal, { aborted: true, reason: 'late' })
})

t.test('who has left hears of the others no more', async t => {
  const one = new AbortController()
  const joined = joinAborts(one.signal)
  joined.leave()
  one.abort()
  t.equal(joined.signal.aborted, false)
})
