import t from 'tap'
import { createTurns } from '../../lib/reading/turns.ts'

t.test('one of each party, in turns', async t => {
  const turns = createTurns<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) turns.add(item[0]!, item)
  const taken: (string | undefined)[] = []
  for (let i = 0; i < 7; i++) taken.push(turns.take(() => true))
  t.strictSame(taken, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
})

t.test('what does not fit lets the others pass, and not those behind it', async t => {
  const turns = createTurns<string>()
  for (const item of ['a1', 'a2', 'b1']) turns.add(item[0]!, item)
  t.equal(
    turns.take(item => item !== 'a1'),
    'b1',
  )
  t.equal(
    turns.take(item => item !== 'a1'),
    undefined,
  )
  t.equal(
    turns.take(() => true),
    'a1',
  )
})

t.test('who waited already is next; who is taken out is not', async t => {
  const turns = createTurns<string>()
  for (const item of ['a1', 'b1', 'b2']) turns.add(item[0]!, item)
  turns.addFirst('b', 'b0')
  t.ok(turns.remove('b1'))
  t.notOk(turns.remove('b1'))
  const taken: (string | undefined)[] = []
  for (let i = 0; i < 4; i++) taken.push(turns.take(() => true))
  t.strictSame(taken, ['b0', 'a1', 'b2', undefined])
})
