import t from 'tap'
import { oneLine } from '../../../lib/base/text.ts'
import { readReply } from '../../../lib/courier/smtp/remote-reply.ts'

t.test('well-formed replies', async t => {
  t.same(readReply('250 2.0.0 Ok: queued'), { code: 250, enhanced: '2.0.0', text: 'Ok: queued' })
  t.same(readReply('550'), { code: 550, text: '' })
  t.same(readReply('550 5.1.1'), { code: 550, enhanced: '5.1.1', text: '' })
  t.same(readReply('550-5.1.1 no such\n550-5.1.1 user\r\n550 5.1.1 here'), {
    code: 550,
    enhanced: '5.1.1',
    text: 'no such user here',
  })
  t.same(readReply('599 what'), { code: 599, text: 'what' })
  t.same(readReply('450 5.1.1 of another class'), { code: 450, text: '5.1.1 of another class' })
  t.same(readReply('554 10.1.1.1 is blocked'), { code: 554, text: '10.1.1.1 is blocked' })
})

t.test('what is no reply', async t => {
  for (const lines of [
    '',
    'garbage',
    '25 ok',
    '2500 ok',
    '250ok',
    '199 x',
    '600 x',
    ' 250 ok',
    '250-a\n550 b',
    '250-a\nb',
    '250-a',
    '250-a\n250-b',
  ])
    t.equal(readReply(lines), undefined, JSON.stringify(lines))
})

t.test('text is one bounded line', async t => {
  t.equal(readReply('550 a\x00\x1b[31m\tb\x85\u2028c')?.text, 'a [31m b c')
  t.equal(readReply(`550 ${'x'.repeat(100_000)}`)?.text.length, 1000)
  t.equal(oneLine('\r\n a \r\n'), 'a')
})
