import t from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { systemClock } from '../../lib/base/time.ts'
import { createDns } from '../../lib/courier/dns.ts'
import { dnsSilent, dnsSilentMs, isResolverSilent, watchDns } from '../../lib/courier/watched-dns.ts'
import { startDns } from '../support/dns.ts'

t.test('a resolver that says nothing is told once at its begin and once at its end', async t => {
  const server = await startDns({ 'theirs.example': { A: ['192.0.2.1'] } })
  t.teardown(() => server.close())
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  let now = 0
  const clock = { now: () => new Date(now), monotonicMs: () => now }
  const dns = watchDns(createDns({ servers: [server.server], timeoutMs: 200 }), { clock, log })

  server.fail('broken.example', 'SERVFAIL')
  for (let count = 0; count < 2 * dnsSilent; count++) {
    await t.rejects(dns.resolve4('broken.example'), { code: 'ESERVFAIL' })
    now += dnsSilentMs
  }
  t.strictSame(lines, [], "a stranger's broken zone is an answer")

  server.fail('theirs.example', 'timeout')
  for (let count = 0; count < dnsSilent + 3; count++) {
    await t.rejects(dns.resolve4('theirs.example'), { code: 'ETIMEOUT' })
    now += dnsSilentMs
  }
  t.match(lines, [{ level: 'error', code: 'ETIMEOUT', msg: /^DNS does not answer/ }])
  server.clear('theirs.example')
  await t.rejects(dns.resolveMx('nobody.example'), { code: 'ENOTFOUND' }, 'which is an answer, too')
  t.equal(lines.length, 2)
  t.match(lines[1], { level: 'warn', failed: dnsSilent + 3, msg: 'DNS answers again' })
})

t.test('the first answer after a silence is announced', async t => {
  const server = await startDns({ 'theirs.example': { A: ['192.0.2.1'] } })
  t.teardown(() => server.close())
  let announced = 0
  const parts = { clock: systemClock, log: createLog('silent'), answersAgain: () => void announced++ }
  const dns = watchDns(createDns({ servers: [server.server], timeoutMs: 200 }), parts)
  await dns.resolve4('theirs.example')
  t.equal(announced, 0)
  server.fail('theirs.example', 'timeout')
  await t.rejects(dns.resolve4('theirs.example'))
  t.equal(await isResolverSilent(dns), false, 'only one name is')
  t.equal(announced, 1)
  await dns.resolve4('nobody.example').catch(() => {})
  t.equal(announced, 1)
})
