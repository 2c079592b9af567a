import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { createDnsCache } from '../../../lib/mail/authentication/dns-cache.ts'
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
  pass(limits.dnsPositiveMs - 1)
  await lookup('EXAMPLE.com', 'A')
  t.equal(asked.length, 1)
  pass(1)
  await lookup('example.com', 'A')
  await lookup('example.com', 'TXT')
  t.same(asked, ['A example.com', 'A example.com', 'TXT example.com'])
})

t.test('"none" is kept too, for less', async t => {
  for (const code of ['ENOTFOUND', 'ENODATA']) {
    const { lookup, asked, pass } = counted(() => Promise.reject(fail(code)))
    const errors = await Promise.all(
      [1, 2].map(() => lookup('example.com', 'A').catch((error: unknown) => error)),
    )
    t.match(errors, [{ code }, { code }])
    t.not(errors[0], errors[1], 'each gets an error of its own')
    pass(limits.dnsNegativeMs - 1)
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
  mock.timers.tick(limits.dnsTimeoutMs)
  await waiting
})

t.test('it does not grow without end', async t => {
  const { lookup, asked } = counted(async () => ['x'])
  for (let i = 0; i <= limits.dnsCacheEntries; i++) await lookup(`${i}.example.com`, 'A')
  asked.length = 0
  await lookup(`${limits.dnsCacheEntries}.example.com`, 'A')
  t.equal(asked.length, 0, 'the newest is there')
  await lookup('0.example.com', 'A')
  t.equal(asked.length, 1, 'the oldest is not')
})
