import t from 'tap'
import { createDns, dnsAnswerBytes } from '../../lib/courier/dns.ts'
import { dkimRecordLength } from '../../lib/mail/signature/key.ts'
import { startDns } from '../support/dns.ts'

const server = await startDns({
  'a.example': { MX: [{ priority: 5, exchange: 'mx.a.example' }], A: ['192.0.2.1'], AAAA: ['2001:db8::1'] },
  'alias.example': { CNAME: ['a.example'] },
  'text.example': { TXT: ['x'.repeat(300), ['a', 'b']] },
  'big.example': { TXT: Array.from({ length: 40 }, (_, index) => `${index} `.repeat(30)) },
  '192.0.2.1': { PTR: ['a.example'] },
  '2001:db8::1': { PTR: ['six.example'] },
})
const dns = createDns({ servers: [server.server], timeoutMs: 400 })
t.teardown(() => server.close())

t.test('answers as node:dns does', async t => {
  t.match(await dns.resolveMx('a.example'), [{ exchange: 'mx.a.example', priority: 5 }])
  t.same(await dns.resolve4('alias.example'), ['192.0.2.1'])
  t.same(await dns.resolve6('a.example'), ['2001:db8::1'])
  t.same(await dns.resolveTxt('text.example'), [
    ['x'.repeat(255), 'x'.repeat(45)],
    ['a', 'b'],
  ])
  t.same(await dns.resolve('text.example', 'TXT'), await dns.resolveTxt('text.example'))
  t.same(await dns.reverse('192.0.2.1'), ['a.example'])
  t.same(await dns.reverse('2001:db8::1'), ['six.example'])
})

t.test('what does not fit a datagram comes over TCP', async t => {
  t.equal((await dns.resolveTxt('big.example')).length, 40)
  t.match(server.queries.filter(({ name }) => name === 'big.example').at(-1), { over: 'tcp' })
})

t.test('an answer that is longer than anything of use is refused whole, in one piece or many', async t => {
  const code = 'EMSGSIZE'
  server.set('long.example', 'TXT', ['x'.repeat(60_000)])
  await t.rejects(dns.resolveTxt('long.example'), { code })
  await t.rejects(dns.resolve('long.example', 'TXT'), { code })
  server.set('many.example', 'TXT', Array(240).fill('x'.repeat(240)))
  await t.rejects(dns.resolve('many.example', 'TXT'), { code })
  server.set('crumbs.example', 'TXT', [Array(dnsAnswerBytes / 8).fill('x')])
  await t.rejects(dns.resolve('crumbs.example', 'TXT'), { code }, 'strings take more than their letters')
  server.set('mxs.example', 'MX', Array(900).fill({ priority: 5, exchange: 'mx.a.example' }))
  await t.rejects(dns.resolveMx('mxs.example'), { code })
  server.set('key.example', 'TXT', ['x'.repeat(dkimRecordLength + 1)])
  t.equal((await dns.resolveTxt('key.example'))[0]?.join('').length, dkimRecordLength + 1)
})

t.test('keeps the codes: none, and the temporary ones', async t => {
  await t.rejects(dns.resolveMx('nothing.example'), { code: 'ENOTFOUND' })
  await t.rejects(dns.resolveMx('text.example'), { code: 'ENODATA' })
  await t.rejects(dns.resolveMx('example'), { code: 'ENODATA' }, 'a name that has only names below it exists')
  server.fail('broken.example', 'SERVFAIL')
  await t.rejects(dns.resolveMx('broken.example'), { code: 'ESERVFAIL' })
  server.set('text.example', 'TXT', [])
  await t.rejects(dns.resolveTxt('text.example'), { code: 'ENOTFOUND' })
})

t.test('a server that does not answer costs the time limit, and asks again within it', async t => {
  server.fail('slow.example', 'timeout')
  await t.rejects(dns.resolve4('slow.example'), { code: 'ETIMEOUT' })
  t.equal(server.queries.filter(({ name }) => name === 'slow.example').length, 2)
  server.clear('slow.example')
  t.same(await dns.resolve4('a.example'), ['192.0.2.1'], 'and later queries are well')
})

t.test('several silent servers do not add up', async t => {
  const silent = await startDns()
  t.teardown(() => silent.close())
  for (const each of [server, silent]) each.fail('slow.example', 'timeout')
  const both = createDns({ servers: [server.server, silent.server], timeoutMs: 300 })
  // These are the words of the limit for all of it; node:dns, which would go on for twice as long, has others.
  const late = { code: 'ETIMEOUT', message: 'DNS gave no answer for slow.example' }
  await t.rejects(both.resolve4('slow.example'), late)
})
