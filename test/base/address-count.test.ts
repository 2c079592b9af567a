import t from 'tap'
import { blockOf, createAddressCount, networkOf } from '../../lib/base/network.ts'

t.test('what is open from one address, or one /64, is counted up to the limit', async t => {
  const count = createAddressCount(2, networkOf)
  t.strictSame(['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::', '2001:db8:0:1::1'].map(count.add), [
    true,
    true,
    false,
    true,
  ])
  count.remove('2001:db8::1')
  t.strictSame(['2001:db8::3', '2001:db8::4'].map(count.add), [true, false])
  t.strictSame(['192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'].map(count.add), [
    true,
    true,
    false,
    true,
  ])
})

t.test('and what is open from one block', async t => {
  const count = createAddressCount(2, blockOf)
  t.strictSame(['192.0.2.1', '::ffff:192.0.2.200', '192.0.2.3', '192.0.3.1'].map(count.add), [
    true,
    true,
    false,
    true,
  ])
  t.strictSame(['2001:db8:1:1::1', '2001:db8:1:ffff::1', '2001:db8:1::', '2001:db8:2::'].map(count.add), [
    true,
    true,
    false,
    true,
  ])
})
