import t from 'tap'
import { findObjection, readExtensions } from '../../../lib/courier/smtp/extensions.ts'

const plain = { mailFrom: 'a@here.example', rcptTo: 'b@there.example', sizeBytes: 1000 }

t.test('keywords and parameters; the greeting line is none', async t => {
  const lines =
    '250-8BITMIME is.my.name SIZE 5\r\n250-size 1000\r\n250-PIPELINING\n250-AUTH=LOGIN\n250-\n250 X-y'
  const extensions = readExtensions(lines)
  t.same(
    [...extensions],
    [
      ['SIZE', '1000'],
      ['PIPELINING', ''],
      ['AUTH', 'LOGIN'],
      ['X-Y', ''],
    ],
  )
  t.equal(readExtensions('250 hello').size, 0)
  t.equal(readExtensions('').size, 0)
})

t.test('SIZE (RFC 1870)', async t => {
  const at = (size: string) => findObjection(plain, new Map([['SIZE', size]]))?.enhanced
  t.equal(at('999'), '5.3.4')
  t.equal(at('1'), '5.3.4')
  t.equal(findObjection(plain, new Map()), undefined)
  t.same(['1000', '0', '', 'many'].map(at), [undefined, undefined, undefined, undefined])
})

t.test('SMTPUTF8 for a non-ASCII address (RFC 6531)', async t => {
  const utf8 = new Map([['SMTPUTF8', '']])
  for (const demands of [
    { ...plain, rcptTo: 'jürgen@there.example' },
    { ...plain, mailFrom: 'ü@here.example' },
  ]) {
    t.equal(findObjection(demands, new Map())?.enhanced, '5.6.7')
    t.equal(findObjection(demands, utf8), undefined)
  }
})

t.test('8BITMIME for 8-bit content (RFC 6152)', async t => {
  t.equal(findObjection({ ...plain, is8Bit: true }, new Map())?.enhanced, '5.6.3')
  t.equal(findObjection({ ...plain, is8Bit: true }, new Map([['8BITMIME', '']])), undefined)
  t.equal(findObjection({ ...plain, is8Bit: false }, new Map()), undefined)
})

t.test('SMTPUTF8 for a header in UTF-8 (RFC 6532)', async t => {
  const both = new Map([
    ['8BITMIME', ''],
    ['SMTPUTF8', ''],
  ])
  const demands = { ...plain, is8Bit: true, isUtf8: true }
  t.equal(findObjection(demands, new Map([['8BITMIME', '']]))?.enhanced, '5.6.7')
  t.equal(findObjection(demands, both), undefined)
})
