import t from 'tap'
import { createDns } from '../../lib/courier/dns.ts'
import { dnsSharedEntries, dnsSharedMs, shareAnswers } from '../../lib/courier/shared-dns.ts'
import { startDns } from '../support/dns.ts'

async function setUp(zones: Parameters<typeof startDns>[0]) {
  const server = await startDns(zones)
  t.teardown(() => server.close())
  let now = 0
  const dns = createDns({ servers: [server.server], timeoutMs: 2000 })
  const asked: string[] = []
  const counted: typeof dns = {
    ...dns,
    resolveMx: name => {
      asked.push(`MX ${name}`)
      return dns.resolveMx(name)
    },
    resolve4: name => {
      asked.push(`A ${name}`)
      return dns.resolve4(name)
    },
  }
  const shared = shareAnswers(counted, { now: () => new Date(now), monotonicMs: () => now })
  return {
    server,
    shared,
    asked,
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test('what many ask at once, or shortly after each other, is asked once', async t => {
  const { shared, asked, pass } = await setUp({
    'theirs.example': { MX: [{ exchange: 'mx.theirs.example', priority: 10 }], A: ['192.0.2.1'] },
  })
  const answers = await Promise.all(Array.from({ length: 20 }, () => shared.resolveMx('theirs.example')))
  for (const answer of answers) t.match(answer, [{ exchange: 'mx.theirs.example', priority: 10 }])
  answers[0]!.length = 0
  pass(dnsSharedMs - 1)
  t.equal((await shared.resolveMx('theirs.example')).length, 1, 'each has a list of his own')
  t.strictSame(asked, ['MX theirs.example'])
  t.strictSame(await shared.resolve4('theirs.example'), ['192.0.2.1'], 'another question')
  pass(1)
  await shared.resolveMx('theirs.example')
  t.strictSame(asked, ['MX theirs.example', 'A theirs.example', 'MX theirs.example'])
})

t.test('that there is nothing is asked once, and what failed is asked again', async t => {
  const { server, shared, asked, pass } = await setUp({ 'theirs.example': { A: ['192.0.2.1'] } })
  await t.rejects(shared.resolveMx('theirs.example'), { code: 'ENODATA' })
  await t.rejects(shared.resolveMx('theirs.example'), { code: 'ENODATA' })
  await t.rejects(shared.resolveMx('nobodys.example'), { code: 'ENOTFOUND' })
  await t.rejects(shared.resolveMx('nobodys.example'), { code: 'ENOTFOUND' })
  t.strictSame(asked.splice(0), ['MX theirs.example', 'MX nobodys.example'])
  pass(dnsSharedMs)
  await t.rejects(shared.resolveMx('theirs.example'), { code: 'ENODATA' })
  t.equal(asked.splice(0).length, 1, 'and for so long only')
  server.fail('theirs.example', 'SERVFAIL')
  await Promise.all([1, 2].map(() => t.rejects(shared.resolve4('theirs.example'), { code: 'ESERVFAIL' })))
  server.clear('theirs.example')
  t.strictSame(await shared.resolve4('theirs.example'), ['192.0.2.1'])
  t.equal(asked.length, 2, 'both waited for one failure')
})

t.test('however many names are asked for, few answers are kept', async t => {
  const names = Array.from({ length: dnsSharedEntries + 1 }, (_, at) => `d${at}.example`)
  const { shared, asked } = await setUp(Object.fromEntries(names.map(name => [name, { A: ['192.0.2.1'] }])))
  for (const name of names) await shared.resolve4(name)
  await shared.resolve4(names.at(-1)!)
  t.equal(asked.length, names.length)
  await shared.resolve4(names[0]!)
  t.equal(asked.length, names.length + 1)
})
