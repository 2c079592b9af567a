import t from 'tap'
import { mxHosts } from '../../../lib/courier/mx.ts'
import { mxDeferrals } from '../../../lib/courier/smtp/courier.ts'
import { delivery, loopback, raw } from '../loopback.ts'
import { startPeer } from './scripted-peer.ts'

t.test('servers that all say "not now" are not all asked', async t => {
  const { dns, port, courier } = await loopback(t, [undefined])
  const numbers = Array.from({ length: mxHosts }, (_, index) => index + 1)
  const peers = await Promise.all(
    numbers.map(number => startPeer(`127.0.0.${20 + number}`, port, { MAIL: '451 4.3.2 not now' })),
  )
  t.teardown(() => Promise.all(peers.map(peer => peer.close())))
  const exchange = (number: number) => `mx${number}.there.example`
  dns.set(
    'there.example',
    'MX',
    numbers.map(number => ({ priority: number, exchange: exchange(number) })),
  )
  for (const number of numbers) dns.set(exchange(number), 'A', [`127.0.0.${20 + number}`])
  t.match(await courier.carry(delivery(), raw), { result: 'transient', code: 451 })
  t.equal(peers.filter(peer => peer.connections > 0).length, mxDeferrals)
  t.ok(mxDeferrals < mxHosts)
})
