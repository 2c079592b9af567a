import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { answerBytes, dnsTimeoutMs } from '../../../lib/base/network.ts'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { createDnsCache } from '../../../lib/mail/authentication/dns-cache.ts'
import {
  createAnswerMemory,
  dnsEntryBytes,
  dnsFreshMs,
  dnsKeptBytes,
  dnsNegativeMs,
  dnsPositiveMs,
} from '../../../lib/mail/authentication/dns-memory.ts'
import { startDns } from '../../support/dns.ts'
import { zoneDns } from '../domain/zone-dns.ts'

function counted(answer: (name: string) => Promise<unknown[]>) {
  const asked: string[] = []
  let now = 0
  const clock: Clock = { now: () => new Date(now), monotonicMs: () => now }
  const resolve = (name: string, type: string) => {
    asked.push(`${type} ${name}`)
    return answer(name)
  }
  return {
    asked,
    lookup: createDnsCache({ dns: { ...zoneDns({}), resolve }, clock }),
    pass(ms: number) {
      now += ms
    },
  }
}

const fail = (code: string) => Object.assign(new Error(code), { code })

t.test('answers are kept for their time', async t => {
  const { lookup, asked, pass } = counted(async () => ['192.0.2.1'])
  t.same(await lookup('example.com', 'A'), ['192.0.2.1'])
  pass(dnsPositiveMs - 1)
  await lookup('EXAMPLE.com', 'A')
  t.equal(asked.length, 1)
  pass(1)
  await lookup('example.com', 'A')
  await lookup('example.com', 'TXT')
  t.same(asked, ['A example.com', 'A example.com', 'TXT example.com'])
})

t.test('who wants a fresh answer has what was remembered asked anew, and others have it then', async t => {
  const answers = ['192.0.2.1', '192.0.2.2', '192.0.2.3']
  const { lookup, asked, pass } = counted(async () => [answers.shift()])
  t.same(await lookup('example.com', 'A'), ['192.0.2.1'])
  t.same(await Promise.all([lookup('example.com', 'A', true), lookup('example.com', 'A', true)]), [
    ['192.0.2.2'],
    ['192.0.2.2'],
  ])
  t.same(await lookup('example.com', 'A'), ['192.0.2.2'])
  pass(dnsFreshMs - 1)
  t.same(await lookup('example.com', 'A', true), ['192.0.2.2'], 'for a moment it is fresh')
  t.equal(asked.length, 2)
  pass(1)
  t.same(await lookup('example.com', 'A', true), ['192.0.2.3'])
  t.equal(asked.length, 3)
})

t.test('whoever wants a fresh answer does not wait for one that may be remembered on its way', async t => {
  const asked: [fresh: unknown, answer: (records: unknown[]) => void][] = []
  const resolve = (_name: string, _type: string, isFresh?: boolean) =>
    new Promise<unknown[]>(answer => asked.push([isFresh, answer]))
  const lookup = createDnsCache({ dns: { resolve }, clock: systemClock })
  const [old, fresh] = [lookup('example.com', 'A'), lookup('example.com', 'A', true)]
  t.strictSame(
    asked.map(([isFresh]) => isFresh),
    [false, true],
    'it is told to who is asked',
  )
  asked[0]![1](['192.0.2.1'])
  asked[1]![1](['192.0.2.2'])
  t.same([await old, await fresh], [['192.0.2.1'], ['192.0.2.2']])
})

t.test('"none" is kept too, for less', async t => {
  for (const code of ['ENOTFOUND', 'ENODATA']) {
    const { lookup, asked, pass } = counted(() => Promise.reject(fail(code)))
    const errors = await Promise.all(
      [1, 2].map(() => lookup('example.com', 'A').catch((error: unknown) => error)),
    )
    t.match(errors, [{ code }, { code }])
    t.not(errors[0], errors[1], 'each gets an error of its own')
    pass(dnsNegativeMs - 1)
    await t.rejects(lookup('example.com', 'A'), { code })
    t.equal(asked.length, 1)
    pass(1)
    await t.rejects(lookup('example.com', 'A'), { code })
    t.equal(asked.length, 2)
  }
})

t.test('what is no name of the DNS has no records, for good', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const asking = createDnsCache({
    dns: createDns({ servers: [dns.server], timeoutMs: 1000 }),
    clock: systemClock,
  })
  const { lookup, asked } = counted(async () => ['x'])
  const label = 'a'.repeat(64)
  const names = ['', '.', '..', 'a..b', '.a', label, `${label}.example`, 'a\\.b', 'a\tb', 'é.example', 'a\0b']
  for (const name of [...names, `${'a'.repeat(60)}.`.repeat(5)]) {
    await t.rejects(lookup(name, 'TXT'), { code: 'ENOTFOUND' }, JSON.stringify(name))
  }
  t.equal(asked.length, 0)
  // What is left, and is not asked for by node:dns either.
  for (const name of ['a b.example', 'a"b.example', 'a@b.example', 'a(b).example', 'a;b.example']) {
    await t.rejects(asking(name, 'TXT'), { code: 'ENOTFOUND' }, name)
  }
})

t.test('a failure is not kept', async t => {
  let failing = true
  const { lookup, asked } = counted(async () => {
    if (failing) throw fail('ESERVFAIL')
    return ['192.0.2.1']
  })
  await t.rejects(lookup('example.com', 'A'), { code: 'ESERVFAIL' })
  failing = false
  t.same(await lookup('example.com', 'A'), ['192.0.2.1'])
  t.equal(asked.length, 2)
})

t.test('who asks meanwhile waits for the same answer', async t => {
  const { lookup, asked } = counted(async () => {
    await setImmediate()
    return ['b', 'a']
  })
  const [first, second] = await Promise.all([lookup('example.com', 'MX'), lookup('example.com', 'MX')])
  t.equal(asked.length, 1)
  first!.sort()
  t.same(second, ['b', 'a'], 'lists are their own')
  t.same(await lookup('example.com', 'MX'), ['b', 'a'])
})

t.test('no answer is one, after a time', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { lookup } = counted(() => new Promise(() => {}))
  const waiting = t.rejects(lookup('example.com', 'A'), { code: 'ETIMEOUT' })
  await setImmediate()
  mock.timers.tick(dnsTimeoutMs)
  await waiting
})

t.test('that an answer is too long is kept, and is no temporary error of SPF', async t => {
  const { lookup, asked } = counted(() => Promise.reject(fail('EMSGSIZE')))
  for (let i = 0; i < 2; i++) {
    await t.rejects(lookup('example.com', 'TXT'), { code: 'EMSGSIZE', spfResult: { error: 'permerror' } })
  }
  t.equal(asked.length, 1)
})

t.test('its bytes are bounded, and the oldest answers make room', async t => {
  for (const record of ['x'.repeat(10_000), 'x', Array(1000).fill('x')]) {
    const { lookup, asked } = counted(async () => [record])
    const text = Array.isArray(record) ? 9000 : record.length
    const least = Math.floor(dnsKeptBytes / (dnsEntryBytes + text + 50))
    const most = Math.ceil(dnsKeptBytes / (dnsEntryBytes + text))
    for (let i = 0; i < most; i++) await lookup(`${i}.example.com`, 'TXT')
    asked.length = 0
    for (let i = most - least; i < most; i++) await lookup(`${i}.example.com`, 'TXT')
    t.equal(asked.length, 0, 'the newest are there')
    await lookup('0.example.com', 'TXT')
    t.equal(asked.length, 1, 'the oldest is not')
  }
})

t.test('what is over makes room once: others stay that were asked for again', async t => {
  const { lookup, asked, pass } = counted(async () => ['x'.repeat(10_000)])
  const fits = Math.floor(dnsKeptBytes / (dnsEntryBytes + 10_050))
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < fits; i++) await lookup(`${i}.example.com`, 'TXT')
    t.equal(asked.length, fits * (round + 1))
    pass(dnsPositiveMs)
  }
})

t.test('its bound is one to the byte, also after what was kept has been kept anew', t => {
  const memory = createAnswerMemory({ now: () => new Date(0), monotonicMs: () => 0 })
  const key = (n: number) => `TXT ${String(n).padStart(6, '0')}`
  const entry = (records: readonly unknown[]) => dnsEntryBytes + key(0).length + answerBytes(records)
  const full = entry(['x'.repeat(60_000)])
  const count = Math.floor(dnsKeptBytes / full) - 1
  for (let n = 0; n < count; n++)
    for (let round = 0; round < 2; round++) memory.keep(key(n), { records: ['x'.repeat(60_000)] }, false)
  const left = dnsKeptBytes - count * full - entry([''])
  const last = (length: number) => memory.keep(key(count), { records: ['x'.repeat(length)] }, false)
  last(left)
  t.ok(memory.find(key(0), false), 'all of it fits')
  last(left + 1)
  t.notOk(memory.find(key(0), false), 'a byte more')
  t.ok(memory.find(key(1), false))
  t.end()
})

t.test('who finds that it is over forgets it, unless a fresh one was asked for', t => {
  let now = 0
  const memory = createAnswerMemory({ now: () => new Date(now), monotonicMs: () => now })
  memory.keep('some', { records: ['x'] }, false)
  t.notOk(memory.find('some', true))
  t.ok(memory.find('some', false), 'others go on with it')
  now = dnsPositiveMs
  t.notOk(memory.find('some', false))
  // To a clock that goes back nothing is over.
  now = 0
  t.notOk(memory.find('some', false))
  t.end()
})

t.test('what is over goes without being asked for', t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  const memory = createAnswerMemory({ now: () => new Date(now), monotonicMs: () => now })
  const pass = (ms: number) => {
    now += ms
    mock.timers.tick(ms)
  }
  /** What is kept, over or not: to a clock that goes back nothing is over. */
  const kept = () => {
    const at = now
    now = 0
    const found = ['some', 'none'].filter(key => memory.find(key, false))
    now = at
    return found
  }
  for (let round = 0; round < 2; round++) {
    memory.keep('some', { records: ['x'] }, false)
    memory.keep('none', { none: 'ENODATA' }, false)
    pass(dnsNegativeMs - 1)
    t.strictSame(kept(), ['some', 'none'])
    pass(1)
    t.strictSame(kept(), ['some'])
    pass(dnsPositiveMs)
    t.strictSame(kept(), [], 'also after it had been empty')
  }
  t.end()
})
