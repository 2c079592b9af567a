import t from 'tap'
import { blockOf, createNetworkSet, networkOf } from '../../lib/base/network.ts'

t.test('an address is counted as its IPv4 address or its /64', async t => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
    ['nothing', 'nothing'],
  ] as const) {
    t.equal(networkOf(address), network, address)
  }
})

t.test('a block is a /24 or a /48', async t => {
  for (const [address, block] of [
    ['192.0.2.1', '192.0.2.0/24'],
    ['::ffff:192.0.2.255', '192.0.2.0/24'],
    ['2001:db8:1:2::1', '2001:db8:1::/48'],
    ['2001:DB8:1:FFFF::', '2001:db8:1::/48'],
    ['nothing', 'nothing'],
  ] as const) {
    t.equal(blockOf(address), block, address)
  }
})

t.test('a set of networks', async t => {
  const has = createNetworkSet(['192.0.2.0/25', '2001:db8::/32'])
  t.strictSame(
    ['192.0.2.127', '::ffff:192.0.2.1', '192.0.2.128', '2001:db8:ffff::1', '2001:db9::', '', 'x'].map(has),
    [true, true, false, true, false, false, false],
  )
  t.notOk(createNetworkSet([])('192.0.2.1'))
})
