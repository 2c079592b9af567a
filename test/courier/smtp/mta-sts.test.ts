import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TLSSocket } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createAddressGuard } from '../../../lib/courier/address-guard.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import {
  createStsPolicies,
  type StoredStsPolicy,
  stsFetches,
  stsRefreshMs,
  stsRetryMs,
} from '../../../lib/courier/encryption/sts-policies.ts'
import { type Fetched, httpsGet } from '../../../lib/courier/https-get.ts'
import { stsPolicyBytes } from '../../../lib/mail/domain/mta-sts.ts'
import { writeIssuedCertificate } from '../../support/certificate.ts'
import { until } from '../../support/until.ts'
import { delivery, loopback, loopbackGuard, outcomeOf, raw } from '../loopback.ts'

const mx = await writeIssuedCertificate(`${t.testdir({ mx: {}, web: {} })}/mx`, 'mx1.there.example')
const web = await writeIssuedCertificate(`${t.testdirName}/web`, 'mta-sts.there.example')
const ca = mx.root + web.root

/** A clock that can be put on. */
function movedClock() {
  let byMs = 0
  const now = () => new Date(systemClock.now().getTime() + byMs)
  return {
    clock: { ...systemClock, now, monotonicMs: () => systemClock.monotonicMs() + byMs },
    pass: (ms: number) => {
      byMs += ms
    },
  }
}

/** A domain with an MX whose certificate is good, a web server for its policy, and a courier that asks for it. */
async function domain(t: Test, policy: string, mxCertificate = mx) {
  const { clock, pass } = movedClock()
  const given = await loopback(t, [undefined])
  const { dns, port } = given
  dns.set('_mta-sts.there.example', 'TXT', ['v=STSv1; id=1;'])
  dns.set('mta-sts.there.example', 'A', ['127.0.0.1'])
  const site = { policy, status: 200, type: 'text/plain', asked: 0 }
  const server = createServer(
    { cert: web.leaf + web.intermediate, key: readFileSync(web.key) },
    (request, answer) => {
      site.asked++
      t.equal(request.url, '/.well-known/mta-sts.txt')
      answer.writeHead(site.status, { 'content-type': site.type, location: 'https://elsewhere.example/' })
      answer.end(site.policy)
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const mta = new SMTPServer({
    cert: mxCertificate.leaf + mxCertificate.intermediate,
    key: readFileSync(mxCertificate.key),
    authOptional: true,
    logger: false,
  })
  mta.on('error', () => {})
  mta.listen(port, '127.0.0.2')
  await once(mta.server, 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await new Promise<void>(resolve => mta.close(resolve))
  })
  const stored = new Map<string, StoredStsPolicy>()
  const resolver = createDns({ servers: [dns.server], timeoutMs: 500 })
  let guard = loopbackGuard
  const stsPolicies = createStsPolicies({
    dns: resolver,
    clock,
    store: {
      find: async name => stored.get(name),
      put: async one => void stored.set(one.domain, one),
    },
    get: (host, path) =>
      httpsGet(host, path, {
        dns: resolver,
        guard,
        ca,
        port: (server.address() as AddressInfo).port,
        connectMs: 5000,
        timeoutMs: 5000,
        maxBytes: stsPolicyBytes,
      }),
  })
  const { courier } = await loopback(t, [], {
    dns: resolver,
    port,
    stsPolicies,
    ca,
    clock,
    timeouts: { connectMs: 5000 },
  })
  return {
    dns,
    site,
    stored,
    pass,
    carry: () => courier.carry(delivery(), raw),
    useGuard: (other: typeof loopbackGuard) => {
      guard = other
    },
  }
}

const enforce = 'version: STSv1\r\nmode: enforce\r\nmx: mx1.there.example\r\nmax_age: 864000\r\n'
const success = [{ policyDomain: 'there.example', policyType: 'sts', type: 'success' }]

t.test('enforce: a certificate that is believed, for the name', async t => {
  const { site, stored, carry, dns, pass } = await domain(t, enforce)
  t.match(await carry(), { result: 'delivered', tls: /^TLSv1\.3/, tlsResults: success })
  t.match(stored.get('there.example'), { mode: 'enforce', policyId: '1', maxAgeSeconds: 864_000 })
  t.match(await carry(), { result: 'delivered' })
  t.equal(site.asked, 1, 'a policy is kept')
  // Who takes the record away, and the web server down, gets no more than before.
  dns.set('_mta-sts.there.example', 'TXT', [])
  dns.set('mta-sts.there.example', 'A', [])
  pass(863_000_000)
  dns.set('there.example', 'MX', [{ priority: 10, exchange: 'mx2.there.example' }])
  dns.set('mx2.there.example', 'A', ['127.0.0.2'])
  t.match(await carry(), {
    result: 'transient',
    enhanced: '4.7.5',
    // Nobody was connected to: whoever writes the policy could say anything of any server by it.
    showing: undefined,
    text: 'not sent to mx2.there.example, as the policy of its domain demands: the MTA-STS policy of there.example does not name it',
    tlsResults: [{ type: 'validation-failure', host: 'mx2.there.example' }],
  })
  pass(2_000_000)
  t.match(
    await carry(),
    { result: 'delivered', tlsResults: [{ policyType: 'no-policy-found' }] },
    'its age is over',
  )
})

t.test('enforce: what is not proven is not sent to', async t => {
  const wrong = await writeIssuedCertificate(t.testdir(), 'somebody-else.example')
  for (const [certificate, type] of [
    [{ ...wrong, root: mx.root }, 'certificate-not-trusted'],
    [web, 'certificate-host-mismatch'],
  ] as const) {
    const { carry } = await domain(t, enforce, certificate)
    t.match(await carry(), {
      result: 'transient',
      enhanced: '4.7.5',
      showing: 'answers',
      tlsResults: [{ policyType: 'sts', type }],
    })
    t.match(await carry(), { result: 'transient' }, 'nor the second time, with what TLS kept')
  }
})

t.test('testing: sent all the same, and counted', async t => {
  const { carry } = await domain(t, enforce.replace('enforce', 'testing'), web)
  t.match(await carry(), {
    result: 'delivered',
    tls: /^TLSv1/,
    tlsResults: [{ policyType: 'sts', type: 'certificate-host-mismatch' }],
  })
})

t.test('a policy that can not be had', async t => {
  const { carry, site, dns, pass, useGuard, stored } = await domain(t, enforce, web)
  const faults: [string, () => void, string][] = [
    ['gone', () => (site.status = 404), 'sts-policy-fetch-error'],
    ['redirect', () => (site.status = 302), 'sts-policy-fetch-error'],
    ['html', () => Object.assign(site, { status: 200, type: 'text/html' }), 'sts-policy-invalid'],
    [
      'large',
      () => Object.assign(site, { type: 'text/plain', policy: '#'.repeat(70_000) }),
      'sts-policy-fetch-error',
    ],
    ['none', () => (site.policy = 'hello'), 'sts-policy-invalid'],
    ['elsewhere', () => dns.set('mta-sts.there.example', 'A', ['10.0.0.1']), 'sts-policy-fetch-error'],
  ]
  for (const [name, change, type] of faults) {
    change()
    if (name === 'elsewhere')
      useGuard(
        createAddressGuard({
          clock: systemClock,
          allowNetworks: [],
          ownAddresses: () => [],
          ownPorts: () => [],
        }),
      )
    const before = site.asked
    const outcome = await carry()
    const withoutPolicy = { policyType: 'no-policy-found', type: 'success', host: 'mx1.there.example' }
    // Of the sessions the first alone is new.
    const sessions = change === faults[0]![1] ? [withoutPolicy] : []
    const tlsResults = [{ policyType: 'sts', type, host: '' }, ...sessions]
    t.match(outcome, { result: 'delivered', tlsResults }, name)
    await carry()
    t.ok(site.asked <= before + 1, 'it is not asked for again at once')
    pass(stsRetryMs)
  }
  t.equal(stored.size, 0)
})

t.test('another id has it fetched again; where that fails, the one before holds', async t => {
  const { carry, site, dns } = await domain(t, enforce.replace('enforce', 'none'), web)
  t.match(await carry(), { result: 'delivered' })
  site.policy = enforce
  t.match(await carry(), { result: 'delivered' }, 'nobody asks while the id is the same')
  dns.set('_mta-sts.there.example', 'TXT', ['v=STSv1; id=2'])
  t.match(await carry(), { result: 'transient', enhanced: '4.7.5' })
  dns.set('_mta-sts.there.example', 'TXT', ['v=STSv1; id=3'])
  site.status = 500
  t.match(await carry(), { result: 'transient', tlsResults: [{ type: 'sts-policy-fetch-error' }, {}] })
  dns.set('_mta-sts.there.example', 'TXT', ['v=STSv1; id=4', 'v=STSv1; id=5'])
  t.match(await carry(), { result: 'transient' }, 'two records are none')
})

/** Policies of any number of domains, whose web servers say nothing until they are let go on. */
function silentPolicies(waitMs: number) {
  const { clock, pass } = movedClock()
  const stored = new Map<string, StoredStsPolicy>()
  const waiting: { host: string; answer: (text: string) => void }[] = []
  const ids = new Map<string, string>()
  const policies = createStsPolicies({
    dns: {
      resolveTxt: async name => [[`v=STSv1; id=${ids.get(name.replace('_mta-sts.', '')) ?? 1};`]],
    },
    clock,
    waitMs,
    store: {
      find: async name => stored.get(name),
      put: async one => void stored.set(one.domain, one),
    },
    get: (host, _path) =>
      new Promise(resolve => {
        const answer = (text: string) => resolve({ status: 200, contentType: 'text/plain', text })
        waiting.push({ host, answer })
      }),
  })
  const ask = (domain: string, podId = 'eve', signal = new AbortController().signal) =>
    policies.of(domain, { podId, signal })
  return { ask, waiting, ids, pass }
}

t.test(
  'policies are fetched so many at once, and another pod need not wait for one that has many',
  async t => {
    const { ask, waiting } = silentPolicies(60_000)
    const cut = new AbortController()
    const asked = Array.from({ length: 300 }, (_, n) => ask(`s${n}.example`, 'eve', cut.signal))
    await until('those that may have begun', () => waiting.length > 0)
    await new Promise(setImmediate)
    const most = waiting.length
    t.ok(most <= (stsFetches * 3) / 4, `${most} of a pod`)
    const others = ask('good.example', 'gus')
    await until('another pod has its own', () => waiting.at(-1)?.host === 'mta-sts.good.example')
    waiting.at(-1)!.answer(enforce)
    t.match(await others, { policy: { mode: 'enforce' } })
    // Attempts that were cut short wait no more, and what they asked for is not fetched.
    cut.abort()
    const findings = await Promise.all(asked.slice(most))
    t.ok(findings.every(({ isUnasked }) => isUnasked))
    for (const { answer } of waiting.splice(0)) answer(enforce)
    t.match(await asked[0], { policy: { mode: 'enforce' } })
    t.equal(waiting.length, 0)
  },
)

t.test(
  'whose turn does not come in time is not sent without its policy, and goes by one that is known',
  async t => {
    const { ask, waiting, ids } = silentPolicies(20)
    const known = ask('known.example')
    await until('it is fetched', () => waiting.length === 1)
    waiting.pop()!.answer(enforce)
    await known
    const many = Array.from({ length: stsFetches }, (_, n) => ask(`s${n}.example`))
    await until('as many as may be', () => waiting.length >= (stsFetches * 3) / 4)
    t.strictSame(await ask('unknown.example'), { isUnasked: true })
    t.match(await ask('known.example'), { policy: { mode: 'enforce' }, fault: undefined })
    ids.set('known.example', '2')
    t.match(await ask('known.example'), { policy: { mode: 'enforce' } }, 'at once, though there is another')
    for (const { answer } of waiting.splice(0)) answer(enforce)
    await Promise.all(many)
    const again = ask('known.example')
    await until('it is fetched when there is room', () => waiting.length === 1)
    waiting.pop()!.answer(enforce.replace('enforce', 'testing'))
    t.match(await again, { policy: { mode: 'testing' } })
  },
)

/** Policies of a web server that answers as it is told, and how often it was asked. */
function toldPolicies(answer: Fetched) {
  let nowMs = 0
  const stored = new Map<string, StoredStsPolicy>()
  const site = { answer, asked: 0, id: '1' }
  const policies = createStsPolicies({
    dns: { resolveTxt: async () => [[`v=STSv1; id=${site.id};`]] },
    clock: { ...systemClock, now: () => new Date(nowMs), monotonicMs: () => nowMs },
    store: {
      find: async name => stored.get(name),
      put: async one => void stored.set(one.domain, one),
    },
    get: async () => {
      site.asked++
      return site.answer
    },
  })
  return {
    site,
    pass: (ms: number) => {
      nowMs += ms
    },
    ask: () => policies.of('there.example', { podId: 'ann', signal: new AbortController().signal }),
  }
}

t.test('what the web server answers is a policy, or why it is none', async t => {
  const file = (contentType: string, text = enforce, status = 200) => ({ status, contentType, text })
  const longest = 'x'.repeat(100)
  for (const [answer, finding] of [
    [file('text/plain'), undefined],
    [file('TEXT/Plain ; charset=utf-8'), undefined],
    [file('text/plainer'), ['sts-policy-invalid', 'the file is text/plainer']],
    [file('a text/plain'), ['sts-policy-invalid', 'the file is a text/plain']],
    [file(''), ['sts-policy-invalid', 'the file is of no type']],
    [file(`${longest}y`), ['sts-policy-invalid', `the file is ${longest}`]],
    [file('text/plain', 'hello'), ['sts-policy-invalid', 'the file is no policy']],
    [file('text/plain', enforce, 201), ['sts-policy-fetch-error', 'the web server answered 201']],
    [file('text/plain', enforce, 301), ['sts-policy-fetch-error', 'the web server answered 301']],
    [{ error: 'hung up', isTlsFault: false }, ['sts-policy-fetch-error', 'hung up']],
    [{ error: 'TLS failed', isTlsFault: true }, ['sts-webpki-invalid', 'TLS failed']],
  ] as const) {
    const found = await toldPolicies(answer).ask()
    if (finding === undefined) t.match(found, { policy: { mode: 'enforce' }, fault: undefined })
    else t.strictSame(found, { fault: { type: finding[0], text: finding[1] } })
  }
})

t.test('when it is asked for again, each at its bound', async t => {
  const file = { status: 200, contentType: 'text/plain', text: enforce }
  const failing = toldPolicies({ ...file, status: 500 })
  const fault = { type: 'sts-policy-fetch-error', text: 'the web server answered 500' }
  for (const [ms, asked] of [
    [0, 1],
    [stsRetryMs - 1, 1],
    [1, 2],
    [1, 2],
  ] as const) {
    failing.pass(ms)
    t.strictSame(await failing.ask(), { fault })
    t.equal(failing.site.asked, asked, 'one that failed')
  }
  failing.site.id = '2'
  t.strictSame(await failing.ask(), { fault })
  t.equal(failing.site.asked, 3, 'another one at once')

  const { site, ask, pass } = toldPolicies(file)
  const kept = { policy: { mode: 'enforce' }, fault: undefined }
  for (const [ms, asked] of [
    [0, 1],
    [stsRefreshMs - 1, 1],
    [1, 2],
    [1, 2],
  ] as const) {
    pass(ms)
    t.match(await ask(), kept)
    await new Promise(setImmediate)
    t.equal(site.asked, asked, 'one that was fetched is fetched again before it ends')
  }
  // One that can not be fetched any more holds to its end.
  site.answer = { ...file, status: 500 }
  pass(864_000_000 - 2)
  t.match(await ask(), kept, 'the last millisecond')
  await new Promise(setImmediate)
  pass(1)
  t.strictSame(await ask(), { fault })
})

t.test('mail whose policy could not be asked for waits', async t => {
  const given = await loopback(t, [{}], {
    stsPolicies: { of: async () => ({ isUnasked: true }) },
  })
  const outcome = await outcomeOf(given.courier, delivery(), raw)
  t.match(outcome, { result: 'transient', enhanced: '4.4.5', text: /MTA-STS policy could not be asked/ })
  t.equal(outcome.showing, undefined)
  t.equal(given.peers[0]?.connections, 0)
})

t.test('a session of TLS is taken up again, and what was proven in it', async t => {
  const reused: boolean[] = []
  const { courier, port } = await loopback(t, [undefined], { idleMs: 0 })
  const mta = new SMTPServer({
    cert: mx.leaf,
    key: readFileSync(mx.key),
    authOptional: true,
    logger: false,
    onSecure(socket, _session, done) {
      reused.push(socket instanceof TLSSocket && socket.isSessionReused())
      done()
    },
  })
  mta.on('error', () => {})
  mta.listen(port, '127.0.0.2')
  await once(mta.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => mta.close(resolve)))
  for (let count = 0; count < 2; count++) {
    t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
    await until('the session is over', () => mta.connections.size === 0)
  }
  t.same(reused, [false, true])
})
