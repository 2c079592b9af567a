import { syncBuiltinESMExports } from 'node:module'
import net, { isIP } from 'node:net'
import t from 'tap'
import { endpointFault } from '../../lib/config/endpoint.ts'
import { ipVersion } from '../../lib/config/ip-version.ts'

t.test('the version of an address is what Node says of it', async t => {
  const texts = [
    ...['127.0.0.1', '0.0.0.0', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', ''],
    ...[
      '::',
      '::1',
      '1::',
      '2001:db8::1',
      '2001:DB8::A',
      '1:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7::',
      '::2:3:4:5:6:7:8',
    ],
    ...[
      'fe80::1%eth0',
      '::ffff:1.2.3.4',
      '::1.2.3',
      '::01.2.3.4',
      '::256.1.1.1',
      '1:2:3:4:5:6:7:8:9',
      ':::',
      '::1::',
    ],
    ...[
      ':',
      '1:2',
      '12345::',
      '::g',
      '[::1]',
      '::1]/x[',
      '::1#',
      ' ::1',
      '::1 ',
      '::\t',
      'a.b:25',
      '127.0.0.1:25',
    ],
  ]
  for (const text of texts) t.equal(ipVersion(text), isIP(text), JSON.stringify(text))
})

t.test('of the endpoints in a configuration Node is not asked whether they are IPv6', t => {
  const { isIPv6 } = net
  const asked: string[] = []
  net.isIPv6 = text => {
    asked.push(text)
    return isIPv6(text)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    net.isIPv6 = isIPv6
    syncBuiltinESMExports()
  })
  for (const text of ['0.0.0.0:25', '[::]:25', '[2001:db8::1]:8025']) t.equal(endpointFault(text), undefined)
  t.strictSame(asked, [])
  t.equal(ipVersion('fe80::1%eth0'), 6)
  t.strictSame(asked, ['fe80::1%eth0'], 'it is for what no URL has')
  t.end()
})
