import t from 'tap'
import type { Clock } from '../../lib/base/time.ts'
import { type AddressGuardOptions, createAddressGuard } from '../../lib/courier/address-guard.ts'

const clock: Clock = { now: () => new Date(0), monotonicMs: () => 0 }
const guardOf = (more: Partial<AddressGuardOptions> = {}) =>
  createAddressGuard({ clock, allowNetworks: [], ownAddresses: () => [], ownPorts: () => [], ...more })

const forbidden = [
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
  ...['192.168.1.1', '169.254.169.254', '169.254.0.1', '100.64.0.1', '100.100.100.200', '192.0.0.192'],
  ...['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '198.19.255.255', '192.88.99.1'],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16'],
  ...['::', '::1', 'fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::1', '2001:db8::1'],
  ...['3fff::1', '2001:2::1', '2001:10::1', '2001:20::1', '5f00::1', '4000::1', 'e000::1'],
  // What carries an IPv4 address, even a public one.
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::127.0.0.1', '::7f00:1', '::8.8.8.8'],
  ...['::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::169.254.169.254', '64:ff9b::8.8.8.8'],
  ...['64:ff9b:1::7f00:1', '64:ff9b:1:7f00:0:100::', '2002:7f00:1::1', '2002:808:808::1'],
  ...['2001:0:7f00:1::1', '2001::80ff:fffe', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
]
const open = [
  ...['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '100.63.255.255', '100.128.0.1', '169.253.0.1'],
  ...['126.255.255.255', '128.0.0.1', '223.255.255.255', '11.0.0.1', '168.63.129.17'],
  ...['2606:4700:4700::1111', '2a00:1450:4001:80e::200e', '2001:4860:4860::8888', '2003::1'],
]

t.test('only public addresses may be reached', async t => {
  const guard = guardOf()
  for (const address of forbidden) t.type(guard.refusal(address, 443), 'string', address)
  for (const address of open) t.equal(guard.refusal(address, 443), undefined, address)
  for (const address of [
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.1',
    '010.0.0.1',
    'fe80::1%eth0',
    '1.2.3',
  ])
    t.match(guard.refusal(address, 443), /no IP address/, address)
})

t.test('the reason names no address', async t => {
  for (const address of forbidden) t.notMatch(guardOf().refusal(address, 443), /\d/, address)
})

t.test('what the allowed networks hold may be reached, and nothing beside it', async t => {
  const guard = guardOf({ allowNetworks: ['10.1.0.0/16', 'fd12::/32'] })
  t.ok(guard.allowsNetworks)
  t.equal(guard.refusal('10.1.2.3', 443), undefined)
  t.equal(guard.refusal('fd12::7', 443), undefined)
  for (const address of ['10.2.0.1', '127.0.0.1', '::ffff:10.1.2.3', '64:ff9b::a01:203', 'fd13::1'])
    t.type(guard.refusal(address, 443), 'string', address)
  t.throws(() => guardOf({ allowNetworks: ['10.1.0.0'] }))
})

t.test('the machine itself is refused by its public addresses too', async t => {
  let own = ['8.8.8.8', '2606:4700:0:0::5', 'fe80::1%eth0']
  let nowMs = 0
  const guard = guardOf({ clock: { ...clock, monotonicMs: () => nowMs }, ownAddresses: () => own })
  t.match(guard.refusal('8.8.8.8', 443), /this machine/)
  t.match(guard.refusal('2606:4700::5', 443), /this machine/)
  t.equal(guard.refusal('8.8.4.4', 443), undefined)
  own = ['8.8.4.4']
  nowMs = 60_000
  t.equal(guard.refusal('8.8.8.8', 443), undefined, 'the interfaces are asked for again')
  t.match(guard.refusal('8.8.4.4', 443), /this machine/)
})

t.test('our own ports are never reached, whatever is allowed and however the address is written', async t => {
  const guard = guardOf({
    allowNetworks: ['0.0.0.0/0', '::/0'],
    ownAddresses: () => ['8.8.8.8', '2606:4700::5'],
    ownPorts: () => [25, 8080],
  })
  const here = [
    ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '::1', '::', '8.8.8.8', '2606:4700::5'],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1'],
    ...['64:ff9b::8.8.8.8', '64:ff9b:1:7f00:0:100::', '2002:7f00:1::1', '2002:808:808::1'],
    ...['2001:0:7f00:1::1', '2001:0:101:101::80ff:fffe'],
  ]
  for (const address of here) {
    t.match(guard.refusal(address, 25), /port of this mail server/, address)
    t.equal(guard.refusal(address, 9000), undefined, `${address} on another port`)
  }
  for (const address of ['10.0.0.1', '1.1.1.1', '2606:4700::6', '64:ff9b::101:101', '2002:101:101::1'])
    t.equal(guard.refusal(address, 25), undefined, address)
})
