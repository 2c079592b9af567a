import { networkInterfaces } from 'node:os'
import t from 'tap'
import type { Dns } from '../../../lib/base/network.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { createAddressGuard } from '../../../lib/courier/address-guard.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { createWebhookCourier } from '../../../lib/courier/webhook/courier.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { httpPeer, webhookLoopback } from './loopback.ts'

const outside = '127.0.0.2'
const inside = '127.0.0.1'

/** A server on the address that may be reached and one on an address that may not, on the same port. */
async function bothSides(t: Parameters<typeof httpPeer>[0]) {
  const port = await freePort(outside, inside)
  const reached = await httpPeer(t, response => response.end('outside'), outside, port)
  const guarded = await httpPeer(t, response => response.end('secret'), inside, port)
  return { port, reached, guarded }
}

t.test('a name that points at a forbidden address is refused, and not even connected to', async t => {
  const { guarded, port } = await bothSides(t)
  const addresses = [
    inside,
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
  ]
  const addresses6 = ['::1', '::ffff:7f00:1', '64:ff9b::7f00:1', 'fd00:ec2::254', 'fe80::1', '2002:7f00:1::1']
  const { call } = await webhookLoopback(t, {
    ...Object.fromEntries(addresses.map((address, n) => [`v4-${n}.example`, { A: [address] }])),
    ...Object.fromEntries(addresses6.map((address, n) => [`v6-${n}.example`, { AAAA: [address] }])),
    'alias.example': { CNAME: ['v4-0.example'] },
  })
  const names = [...addresses.map((_, n) => `v4-${n}`), ...addresses6.map((_, n) => `v6-${n}`), 'alias']
  for (const name of names) {
    const outcome = await call(`http://${name}.example:${port}/`)
    t.match(
      outcome,
      { result: 'failed', error: /^the host points at .*, where webhooks are not sent$/ },
      name,
    )
    t.notMatch(outcome.error, /[\d]/, 'and nothing is told of where it points')
    t.notOk('address' in outcome)
  }
  t.equal(guarded.sockets.length, 0)
})

t.test('a URL that names an address or this machine is refused at every call', async t => {
  const { guarded, port } = await bothSides(t)
  const { call, dns } = await webhookLoopback(t, {})
  const hosts = [
    ...[inside, '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0', '[::1]', '[::ffff:127.0.0.1]'],
    ...['[64:ff9b::7f00:1]', 'localhost', 'localhost.', 'LOCALHOST', 'foo.localhost', 'ip6-localhost'],
    ...['169.254.169.254', '[fd00:ec2::254]'],
  ]
  for (const host of hosts)
    t.match(await call(`http://${host}:${port}/`), { result: 'failed', error: /webhooks are not sent/ }, host)
  for (const url of ['file:///etc/passwd', 'ftp://there.example/', 'gopher://there.example/', 'javascript:1'])
    t.match(await call(url), { result: 'failed', error: /must begin with http/ }, url)
  t.match(await call(`http://a:b@there.example:${port}/`), { result: 'failed', error: /user name/ })
  t.equal(guarded.sockets.length, 0)
  t.equal(dns.queries.length, 0)
})

t.test('of a name with a public and a private address only the public one is connected to', async t => {
  const { guarded, reached, port } = await bothSides(t)
  const { call } = await webhookLoopback(t, {
    'both.example': { A: [inside, outside], AAAA: ['::1', '::ffff:7f00:1'] },
  })
  t.match(await call(`http://both.example:${port}/`), {
    result: 'delivered',
    answer: 'outside',
    address: outside,
  })
  t.equal(reached.seen.length, 1)
  t.equal(guarded.sockets.length, 0)

  const alone = await httpPeer(t, undefined, inside)
  const outcome = await call(`http://both.example:${alone.port}/`)
  t.match(outcome, { result: 'failed', address: outside }, 'a private one is no way out')
  t.equal(alone.sockets.length, 0)
})

t.test('DNS that changes between check and connection changes nothing', async t => {
  const { guarded, reached, port } = await bothSides(t)
  const { dns: server } = await webhookLoopback(t, { 'turn.example': { A: [outside] } })
  const real = createDns({ servers: [server.server], timeoutMs: 500 })
  // As soon as the first answer is given, the name points inside.
  const turning: Dns = {
    ...real,
    async resolve4(name) {
      const addresses = await real.resolve4(name)
      server.set(name, 'A', [inside])
      return addresses
    },
  }
  const guard = createAddressGuard({
    clock: systemClock,
    allowNetworks: [`${outside}/32`],
    ownAddresses: () => [],
    ownPorts: () => [],
  })
  const courier = createWebhookCourier({ dns: turning, clock: systemClock, guard, allowHttp: true })
  t.teardown(() => courier.close())
  const url = `http://turn.example:${port}/`
  const call = () => courier.call({ url, body: '{}', headers: {} })
  t.match(await call(), { result: 'delivered', answer: 'outside', address: outside })
  t.equal(server.queries.filter(({ type }) => type === 'A').length, 1, 'it is asked once')
  t.match(await call(), { result: 'delivered', answer: 'outside' }, 'the open connection leads where it led')
  for (const socket of reached.sockets) socket.destroy()
  await until('the close is seen', () => courier.size.connections === 0)
  t.match(await call(), { result: 'failed', error: /points at this machine itself/ })
  t.equal(guarded.sockets.length, 0)
})

t.test('what is connected to is judged again, not only what was asked for', async t => {
  const { guarded, port } = await bothSides(t)
  // The system takes 0.0.0.0 for 127.0.0.1, so a guard that lets the one pass must see the other.
  const { call } = await webhookLoopback(
    t,
    { 'zero.example': { A: ['0.0.0.0'] } },
    {},
    { allowNetworks: ['0.0.0.0/32'] },
  )
  t.match(await call(`http://zero.example:${port}/`), {
    result: 'failed',
    error: 'the host points at this machine itself',
  })
  t.equal(guarded.seen.length, 0)
})

t.test('a kept connection is judged again for every call', async t => {
  const { reached, port } = await bothSides(t)
  let ports: number[] = []
  const { call } = await webhookLoopback(t, {}, {}, { ownPorts: () => ports })
  t.match(await call(`http://there.example:${port}/`), { result: 'delivered' })
  ports = [port]
  t.match(await call(`http://there.example:${port}/`), {
    result: 'failed',
    error: /port of this mail server/,
  })
  t.equal(reached.seen.length, 1)
})

t.test('our own ports are not reached by any name, even where loopback is allowed', async t => {
  const { guarded, port } = await bothSides(t)
  const other = await httpPeer(t, response => response.end('agent'), inside)
  const { call } = await webhookLoopback(
    t,
    { 'rebound.example': { A: [inside] } },
    {},
    { allowNetworks: ['127.0.0.0/8', '::/0'], ownPorts: () => [port] },
  )
  for (const host of [
    'localhost',
    'x.localhost',
    '127.1',
    '127.9.9.9',
    '[::1]',
    '[::ffff:7f00:1]',
    'rebound.example',
  ])
    t.match(
      await call(`http://${host}:${port}/`),
      { result: 'failed', error: /port of this mail server/ },
      host,
    )
  t.equal(guarded.sockets.length, 0)
  for (const host of ['localhost', 'LOCALHOST.', 'foo.localhost', '127.0.0.1', 'rebound.example'])
    t.match(await call(`http://${host}:${other.port}/`), { result: 'delivered', answer: 'agent' }, host)
})

t.test('localhost is known without asking DNS', async t => {
  const peer = await httpPeer(t, undefined, inside)
  const { call, dns } = await webhookLoopback(
    t,
    { localhost: { A: ['127.0.0.9'] }, 'foo.localhost': { A: ['127.0.0.9'] } },
    {},
    { allowNetworks: ['127.0.0.0/8', '::1/128'] },
  )
  for (const host of ['localhost', 'foo.localhost'])
    t.match(await call(`http://${host}:${peer.port}/`), { result: 'delivered', address: inside })
  t.equal(dns.queries.length, 0)
})

t.test('DNS that fails or knows nothing is a failure that says so', async t => {
  const { call, dns } = await webhookLoopback(t, {}, { timeoutMs: 200 })
  t.match(await call('http://nowhere.example/'), {
    result: 'failed',
    error: /nowhere\.example has no address/,
  })
  dns.fail('there.example', 'SERVFAIL')
  t.match(await call('http://there.example/'), { result: 'failed', error: /DNS failed for .*there\.example/ })
  dns.fail('there.example', 'timeout')
  t.match(await call('http://there.example/'), {
    result: 'failed',
    error: 'no answer within 0.2 s, DNS being asked',
  })
})

t.test('plain http is refused where it is not allowed', async t => {
  const { reached, port } = await bothSides(t)
  const { call } = await webhookLoopback(t, {}, { allowHttp: false })
  t.match(await call(`http://there.example:${port}/`), { result: 'failed', error: /must begin with https/ })
  t.equal(reached.sockets.length, 0)
})

const hasIpv6 = Object.values(networkInterfaces()).some(list =>
  list?.some(({ address }) => address === '::1'),
)

t.test('an IPv6 address in the URL', { skip: !hasIpv6 && 'no IPv6 on this machine' }, async t => {
  const peer = await httpPeer(t, response => response.end('six'), '::1')
  const { call } = await webhookLoopback(t, {}, {}, { allowNetworks: ['::1/128'] })
  t.match(await call(`http://[::1]:${peer.port}/`), { result: 'delivered', answer: 'six', address: '::1' })
  t.match(peer.seen, [{ headers: { host: `[::1]:${peer.port}` } }])
})
