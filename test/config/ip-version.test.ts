import { isIP } from 'node:net'
import t from 'tap'
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
