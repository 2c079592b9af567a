import t from 'tap'
import { createDns } from '../../lib/courier/dns.ts'
import { findAddresses, findMxHosts } from '../../lib/courier/mx.ts'
import { startDns } from '../support/dns.ts'

const mx = (priority: number, exchange: string) => ({ priority, exchange })
const server = await startDns({
  'plain.example': { MX: [mx(20, 'second.example'), mx(10, 'FIRST.example'), mx(30, 'third.example')] },
  'equal.example': { MX: ['a', 'b', 'c', 'd'].map(name => mx(10, `${name}.example`)) },
  'many.example': { MX: Array.from({ length: 25 }, (_, index) => mx(index, `mx${index}.example`)) },
  'null.example': { MX: [mx(0, '')] },
  'half-null.example': { MX: [mx(0, ''), mx(5, 'real.example')] },
  'host.example': { A: ['192.0.2.1'] },
  'host6.example': { AAAA: ['2001:db8::6'] },
  'txt.example': { TXT: ['nothing else'] },
  'alias.example': { CNAME: ['plain.example'] },
  'xn--bcher-kva.example': { MX: [mx(1, 'first.example')] },
  'both.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
  'crowd.example': { A: Array.from({ length: 9 }, (_, i) => `192.0.2.${i + 1}`), AAAA: ['2001:db8::1'] },
})
const dns = createDns({ servers: [server.server], timeoutMs: 300 })
t.teardown(() => server.close())

t.test('by preference, in lower case', async t => {
  t.match(await findMxHosts(dns, 'plain.example'), {
    hosts: ['first.example', 'second.example', 'third.example'],
    group: /^mx:first\.example\+2:[\w-]{22}$/,
  })
  t.same(await findMxHosts(dns, 'Alias.Example.'), await findMxHosts(dns, 'plain.example'))
})

t.test('equal preference is in the order of the lots', async t => {
  const orderOf = async (...lots: number[]) => {
    const result = await findMxHosts(dns, 'equal.example', () => lots.shift() ?? 0)
    return 'hosts' in result ? [...result.hosts] : []
  }
  const one = await orderOf(0.1, 0.2, 0.3, 0.4)
  t.same(await orderOf(0.4, 0.3, 0.2, 0.1), one.toReversed())
  t.same(one.toSorted(), ['a.example', 'b.example', 'c.example', 'd.example'])
})

t.test('a group are all domains with the same servers in the same order, and no others', async t => {
  const groupOf = async (records: readonly { priority: number; exchange: string }[]) => {
    server.set('one.example', 'MX', [...records])
    const found = await findMxHosts(dns, 'one.example')
    return 'hosts' in found ? found.group : found
  }
  const equal = ['a', 'b', 'c', 'd'].map(name => mx(10, `${name}.example`))
  const group = await groupOf(equal)
  for (let n = 0; n < 5; n++) t.match(await findMxHosts(dns, 'equal.example'), { group })
  t.equal(await groupOf(equal.map(({ exchange }) => mx(7, exchange)).toReversed()), group)
  t.equal(await groupOf([mx(3, 'mx.big.example')]), 'mx:mx.big.example', 'which is no domain name')
  const others = [
    [...equal, mx(20, 'dead.evil.example')],
    [...equal, mx(10, 'dead.evil.example')],
    equal.slice(1),
    [mx(5, 'd.example'), ...equal.slice(0, 3)],
    [mx(20, 'a.example'), ...equal.slice(1)],
  ]
  const [a, b, c] = ['a.example', 'b.example', 'c.example'] as const
  others.push([mx(1, a), mx(2, b), mx(3, c)], [mx(1, a), mx(2, c), mx(3, b)], [mx(1, a), mx(2, b), mx(2, c)])
  const names = [group]
  for (const records of others) names.push(await groupOf(records))
  t.equal(new Set(names).size, names.length)
})

t.test('what leads to us is left out, with all that is not preferred to it (RFC 5321 §5.1)', async t => {
  const without = (ours: string) => findMxHosts(dns, 'plain.example', Math.random, host => host === ours)
  t.match(await without('second.example'), { hosts: ['first.example'] })
  t.match(await without('third.example'), { hosts: ['first.example', 'second.example'] })
  const loop = { failure: { result: 'permanent', enhanced: '5.4.6' } }
  t.match(await without('first.example'), loop)
  t.match(await findMxHosts(dns, 'host.example', Math.random, host => host === 'host.example'), loop)
})

t.test('not more than ten hosts, the best ones', async t => {
  const result = await findMxHosts(dns, 'many.example')
  t.match(result, { hosts: Array.from({ length: 10 }, (_, index) => `mx${index}.example`) })
  t.match(result, { group: undefined }, 'of no group, for not all of it is tried')
})

t.test('without MX the domain itself, when it has an address (RFC 5321 §5.1)', async t => {
  t.match(await findMxHosts(dns, 'host.example'), { hosts: ['host.example'], group: 'mx:host.example' })
  t.match(await findMxHosts(dns, 'host6.example'), { hosts: ['host6.example'], group: 'mx:host6.example' })
  t.match(await findMxHosts(dns, 'txt.example'), { failure: { result: 'permanent', enhanced: '5.1.2' } })
})

t.test('null MX is permanent, alone (RFC 7505)', async t => {
  t.match(await findMxHosts(dns, 'null.example'), { failure: { result: 'permanent', enhanced: '5.1.10' } })
  t.match(await findMxHosts(dns, 'half-null.example'), { hosts: ['real.example'], group: 'real.example' })
})

t.test('no domain is permanent, no answer is transient', async t => {
  t.match(await findMxHosts(dns, 'no.such.example'), { failure: { result: 'permanent', enhanced: '5.1.2' } })
  for (const how of ['SERVFAIL', 'timeout'] as const) {
    server.fail('down.example', how)
    t.match(
      await findMxHosts(dns, 'down.example'),
      { failure: { result: 'transient', enhanced: '4.4.3' } },
      how,
    )
  }
  const dead = createDns({ servers: ['127.0.0.1:1'], timeoutMs: 300 })
  t.match(await findMxHosts(dead, 'plain.example'), { failure: { result: 'transient', enhanced: '4.4.3' } })
})

t.test('IDN as A-labels, and what is no domain', async t => {
  t.match(await findMxHosts(dns, 'Bücher.example'), { hosts: ['first.example'] })
  const asked = server.queries.length
  const bad = [
    '',
    '.',
    '[192.0.2.1]',
    '192.0.2.1',
    '[IPv6:2001:db8::1]',
    '2001:db8::1',
    'a b.example',
    'x@y',
    '1',
  ]
  for (const domain of [...bad, 'a..example', `${'x'.repeat(64)}.example`, `${'x.'.repeat(130)}example`])
    t.match(await findMxHosts(dns, domain), { failure: { result: 'permanent', enhanced: '5.1.2' } }, domain)
  // One that was not answered is asked again later.
  const others = server.queries.slice(asked).filter(({ name }) => name !== 'down.example')
  t.strictSame(others, [], 'nothing is asked for them')
})

t.test('addresses: IPv4 first, IPv6 only on demand, bounded', async t => {
  t.same(await findAddresses(dns, 'both.example', false), { addresses: ['192.0.2.1', '192.0.2.2'] })
  t.same(await findAddresses(dns, 'both.example', true), {
    addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
  })
  const crowd = await findAddresses(dns, 'crowd.example', true)
  t.ok('addresses' in crowd && crowd.addresses.length === 4 && crowd.addresses[3] === '2001:db8::1')
  t.same(await findAddresses(dns, 'host6.example', true), { addresses: ['2001:db8::6'] })
})

t.test(
  'addresses: what is missing is permanent, what failed and what we can not reach is transient',
  async t => {
    t.match(await findAddresses(dns, 'gone.example', true), {
      failure: { result: 'permanent', enhanced: '5.4.4' },
    })
    t.match(await findAddresses(dns, '192.0.2.7', true), {
      failure: { result: 'permanent', enhanced: '5.4.4' },
    })
    t.match(await findAddresses(dns, 'host6.example', false), {
      failure: { result: 'transient', enhanced: '4.4.4' },
    })
    server.fail('down.example', 'SERVFAIL')
    t.match(await findAddresses(dns, 'down.example', true), {
      failure: { result: 'transient', enhanced: '4.4.3' },
    })
  },
)
