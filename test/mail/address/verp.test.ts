import t from 'tap'
import { parseAddress } from '../../../lib/mail/address/address.ts'
import { formatVerp, parseVerp } from '../../../lib/mail/address/verp.ts'

const token = '0123456789abcdefghijklmn'

t.test('a reverse-path is read as it was written, whatever case it comes back in', async t => {
  const address = formatVerp(token, 'ours.example')
  t.equal(address, `b-${token}@bounce.ours.example`)
  t.ok(parseAddress(address), 'it is an address')
  t.equal(parseVerp(address), address)
  t.equal(parseVerp(address.toUpperCase()), address)
})

t.test('nothing else is one', async t => {
  for (const address of [
    `b-${token}@ours.example`,
    `b-${token}x@bounce.ours.example`,
    `b-${token.slice(1)}@bounce.ours.example`,
    `x-${token}@bounce.ours.example`,
    `b-${token.replace('0', '_')}@bounce.ours.example`,
    'postmaster@bounce.ours.example',
    '',
  ]) {
    t.equal(parseVerp(address), undefined, address)
  }
  for (const wrong of ['', `${token}x`, token.toUpperCase(), token.replace('0', '@')]) {
    t.throws(() => formatVerp(wrong, 'ours.example'), RangeError)
  }
})
