import t from 'tap'
import { findDecision } from '../../../lib/courier/smtp/last-words.ts'
import { manyTimes } from '../../support/hostile.ts'

t.test('the first reply that is not the wish to go on', async t => {
  t.same(findDecision('250 a\r\n550 5.1.1 b\r\n'), { stage: 'rcpt', lines: '550 5.1.1 b' })
  t.same(findDecision('450 a\r\n'), { stage: 'mail', lines: '450 a' })
  t.same(findDecision('250 a\r\n250-b\r\n250 b\r\n554-c\r\n554 c\r\n503 d\r\n'), {
    stage: 'data',
    lines: '554-c\n554 c',
  })
  t.same(findDecision('250 a\r\n250 b\r\n354 c\r\n250 d\r\n'), { stage: 'message', lines: '250 d' })
  t.same(findDecision('250 a\r\n250 b\r\n350 c\r\n250 d\r\n'), { stage: 'data', lines: '350 c' })
  t.same(findDecision('250 a\n\n550 b\n'), { stage: 'rcpt', lines: '550 b' })
})

t.test('nothing decided, or nothing clear', async t => {
  for (const heard of [
    '',
    '250 a\r\n',
    '250 a\r\n55',
    '250 a\r\n550 b',
    '250 a\r\n550-b\r\n',
    'what\r\n550 b\r\n',
  ])
    t.equal(findDecision(heard), undefined, JSON.stringify(heard))
  t.equal(findDecision('250 a\r\n250 b\r\n354 c\r\n'), undefined)
})

t.test('a hostile text costs no time', async t => {
  for (const text of ['250-x\n', ' \n', '250-', 'x']) {
    t.equal(findDecision(text.repeat(manyTimes)), undefined, JSON.stringify(text))
  }
})
