import { networkInterfaces } from 'node:os'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createAddressGuard } from '../../../lib/courier/address-guard.ts'
import { startExim } from '../../support/exim.ts'
import { without } from '../../support/peers.ts'
import { startPostfix } from '../../support/postfix.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { delivery, loopback, outcomeOf, raw } from '../loopback.ts'
import { startPeer } from './scripted-peer.ts'

const to = (domain: string) => delivery({ rcptTo: `ann@${domain}`, domain })

for (const [name, start, settings, mailboxes] of [
  [
    'postfix',
    startPostfix,
    { virtual_alias_maps: 'inline:{ { ann@[127.0.0.2] = ann@there.example } }' },
    { ann: 'ann@there.example' },
  ],
  ['exim', startExim, {}, { ann: 'ann@[127.0.0.2]' }],
] as const)
  t.test(`mail to an address literal arrives at ${name}`, { skip: without(name) }, async t => {
    const { courier, dns, port } = await loopback(t, [undefined])
    const server = await start({
      dir: temporaryDir(t),
      hostname: 'mx1.there.example',
      address: '127.0.0.2',
      port,
      settings,
      mailboxes: [mailboxes.ann],
    })
    t.teardown(() => server.stop())
    const outcome = await outcomeOf(courier, to('[127.0.0.2]'), raw)
    t.match(outcome, { result: 'delivered', host: '127.0.0.2', address: '127.0.0.2', tls: /^TLSv1\.3 / })
    t.equal(outcome.tlsResults, undefined, 'there is nobody who would be told of its TLS')
    t.strictSame(dns.queries, [], 'DNS has no part in it')
    const [message] = await server.messages(mailboxes.ann)
    t.match(message?.toString(), /^Subject: x\r?$/m)
    const nobody = await courier.carry(delivery({ rcptTo: 'bob@[127.0.0.2]', domain: '[127.0.0.2]' }), raw)
    t.match(nobody, { result: 'permanent', code: 550 })
    await courier.close()
  })

t.test('an address that may not be reached is not, and neither are ours', async t => {
  const { courier, port, peers } = await loopback(t, [{}], {
    guard: createAddressGuard({
      clock: systemClock,
      allowNetworks: ['127.0.0.3/32'],
      ownAddresses: () => [],
      ownPorts: () => [],
    }),
    ownAddresses: ['192.0.2.7'],
  })
  for (const [domain, what] of [
    ['[127.0.0.2]', 'this machine itself'],
    ['[10.1.2.3]', 'a private network'],
    ['[169.254.169.254]', 'a link-local network'],
    ['[0.0.0.0]', 'no address in particular'],
    ['[ipv6:::1]', 'this machine itself'],
    ['[ipv6:fe80::1]', 'a link-local network'],
  ] as const) {
    const address = domain.slice(1, -1).replace('ipv6:', '')
    const text = `the mail server ${address} points at ${what}`
    t.match(await courier.carry(to(domain), raw), { result: 'permanent', enhanced: '5.4.4', text }, domain)
  }
  t.match(await courier.carry(to('[192.0.2.7]'), raw), { result: 'permanent', enhanced: '5.4.6' })
  t.equal(peers[0]!.connections, 0)
  const allowed = await startPeer('127.0.0.3', port)
  t.teardown(() => allowed.close())
  t.match(await courier.carry(to('[127.0.0.3]'), raw), { result: 'delivered' }, 'delivery.allow_networks')
})

const hasIpv6 = Object.values(networkInterfaces()).some(list => list?.some(one => one.family === 'IPv6'))
const skip = !hasIpv6 && 'no IPv6 on this machine'

t.test('a literal of IPv6 is followed where IPv6 is in use', { skip }, async t => {
  const { courier } = await loopback(t, [undefined])
  const refusal = {
    result: 'transient',
    enhanced: '4.4.4',
    text: 'mail to ::1 needs IPv6, which is not in use here (delivery.ipv6)',
  }
  t.match(await courier.carry(to('[ipv6:::1]'), raw), refusal)
  const used = await loopback(t, [undefined], { useIpv6: true })
  const peer = await startPeer('::1', used.port)
  t.teardown(() => peer.close())
  t.match(await used.courier.carry(to('[ipv6:::1]'), raw), { result: 'delivered', address: '::1' })
  t.ok(peer.commands.includes('RCPT TO:<ann@[ipv6:::1]>'))
})

t.test(
  'a host that fails is come back to, and an MX record that names a literal is not followed',
  async t => {
    const { courier, dns, peers } = await loopback(t, [{ RCPT: '450 4.2.0 later' }])
    t.match(await courier.carry(to('[127.0.0.2]'), raw), {
      result: 'transient',
      code: 450,
      showing: 'answers',
    })
    t.match(await courier.carry(to('[127.0.0.4]'), raw), { result: 'transient', showing: 'fails' })
    const { connections } = peers[0]!
    for (const exchange of ['[127.0.0.2]', '127.0.0.2']) {
      dns.set('literal.example', 'MX', [{ priority: 1, exchange }])
      const outcome = await courier.carry(to('literal.example'), raw)
      t.not(outcome.result, 'delivered', exchange)
    }
    t.equal(peers[0]!.connections, connections)
  },
)
