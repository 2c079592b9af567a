import t, { type Test } from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { reversedAddress } from '../../lib/base/network.ts'
import { systemClock } from '../../lib/base/time.ts'
import { createDns } from '../../lib/courier/dns.ts'
import { createDnsLists } from '../../lib/courier/dns-lists.ts'
import { countingMeter } from '../support/counted.ts'
import { type DnsZone, startDns } from '../support/dns.ts'

const listed = { A: ['127.0.0.2'] }
/** What RFC 5782 §5 wants of every list. */
const sound = (zone: string): DnsZone => ({
  [`2.0.0.127.${zone}`]: listed,
  [`${reversedAddress('::FFFF:7F00:2', 'as it is')!.labels}.${zone}`]: listed,
})

async function open(t: Test, zone: DnsZone, zones: readonly string[], timeoutMs = 60_000) {
  const dns = await startDns(zone)
  t.teardown(() => dns.close())
  let nowMs = 0
  const log: Record<string, string>[] = []
  const { meter, counted } = countingMeter()
  const lists = createDnsLists({
    dns: createDns({ servers: [dns.server], timeoutMs: 5_000 }),
    clock: { ...systemClock, monotonicMs: () => nowMs },
    log: createLog('debug', { write: line => void log.push(JSON.parse(line)) }),
    meter,
    zones,
    timeoutMs,
  })
  return { dns, lists, log, counted, pass: (ms: number) => (nowMs += ms) }
}

t.test('addresses of both families are found, and those that are not there are not', async t => {
  const v6 = reversedAddress('2001:db8::1')!.labels
  const { lists, counted } = await open(
    t,
    {
      ...sound('a.example'),
      ...sound('b.example'),
      '1.2.0.192.b.example': listed,
      [`${v6}.b.example`]: listed,
    },
    ['a.example', 'b.example'],
  )
  t.equal(await lists.find('192.0.2.1'), 'b.example')
  t.equal(await lists.find('::ffff:192.0.2.1'), 'b.example')
  t.equal(await lists.find('192.0.2.2'), undefined)
  t.equal(await lists.find('2001:db8::1'), 'b.example')
  t.equal(await lists.find('2001:db8::2'), undefined)
  t.equal(await lists.find('nonsense'), undefined)
  t.strictSame(
    [...counted].sort(),
    [
      ['dns_list_answers_total a.example unlisted', 5],
      ['dns_list_answers_total b.example listed', 3],
      ['dns_list_answers_total b.example unlisted', 2],
    ],
    'each answer is counted',
  )
})

t.test('a list that fails its test is not believed', async t => {
  const victim = { '1.2.0.192.x.example': listed }
  const refusal = { A: ['127.255.255.254'] }
  for (const [why, zone] of Object.entries({
    'it lists nothing': {},
    'it lists all': { '2.0.0.127.x.example': listed, '1.0.0.127.x.example': listed },
    'it answers with a page for lost domains': { '2.0.0.127.x.example': { A: ['192.0.2.80'] } },
    'it refuses us': { '2.0.0.127.x.example': refusal },
  })) {
    const { lists } = await open(t, { ...zone, ...victim }, ['x.example'])
    t.equal(await lists.find('192.0.2.1'), undefined, why)
  }
})

t.test('all are tested before anybody is looked for, and the log says which fail', async t => {
  const { dns, lists, log } = await open(
    t,
    {
      ...sound('a.example'),
      '2.0.0.127.b.example': listed,
      [`${reversedAddress('::FFFF:7F00:1', 'as it is')!.labels}.d.example`]: listed,
    },
    ['a.example', 'b.example', 'c.example', 'd.example'],
  )
  await lists.test()
  t.strictSame(log.map(({ level, zone, family = '' }) => `${level} ${zone} ${family}`).sort(), [
    'debug b.example ',
    'debug c.example ',
    'warn c.example ipv4',
    'warn d.example ipv4',
    'warn d.example ipv6',
  ])
  const asked = dns.queries.length
  await lists.find('192.0.2.1')
  t.equal(dns.queries.length, asked + 2, 'what was tested is not tested again')
})

t.test('only answers in 127.0.0.0/8 count, and none that refuses the question', async t => {
  for (const [answer, zone] of Object.entries({
    '127.0.0.2': 'x.example',
    '127.0.1.255': 'x.example',
    '127.255.255.252': undefined,
    '127.255.255.254': undefined,
    '192.0.2.80': undefined,
    '128.0.0.1': undefined,
  })) {
    const { lists } = await open(t, { ...sound('x.example'), '1.2.0.192.x.example': { A: [answer] } }, [
      'x.example',
    ])
    t.equal(await lists.find('192.0.2.1'), zone, answer)
  }
})

t.test('a list that fails or is silent has nobody, and does not hold up the others', async t => {
  const { dns, lists } = await open(
    t,
    {
      ...sound('a.example'),
      ...sound('b.example'),
      '1.2.0.192.a.example': listed,
      '1.2.0.192.b.example': listed,
    },
    ['a.example', 'b.example'],
    1_000,
  )
  t.equal(await lists.find('192.0.2.1'), 'a.example')
  dns.fail('1.2.0.192.a.example', 'timeout')
  t.equal(await lists.find('192.0.2.1'), 'b.example')
  dns.fail('1.2.0.192.b.example', 'SERVFAIL')
  t.equal(await lists.find('192.0.2.1'), undefined)
})

t.test('a list is tested again, and many questions make one test', async t => {
  const { dns, lists, pass } = await open(t, { ...sound('x.example'), '1.2.0.192.x.example': listed }, [
    'x.example',
  ])
  const tests = () => dns.queries.filter(({ name }) => name === '1.0.0.127.x.example').length
  t.strictSame(await Promise.all([1, 2, 3].map(() => lists.find('192.0.2.1'))), Array(3).fill('x.example'))
  t.equal(tests(), 1)
  // It is shut down, and its domain answers everything.
  dns.set('1.0.0.127.x.example', 'A', ['127.0.0.2'])
  t.equal(await lists.find('192.0.2.1'), 'x.example', 'not known yet')
  pass(600_000)
  t.equal(await lists.find('192.0.2.1'), undefined)
  t.equal(tests(), 2)
})
