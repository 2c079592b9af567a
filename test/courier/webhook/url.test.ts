import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createAddressGuard } from '../../../lib/courier/address-guard.ts'
import { readWebhookUrl, webhookUrlFault } from '../../../lib/courier/webhook/url.ts'

function rulesOf(allowNetworks: readonly string[] = [], allowHttp = false) {
  const guard = createAddressGuard({
    clock: systemClock,
    allowNetworks,
    ownAddresses: () => [],
    ownPorts: () => [8080],
  })
  return { guard, allowHttp }
}
const rules = rulesOf()

t.test('a public https URL has no fault', async t => {
  const urls = [
    'https://hooks.example/',
    'https://hooks.example',
    'HTTPS://Hooks.Example:8443/in?token=a%20b&x=1',
    'https://bücher.example/ünter',
    'https://hooks.example./',
    'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]:444/',
    'https://local.example/localhost',
    'https://mylocalhost.example/',
    `https://hooks.example/${'x'.repeat(2048 - 22)}`,
  ]
  for (const url of urls) t.equal(webhookUrlFault(url, rules), undefined, url)
  t.same(readWebhookUrl('HTTPS://Hooks.Example.:8443/in?x=1', rules), {
    origin: 'https://hooks.example.:8443',
    isTls: true,
    host: 'hooks.example',
    port: 8443,
    path: '/in?x=1',
  })
})

t.test('what is no such URL is told what to do', async t => {
  const cases: [url: string, says: RegExp][] = [
    ['http://hooks.example/', /must begin with https:\/\/: plain http is not allowed/],
    ['ftp://hooks.example/', /must begin with https/],
    ['file:///etc/passwd', /must begin with https/],
    ['gopher://hooks.example:25/_HELO', /must begin with https/],
    ['javascript:alert(1)', /must begin with https/],
    ['data:text/plain,x', /must begin with https/],
    ['//hooks.example/', /must begin with https/],
    ['hooks.example', /must begin with https/],
    ['https:hooks.example', /must begin with https/],
    ['https:/hooks.example', /must begin with https/],
    ['', /must begin with https/],
    ['https://', /must name a host/],
    ['https:///path', /must name a host/],
    ['https://?x', /must name a host/],
    ['https://./', /must name a host/],
    ['https://hooks.example:0/', /port 0/],
    ['https://hooks.example:65536/', /valid host and port/],
    ['https://hooks.example:x/', /valid host and port/],
    ['https://a b.example/', /has a space/],
    [' https://hooks.example/', /has a space/],
    ['https://hooks.example/\n', /has a space, a control/],
    ['https://hooks.\texample/', /has a space, a control/],
    ['https://hooks.example\\@127.0.0.1/', /backslash/],
    ['https://user@hooks.example/', /user name or password/],
    ['https://user:pass@hooks.example/', /user name or password/],
    ['https://@hooks.example/', /user name or password/],
    ['https://8.8.8.8:80@127.0.0.1/', /user name or password/],
    ['https://hooks.example/#part', /fragment/],
    ['https://hooks.example/#', /fragment/],
    [`https://hooks.example/${'x'.repeat(2048 - 21)}`, /longer than 2048/],
    ['https://1.2.3.4.5/', /valid host/],
    ['https://[::1/', /valid host/],
    ['https://[fe80::1%25eth0]/', /valid host/],
  ]
  for (const [url, says] of cases) t.match(webhookUrlFault(url, rules), says, url)
  t.equal(webhookUrlFault('http://hooks.example/', rulesOf([], true)), undefined)
})

/** Each is an address of ours or of the cloud, in a notation that some check has once let through. */
const disguised = [
  ...['127.0.0.1', '2130706433', '0x7f000001', '0X7F.1', '017700000001', '127.1', '127.0.1', '0177.0.0.1'],
  ...['127.0.0.1.', '%31%32%37.0.0.1', '１２７.0.0.1', '127。0。0。1', '0', '0x0', '0.0.0.0'],
  ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '192.168.257'],
  ...['10.0.0.1', '012.1', '100.100.100.200', '[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::169.254.169.254]'],
  ...['[2002:7f00:1::]', '[2001::80ff:fffe]', '[fd00:ec2::254]', '[fe80::1]', '[ff02::1]'],
  ...[
    'localhost',
    'localhost.',
    'LOCALHOST',
    'LocalHost.',
    'foo.localhost',
    'a.b.localhost.',
    'ip6-localhost',
  ],
  ...['ip6-loopback', 'localhost.localdomain', 'localhost4', 'ⓛocalhost', 'loc%61lhost'],
  ...['metadata', 'metadata.google.internal', 'printer.local', 'router.lan', 'x.home.arpa', 'db.corp'],
]

t.test('addresses in any notation, and names that are never public', async t => {
  for (const host of disguised)
    t.match(
      webhookUrlFault(`https://${host}/`, rules),
      /where webhooks are not sent: use a public host$/,
      host,
    )
})

t.test('allowed networks admit their addresses and names, but never our own ports', async t => {
  const loopback = rulesOf(['127.0.0.0/8', '::1/128'], true)
  for (const host of ['127.0.0.1', '127.1', 'localhost', 'foo.localhost', '[::1]', 'agent', 'agent.internal'])
    t.equal(webhookUrlFault(`http://${host}:9000/`, loopback), undefined, host)
  for (const host of ['127.0.0.1', '127.1', 'localhost', 'LOCALHOST.', '[::1]'])
    t.match(webhookUrlFault(`http://${host}:8080/`, loopback), /points at a port of this mail server/, host)
  const inside = rulesOf(['10.0.0.0/8'])
  t.equal(webhookUrlFault('https://agent.internal/', inside), undefined)
  t.equal(webhookUrlFault('https://10.1/', inside), undefined)
  t.match(webhookUrlFault('https://localhost/', inside), /points at this machine itself/)
  t.match(webhookUrlFault('https://192.168.0.1/', inside), /points at a private network/)
})
