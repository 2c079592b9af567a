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

t.test('a hundred addresses of one block have the turn of one', async t => {
  const turns = createTurns<string>()
  for (let host = 1; host <= 100; host++) turns.add(`192.0.2.${host}`, 'stranger')
  for (let site = 1; site <= 100; site++) turns.add(`2001:db8:1:${site}::/64`, 'stranger')
  turns.add('198.51.100.1', 'honest')
  turns.add('198.51.100.1', 'honest')
  const taken: (string | undefined)[] = []
  for (let i = 0; i < 6; i++) taken.push(turns.take(() => true))
  t.strictSame(taken, ['stranger', 'stranger', 'honest', 'stranger', 'stranger', 'honest'])
  t.ok(turns.remove('stranger'))
})
