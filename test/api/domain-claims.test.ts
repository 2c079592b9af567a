import t, { type Test } from 'tap'
import type { Caller } from '../../lib/core/app/caller.ts'
import { checkDueDomains } from '../../lib/core/domains/checks.ts'
import { approveDomain, holdDomain } from '../../lib/core/domains/domains.ts'
import { isDeliveredHere } from '../../lib/core/domains/usable.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import type { Domain } from '../../lib/model/domain.ts'
import type { Api } from '../support/api.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { startDns, type TestDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'

const minute = 60_000
const day = 86_400_000

type Tenant = { readonly pod: string; readonly api: Api; readonly caller: Caller }

async function setUp(t: Test, toml = '') {
  const dns: TestDns = await startDns({})
  t.teardown(() => dns.close())
  const server: ApiApp = await startApi(t, { dns: dns.server, toml })
  const tenant = async (): Promise<Tenant> => {
    const pod = (await server.api.post('/v1/pods', {})).body.id
    const { token, id } = (await server.api.post(`/v1/pods/${pod}/api-keys`, {})).body
    return { pod, api: server.apiWith(token), caller: { keyId: id, podId: pod, inboxId: null } }
  }
  const add = async ({ api }: { api: Api }, domain = 'bigmail.example'): Promise<Domain> => {
    const { status, body } = await api.post('/v1/domains', { domain })
    t.equal(status, 201)
    return body
  }
  const verify = async ({ api }: { api: Api }, { id }: Domain): Promise<Domain> =>
    (await api.post(`/v1/domains/${id}/verify`)).body
  const outcome = ({ status, problem }: Domain) => (problem === null ? status : `${status} ${problem}`)
  /** What RCPT says of an address, and whether mail that we send to it stays here. */
  const taken = async (address: string) => {
    const reply = await resolveRecipient(server.app, address).then(
      () => 250,
      ({ code, enhanced }) => `${code} ${enhanced}`,
    )
    return [reply, await isDeliveredHere(server.app, server.app.store.read, address)]
  }
  return { ...server, dns, tenant, add, verify, outcome, taken }
}

t.test('a domain that is merely added claims nothing', async t => {
  const { tenant, add, taken, api, app } = await setUp(t)
  const [a, b] = [await tenant(), await tenant()]
  await add(a)
  await add(b)
  await add({ api })
  t.match(await a.api.post('/v1/domains', { domain: 'bigmail.example' }), {
    body: { error: 'domain_exists' },
  })
  for (const address of [
    'ann@bigmail.example',
    'postmaster@bigmail.example',
    'abuse@bigmail.example',
    'x@bounce.bigmail.example',
  ]) {
    t.strictSame(await taken(address), ['550 5.7.1', false], address)
  }
  t.match(await b.api.post('/v1/inboxes', { domain: 'bigmail.example' }), {
    body: { error: 'invalid_domain' },
  })
  const inbox = (await b.api.post('/v1/inboxes', {})).body.id
  for (const forwardTo of ['ann@bigmail.example', 'ann@bounce.bigmail.example']) {
    t.match(await b.api.patch(`/v1/inboxes/${inbox}`, { forwardTo }), { status: 200 }, forwardTo)
  }
  for (const forwardTo of ['ann@ours.example', 'ann@bounce.ours.example', 'ann@mail.ours.example']) {
    const refused = { status: 422, body: { error: 'forward_to_is_service_address' } }
    t.match(await b.api.patch(`/v1/inboxes/${inbox}`, { forwardTo }), refused, forwardTo)
  }
  t.equal(
    (await b.api.send(inbox, { to: 'ann@bigmail.example', subject: 's', body: 'b' })).status,
    200,
    'it is written to as anybody',
  )
  t.match(await a.api.post('/v1/domains', { domain: 'ours.example' }), { body: { error: 'domain_exists' } })
  // The operator makes the name the account's own: the row of a pod is not that.
  const renamed = { ...app, config: { ...app.config, account_domain: 'bigmail.example' } }
  const row = (podId: string | null) => ({ domain: 'bigmail.example', podId, status: 'pending' })
  const { isUsable } = await import('../../lib/core/domains/usable.ts')
  t.strictSame(
    [a.pod, null].map(pod => isUsable(renamed, row(pod) as never)),
    [false, true],
  )
})

t.test('the first that is verified has the name, and keeps it while its records are right', async t => {
  const server = await setUp(t)
  const { tenant, add, verify, outcome, taken, dns, clock, app } = server
  const [a, b, c] = [await tenant(), await tenant(), await tenant()]
  const [ofA, ofB] = [await add(a), await add(b)]
  publish(dns, ofA)
  t.equal(outcome(await verify(a, ofA)), 'verified')
  const shown = (await b.api.get(`/v1/domains/${ofB.id}`)).body
  t.equal(outcome(shown), 'failed domain_taken', 'told at once')
  const told = await app.store.read
    .selectFrom('event')
    .selectAll()
    .where('type', 'like', 'domain.%')
    .execute()
  t.strictSame(
    told.map(({ type, podId }) => `${type} ${podId}`),
    [`domain.failed ${b.pod}`, `domain.verified ${a.pod}`],
  )
  t.match(await c.api.post('/v1/domains', { domain: 'bigmail.example' }), {
    body: { error: 'domain_exists' },
  })
  t.equal(outcome(await verify(b, ofB)), 'failed domain_taken')

  // It moves on to b. As long as a's loss is not sure, the name is a's.
  const inbox = (await a.api.post('/v1/inboxes', { domain: 'bigmail.example', mailboxName: 'ann' })).body
  publish(dns, ofB)
  t.equal(outcome(await verify(b, ofB)), 'failed domain_taken')
  t.equal(outcome(await verify(a, ofA)), 'verifying')
  t.equal(outcome(await verify(b, ofB)), 'failed domain_taken')
  t.equal(outcome(await verify(a, ofA)), 'failed')
  t.strictSame(await taken(inbox.address), [250, true], 'an inbox of a failed domain keeps receiving')
  t.strictSame(await taken('other@bigmail.example'), ['550 5.7.1', false])
  t.strictSame(await taken('postmaster@bigmail.example'), ['550 5.7.1', false])
  t.equal(outcome(await verify(b, ofB)), 'verified')
  t.equal(outcome((await a.api.get(`/v1/domains/${ofA.id}`)).body), 'failed domain_taken')

  // What is left of a's in it neither reads b's mail nor writes in b's name.
  t.strictSame(await taken(inbox.address), ['550 5.1.1', true])
  const send = await a.api.send(inbox.id, { to: 'x@elsewhere.example', subject: 's', body: 'b' })
  t.match(send, { status: 422, body: { error: 'invalid_domain' } })
  t.match(await a.api.post('/v1/inboxes', { domain: 'bigmail.example' }), {
    body: { error: 'invalid_domain' },
  })
  t.equal((await b.api.post('/v1/inboxes', { domain: 'bigmail.example' })).status, 201)
  t.match(await b.api.delete(`/v1/domains/${ofB.id}`), { body: { error: 'domain_has_inboxes' } })

  // The name is free again: who is still there and right has it by itself.
  const { data } = (await b.api.get('/v1/inboxes')).body
  for (const { id } of data) await b.api.delete(`/v1/inboxes/${id}`)
  await a.api.delete(`/v1/inboxes/${inbox.id}`)
  t.equal((await b.api.delete(`/v1/domains/${ofB.id}`)).status, 204)
  publish(dns, ofA)
  clock.advance(2 * day)
  await checkDueDomains(app)
  t.equal(outcome((await a.api.get(`/v1/domains/${ofA.id}`)).body), 'verified')
  t.strictSame(server.faults, [])
})

t.test('what the account merely added does not hide who is verified', async t => {
  const { tenant, add, verify, outcome, taken, dns, api } = await setUp(t)
  await add({ api })
  const a = await tenant()
  const ofA = await add(a)
  publish(dns, ofA)
  t.equal(outcome(await verify(a, ofA)), 'verified')
  const { body } = await a.api.post('/v1/inboxes', { domain: 'bigmail.example', mailboxName: 'ann' })
  t.strictSame(await taken(body.address), [250, true])
  t.equal((await a.api.send(body.id, { to: 'x@elsewhere.example', subject: 's', body: 'b' })).status, 200)
})

t.test('a hold is of the name', async t => {
  const { tenant, add, verify, outcome, dns, app, api } = await setUp(t)
  const [a, b, c] = [await tenant(), await tenant(), await tenant()]
  const [ofA, ofB] = [await add(a), await add(b)]
  await holdDomain(app, 'bigmail.example')
  const refused = { status: 403, body: { error: 'domain_under_review' } }
  t.match(await c.api.post('/v1/domains', { domain: 'bigmail.example' }), refused)
  t.match(await api.post('/v1/domains', { domain: 'bigmail.example' }), refused)
  t.match(await b.api.post(`/v1/domains/${ofB.id}/verify`), refused)
  t.match(await b.api.delete(`/v1/domains/${ofB.id}`), refused)
  await approveDomain(app, ofB.id)
  publish(dns, ofB)
  t.equal(outcome(await verify(b, ofB)), 'verified')
  await holdDomain(app, ofA.id)
  publish(dns, ofA)
  t.match(await a.api.post(`/v1/domains/${ofA.id}/verify`), refused)
})

t.test('a pod has few domains that are not verified', async t => {
  const { tenant, add, verify, dns, api } = await setUp(t, '[limits]\nunverified_domains_per_pod = 3')
  const a = await tenant()
  const names = ['a.example', 'b.example', 'c.example']
  const added: Domain[] = []
  for (const name of names) added.push(await add(a, name))
  const refused = { status: 422, body: { error: 'domain_limit_reached' } }
  t.match(await a.api.post('/v1/domains', { domain: 'd.example' }), refused)
  t.match(await api.post('/v1/domains', { domain: 'd.example', podId: a.pod }), refused)
  publish(dns, added[0]!)
  t.equal((await verify(a, added[0]!)).status, 'verified')
  await add(a, 'd.example')
  t.match(await a.api.post('/v1/domains', { domain: 'e.example' }), refused)
  await a.api.delete(`/v1/domains/${added[1]!.id}`)
  const many = await Promise.all(
    ['e', 'f', 'g', 'h'].map(name => a.api.post('/v1/domains', { domain: `${name}.example` })),
  )
  t.equal(many.filter(({ status }) => status === 201).length, 1, 'one of those at once')
  await add(await tenant(), 'e.example')
  await add({ api }, 'z.example')
})

t.test('moved to a pod that added it, too', async t => {
  const { tenant, add, api } = await setUp(t)
  const [a, b] = [await tenant(), await tenant()]
  const ofA = await add(a)
  await add(b)
  const move = (podId: string | null) => api.patch(`/v1/domains/${ofA.id}`, { podId })
  t.match(await move(b.pod), { status: 409, body: { error: 'domain_exists' } })
  t.match(await move(null), { status: 200, body: { podId: null } })
})

t.test('its states', async t => {
  const server = await setUp(t)
  const { add, verify, outcome, dns, clock, api } = server
  const account = { api }
  const missing = (domain: Domain, purpose: string) => {
    publish(dns, domain)
    const { name, type } = domain.records.find(record => record.purpose === purpose)!
    dns.set(name, type as 'MX', [])
  }

  await t.test('nothing published: pending until it is 72 hours old, however often it is asked', async t => {
    const domain = await add(account, 'nothing.example')
    // What was there before is none of its records.
    dns.set('nothing.example', 'MX', [{ priority: 1, exchange: 'mx.before.example' }])
    dns.set('_dmarc.nothing.example', 'TXT', ['v=DMARC1; p=reject'])
    for (let hours = 0; hours < 72; hours += 24) {
      t.equal(outcome(await verify(account, domain)), 'pending')
      clock.advance(day)
    }
    t.equal(outcome(await verify(account, domain)), 'failed')
    publish(dns, domain)
    t.equal(outcome(await verify(account, domain)), 'verified', 'mended')
  })

  await t.test('DNS says nothing for 72 hours', async t => {
    const domain = await add(account, 'silent.example')
    for (const { name } of domain.records) dns.fail(name, 'SERVFAIL')
    t.equal(outcome(await verify(account, domain)), 'pending')
    clock.advance(3 * day)
    t.equal(outcome(await verify(account, domain)), 'failed')
  })

  for (const purpose of ['mx', 'dkim', 'spf', 'return-path']) {
    await t.test(`some published, ${purpose} not`, async t => {
      const domain = await add(account, `without-${purpose}.example`)
      missing(domain, purpose)
      const checked = await verify(account, domain)
      t.equal(outcome(checked), 'failed')
      const record = checked.records.find(one => one.purpose === purpose)
      t.match(record, { status: 'missing', problem: /^Publish/ })
      publish(dns, domain)
      t.equal(outcome(await verify(account, domain)), 'verified')
      missing(domain, purpose)
      t.equal(outcome(await verify(account, domain)), 'verifying', 'never verified beside what is not right')
      t.equal(outcome(await verify(account, domain)), 'failed')
    })
  }

  await t.test('what was seen and is gone', async t => {
    const domain = await add(account, 'gone.example')
    publish(dns, domain)
    for (const { name } of domain.records.slice(1)) dns.fail(name, 'SERVFAIL')
    t.equal(outcome(await verify(account, domain)), 'pending', 'the others are not known')
    for (const { name, type } of domain.records) {
      dns.clear(name)
      dns.set(name, type as 'MX', [])
    }
    t.equal(outcome(await verify(account, domain)), 'failed')
  })
  t.strictSame(server.faults, [])
})

t.test('a check tells what it found instead', async t => {
  const { add, verify, dns, api, clock } = await setUp(t)
  const domain = await add({ api }, 'theirs.example')
  const found = ({ records }: Domain) =>
    Object.fromEntries(records.map(one => [one.purpose, [one.found, one.problem === null]]))
  t.strictSame(found(domain).mx, [[], false])
  publish(dns, domain)
  dns.set('theirs.example', 'MX', [{ priority: 5, exchange: 'mx.other.example' }])
  dns.set('mailboxd._domainkey.theirs.example', 'TXT', ['v=DKIM1; p=QUJD'])
  dns.set('bounce.theirs.example', 'TXT', [
    ...Array.from({ length: 30 }, (_, index) => `x${index}`),
    `v=spf1 -all ${'x'.repeat(1000)}`,
  ])
  const checked = await verify({ api }, domain)
  t.strictSame(found(checked).mx, [['5 mx.other.example'], false])
  t.strictSame(found(checked).dkim, [['v=DKIM1; p=QUJD'], false])
  t.strictSame(found(checked).dmarc, [['v=DMARC1; p=none'], true])
  t.equal(checked.records.find(one => one.purpose === 'spf')?.found.length, 10, 'bounded')
  t.strictSame((await api.get(`/v1/domains/${domain.id}`)).body, checked, 'and it is shown later')
  publish(dns, domain)
  clock.advance(minute)
  const right = await verify({ api }, domain)
  t.strictSame(
    right.records.map(one => one.problem),
    [null, null, null, null, null, null],
  )
})
