import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { findRoute, type Route, type Smarthost } from '../../../lib/courier/smtp/routes.ts'
import { writeIssuedCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/ports.ts'
import { delivery, loopback, raw } from '../loopback.ts'
import { type Script, startPeer } from './scripted-peer.ts'

const certificate = await writeIssuedCertificate(t.testdir(), 'smarthost.example')
const login = { user: 'me', password: async () => 'secret' }

t.test('the first route that is for the domain', async t => {
  const routes = ['a.example', '*.a.example', '*'].map(name => ({ domains: [name], fallsBack: false }))
  for (const [domain, index] of [
    ['a.example', 0],
    ['b.a.example', 1],
    ['c.b.a.example', 1],
    ['ba.example', 2],
  ] as const)
    t.equal(findRoute(routes, domain), routes[index], domain)
  t.equal(findRoute(routes.slice(0, 2), 'b.example'), undefined)
})

/** A smarthost at 127.0.0.4, and a courier that sends all mail there. */
async function setUp(
  t: Test,
  smarthost: Partial<Smarthost> = {},
  more: Partial<Route> = {},
  isSecure = false,
  script: Script = {},
) {
  const received: { user: string | undefined; isSecure: boolean; source: string }[] = []
  const port = await freePort('127.0.0.4')
  const server = new SMTPServer({
    cert: certificate.leaf + certificate.intermediate,
    key: readFileSync(certificate.key),
    secure: isSecure,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      password === 'secret' ? done(null, { user: username! }) : done(new Error('no such user')),
    onData(stream, session, done) {
      stream.resume()
      stream.on('end', () => {
        received.push({ user: session.user, isSecure: session.secure, source: session.remoteAddress })
        done()
      })
    },
  })
  server.on('error', () => {})
  server.listen(port, '127.0.0.4')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  const route: Route = {
    domains: ['*'],
    smarthost: { host: 'smarthost.example', port, tls: 'starttls', login, ...smarthost },
    fallsBack: false,
    ...more,
  }
  const given = await loopback(t, [script], { routes: [route], ca: certificate.root })
  given.dns.set('smarthost.example', 'A', ['127.0.0.4'])
  return { ...given, received, server }
}

t.test('with STARTTLS and with TLS from the first byte, as a user', async t => {
  for (const tls of ['starttls', 'implicit'] as const) {
    const { courier, received, peers } = await setUp(t, { tls }, {}, tls === 'implicit')
    for (let count = 0; count < 2; count++)
      t.match(await courier.carry(delivery(), raw), {
        result: 'delivered',
        host: 'smarthost.example',
        tls: /^TLSv1\.3/,
        tlsResults: undefined,
      })
    t.match(received, [{ user: 'me', isSecure: true }, { user: 'me' }], tls)
    t.equal(peers[0]?.connections, 0)
  }
})

t.test('to a smarthost that is not proven, or does not encrypt, no password is said', async t => {
  const wrong = await setUp(t, { host: 'other.example' })
  wrong.dns.set('other.example', 'A', ['127.0.0.4'])
  t.match(await wrong.courier.carry(delivery(), raw), {
    result: 'transient',
    enhanced: '4.7.5',
    text: 'not sent to other.example, as the route to it demands: its certificate is for another name',
  })
  t.same(wrong.received, [])
  const port = await freePort('127.0.0.4')
  const plain = await startPeer('127.0.0.4', port, { EHLO: '250-peer\r\n250 AUTH PLAIN LOGIN' })
  t.teardown(() => plain.close())
  const smarthost = { host: 'plain.example', port, tls: 'starttls', login } as const
  const { courier, dns } = await loopback(t, [], {
    routes: [{ domains: ['*'], smarthost, fallsBack: false }],
  })
  dns.set('plain.example', 'A', ['127.0.0.4'])
  t.match(await courier.carry(delivery(), raw), { result: 'transient', enhanced: '4.7.10' })
  t.notOk(plain.commands.some(line => line.startsWith('AUTH')))
})

t.test('a user whom it refuses, and a password that can not be read, are for later', async t => {
  const refused = await setUp(t, { login: { user: 'me', password: async () => 'wrong' } })
  t.match(await refused.courier.carry(delivery(), raw), { result: 'transient', code: 535, showing: 'fails' })
  const password = async () => {
    throw new Error('ENOENT')
  }
  const unread = await setUp(t, { login: { user: 'me', password } })
  t.match(await unread.courier.carry(delivery(), raw), {
    result: 'transient',
    text: 'the password of me can not be read: ENOENT',
  })
})

t.test('the mail servers of the domain where it does not answer, if the route says so', async t => {
  const { courier, dns, peers } = await setUp(t, {}, { fallsBack: true })
  dns.set('smarthost.example', 'A', ['127.0.0.3'])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', host: 'mx1.there.example' })
  const without = await setUp(t)
  without.dns.set('smarthost.example', 'A', ['127.0.0.3'])
  t.match(await without.courier.carry(delivery(), raw), { result: 'transient', host: 'smarthost.example' })
  t.equal(without.peers[0]?.connections, 0)
  t.equal(peers[0]?.connections, 1)
})

t.test('what the domain says for good then counts more than that the smarthost was silent', async t => {
  const silent = { result: 'transient', host: 'smarthost.example', code: undefined }
  for (const [what, script, domain, outcome] of [
    ['a refusal', { RCPT: '550 5.1.1 no such user' }, 'there', { result: 'permanent', enhanced: '5.1.1' }],
    ['a host that takes no mail', { greeting: '521 5.3.2 no mail' }, 'there', silent],
    ['a later', { RCPT: '450 4.2.0 later' }, 'there', { result: 'transient', code: 450 }],
    [
      'an end that may have been a delivery',
      { message: { next: 'close' } },
      'there',
      { result: 'transient', enhanced: '4.4.2', host: 'mx1.there.example' },
    ],
    ['a domain without mail', {}, 'null', { result: 'permanent', enhanced: '5.1.10' }],
    ['no domain', {}, 'no', { result: 'permanent', enhanced: '5.1.2' }],
    ['DNS that fails', {}, 'late', { result: 'transient', enhanced: '4.4.3', showing: 'fails' }],
  ] as const) {
    const { courier, dns } = await setUp(t, {}, { fallsBack: true }, false, script)
    dns.set('smarthost.example', 'A', ['127.0.0.3'])
    dns.set('null.example', 'MX', [{ priority: 0, exchange: '' }])
    dns.fail('late.example', 'SERVFAIL')
    t.match(await courier.carry(delivery({ domain: `${domain}.example` }), raw), outcome, what)
  }
})

t.test('a route with a source address, and other mail without it', async t => {
  const routes: Route[] = [
    { domains: ['there.example'], fallsBack: false, sourceAddress: { ipv4: '127.0.0.9' } },
  ]
  const { courier, peers, dns } = await loopback(t, [{}], { routes })
  dns.set('elsewhere.example', 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
  await courier.carry(delivery(), raw)
  t.equal(peers[0]?.lastFrom, '127.0.0.9')
  await courier.carry(delivery({ domain: 'elsewhere.example' }), raw)
  t.not(peers[0]?.lastFrom, '127.0.0.9', 'in a session of its own')
})

t.test('an address that is ours for others is dropped, with all hosts behind it', async t => {
  const { courier, peers } = await loopback(t, [{}, {}, {}], { ownAddresses: ['127.0.0.3'] })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.2' })
  await peers[0]?.close()
  t.match(await courier.carry(delivery(), raw), { result: 'transient', address: '127.0.0.2' })
  t.same([peers[1]?.connections, peers[2]?.connections], [0, 0])
  const alone = await loopback(t, [{}], { ownAddresses: ['127.0.0.2'] })
  t.match(await alone.courier.carry(delivery(), raw), { result: 'permanent', enhanced: '5.4.6' })
})

t.test('one that is ours ends its preference before another of it is tried, whatever the order', async t => {
  for (const lots of [
    [0.1, 0.9],
    [0.9, 0.1],
  ]) {
    const left = [...lots]
    const random = () => left.shift() ?? 0
    const { courier, dns, peers } = await loopback(t, [{}, {}, {}], { ownAddresses: ['127.0.0.2'], random })
    const mx = (exchange: string, priority: number) => ({ exchange: `${exchange}.there.example`, priority })
    dns.set('there.example', 'MX', [mx('mx1', 20), mx('mx3', 20)])
    t.match(await courier.carry(delivery(), raw), { result: 'permanent', enhanced: '5.4.6' })
    t.strictSame(
      peers.map(peer => peer.connections),
      [0, 0, 0],
    )
    left.push(...lots, 0)
    dns.set('there.example', 'MX', [mx('mx1', 20), mx('mx3', 20), mx('mx2', 10)])
    t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
    await peers[1]?.close()
    left.push(...lots, 0)
    t.match(await courier.carry(delivery(), raw), { result: 'transient', address: '127.0.0.3' })
    t.equal(peers[2]?.connections, 0)
  }
})

t.test('what this machine has no way to is left out, and nobody is blamed for it', async t => {
  const { courier, dns, peers } = await loopback(t, [undefined, {}], {
    useIpv6: true,
    guard: { refusal: () => undefined },
    sourceAddress: { ipv6: '2001:db8::1' },
  })
  dns.set('mx1.there.example', 'A', [])
  dns.set('mx1.there.example', 'AAAA', ['2001:db8::2'])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
  dns.set('there.example', 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
  const nowhere = { result: 'transient', enhanced: '4.4.1', showing: undefined, triedAgainInMs: 30_000 }
  for (let n = 0; n < 4; n++) t.match(await courier.carry(delivery(), raw), nowhere)
  t.equal(peers[0]?.messages.length, 1)
  const mine = await loopback(t, [{}], { sourceAddress: { ipv4: '192.0.2.1' } })
  t.match(await mine.courier.carry(delivery(), raw), nowhere, 'IPv4, too')
})
