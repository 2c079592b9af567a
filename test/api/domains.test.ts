import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { operator } from '../../lib/core/app/caller.ts'
import { checkDueDomains } from '../../lib/core/domains/checks.ts'
import {
  approveDomain,
  deleteDomain,
  getDomain,
  holdDomain,
  listDomains,
} from '../../lib/core/domains/domains.ts'
import { isDeliveredHere } from '../../lib/core/domains/usable.ts'
import type { Domain } from '../../lib/model/domain.ts'
import { sweep, sweeps } from '../../lib/upkeep.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { startDns, type TestDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'
import { until } from '../support/until.ts'

const minute = 60_000
const day = 86_400_000

async function setUp(t: Test): Promise<ApiApp & { dns: TestDns }> {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  return { ...(await startApi(t, { dns: dns.server })), dns }
}

const statuses = ({ records }: Domain) =>
  Object.fromEntries(records.map(({ purpose, status }) => [purpose, status]))

async function events({ app }: ApiApp) {
  const rows = await app.store.read.selectFrom('event').selectAll().orderBy('id').execute()
  return rows.filter(row => row.type.startsWith('domain.'))
}

t.test('a domain is added, published, verified and used', async t => {
  const server = await setUp(t)
  const { api, dns, app } = server
  const made = await api.post('/v1/domains', { domain: 'Bücher.Example' })
  t.match(made, {
    status: 201,
    body: { domain: 'xn--bcher-kva.example', podId: null, status: 'pending', warnings: [], verifiedAt: null },
  })
  const domain: Domain = made.body
  t.ok(domain.updatedAt >= domain.createdAt)
  t.strictSame(
    domain.records.map(({ type, name, priority, purpose, status }) => [
      type,
      name,
      priority,
      purpose,
      status,
    ]),
    [
      ['MX', 'xn--bcher-kva.example', 10, 'mx', 'missing'],
      ['TXT', 'mailboxd._domainkey.xn--bcher-kva.example', null, 'dkim', 'missing'],
      ['MX', 'bounce.xn--bcher-kva.example', 10, 'return-path', 'missing'],
      ['TXT', 'bounce.xn--bcher-kva.example', null, 'spf', 'missing'],
      ['TXT', '_dmarc.xn--bcher-kva.example', null, 'dmarc', 'missing'],
      ['TXT', 'mailboxd-ed25519._domainkey.xn--bcher-kva.example', null, 'dkim-ed25519', 'missing'],
    ],
  )
  const use = { mailboxName: 'sales', domain: 'bücher.example' }
  t.match(await api.post('/v1/inboxes', use), { status: 400, body: { error: 'invalid_domain' } })
  t.equal(
    await isDeliveredHere(app, app.store.read, 'x@xn--bcher-kva.example'),
    false,
    'who merely adds a domain gets no mail of it',
  )

  t.match(await api.post(`/v1/domains/${domain.id}/verify`), { status: 200, body: { status: 'pending' } })
  publish(dns, domain)
  const verified = await api.post(`/v1/domains/${domain.id}/verify`)
  t.equal(verified.body.status, 'verified')
  t.ok(verified.body.verifiedAt > domain.createdAt && verified.body.updatedAt >= verified.body.verifiedAt)
  t.strictSame(new Set(Object.values(statuses(verified.body))), new Set(['valid']))
  t.strictSame((await api.get(`/v1/domains/${domain.id}`)).body, verified.body)
  t.match(await api.post('/v1/inboxes', use), {
    status: 201,
    body: { address: 'sales@xn--bcher-kva.example' },
  })
  t.equal(await isDeliveredHere(app, app.store.read, 'x@xn--bcher-kva.example'), true)
  const [event, ...others] = await events(server)
  t.match(event, { type: 'domain.verified', podId: null, inboxId: null })
  t.match(JSON.parse(event!.payload), { domainId: domain.id, domain: domain.domain })
  await api.post(`/v1/domains/${domain.id}/verify`)
  t.strictSame([others.length, (await events(server)).length], [0, 1], 'it is told once')
  t.match(await api.delete(`/v1/domains/${domain.id}`), {
    status: 422,
    body: { error: 'domain_has_inboxes' },
  })
  const { data } = (await api.get('/v1/inboxes')).body
  for (const inbox of data.filter((one: { address: string }) => one.address.startsWith('sales@'))) {
    await api.delete(`/v1/inboxes/${inbox.id}`)
  }
  t.equal((await api.delete(`/v1/domains/${domain.id}`)).status, 204)
  t.equal((await api.delete(`/v1/domains/${domain.id}`)).status, 404)
  t.strictSame(server.faults, [])
})

t.test('what can not be added', async t => {
  const { api } = await setUp(t)
  const add = async (body: unknown) => {
    const { status, body: answer } = await api.post('/v1/domains', body)
    return `${status} ${answer.error ?? answer.domain}`
  }
  for (const domain of [
    'com',
    'co.uk',
    'GitHub.io',
    'localhost',
    'ann@example.com',
    '192.0.2.1',
    '[192.0.2.1]',
    '2001:db8::1',
    'mail.ours.example',
    'MAIL.ours.example',
    'bounce.theirs.example',
    'a..example',
    '-a.example',
    'a_b.example',
    'example.com.',
    'example.com/x',
    ' ',
    '',
    `${'a.'.repeat(120)}example.com`,
  ]) {
    t.equal(await add({ domain }), '422 invalid_domain', JSON.stringify(domain))
  }
  for (const body of [
    {},
    { domain: 1 },
    { domain: null },
    { domain: 'a.example', x: 1 },
    { domain: 'a'.repeat(256) },
    { domain: 'x\0.example' },
    { domain: '\ud800.example' },
  ]) {
    t.equal(await add(body), '400 invalid_request', JSON.stringify(body))
  }
  t.equal(await add({ domain: 'ours.example' }), '409 domain_exists', "the account's own")
  t.equal(await add({ domain: 'theirs.example', podId: 'nobodys' }), '400 invalid_pod')
  t.equal(await add({ domain: 'theirs.example' }), '201 theirs.example')
  t.equal(await add({ domain: 'THEIRS.example' }), '409 domain_exists')
  t.equal(await add({ domain: 'agents.theirs.example' }), '201 agents.theirs.example')
  t.equal(await add({ domain: 'bounce.example' }), '201 bounce.example', 'a name like any other')
  const both = await Promise.all(Array.from({ length: 8 }, () => add({ domain: 'race.example' })))
  t.equal(both.filter(one => one.startsWith('201')).length, 1, 'one of those at once')
})

t.test('a pod key manages the domains of its pod, and sees no other', async t => {
  const { api, apiWith, app, dns } = await setUp(t)
  const pod = (await api.post('/v1/pods', { clientId: 'acme' })).body.id
  const other = (await api.post('/v1/pods', {})).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  const shared = (await api.post('/v1/domains', { domain: 'shared.example' })).body
  const own = await podApi.post('/v1/domains', { domain: 'acme.example' })
  t.match(own, { status: 201, body: { podId: pod } })
  t.match(await podApi.post('/v1/domains', { domain: 'x.example', podId: 'acme' }), {
    status: 201,
    body: { podId: pod },
  })
  t.match(await podApi.post('/v1/domains', { domain: 'y.example', podId: other }), {
    body: { error: 'invalid_pod' },
  })
  const unsaid = await podApi.post('/v1/domains', { domain: 'y.example', podId: null })
  t.match(unsaid, { status: 201, body: { podId: pod } }, 'null says nothing')
  await podApi.delete(`/v1/domains/${unsaid.body.id}`)
  const names = async (one: typeof api, query = '') => {
    const { body } = await one.get(`/v1/domains${query}`)
    return [body.total, ...body.data.map((domain: Domain) => domain.domain)]
  }
  t.strictSame(await names(podApi), [2, 'x.example', 'acme.example'])
  t.strictSame(
    await names(api),
    [3, 'x.example', 'acme.example', 'shared.example'],
    "without the account's own",
  )
  t.strictSame(await names(api, '?limit=1&offset=1'), [3, 'acme.example'])
  t.equal((await podApi.get(`/v1/domains/${shared.id}`)).status, 404)
  t.equal((await podApi.post(`/v1/domains/${shared.id}/verify`)).status, 404)
  t.equal((await podApi.delete(`/v1/domains/${shared.id}`)).status, 404)
  const all = (await listDomains(app, operator, { limit: 10, offset: 0 })).rows
  const accounts = all.find(one => one.domain === 'ours.example')!
  t.equal((await api.get(`/v1/domains/${accounts.id}`)).status, 404)
  t.match(await api.delete(`/v1/pods/${pod}`), { status: 409, body: { error: 'pod_has_domains' } })

  // Whose inboxes can use it.
  publish(dns, own.body)
  t.equal((await podApi.post(`/v1/domains/${own.body.id}/verify`)).body.status, 'verified')
  const inbox = (podId: string) => api.post('/v1/inboxes', { domain: 'acme.example', podId })
  t.match(await inbox(other), { status: 400, body: { error: 'invalid_domain' } })
  const made = await inbox(pod)
  t.equal(made.status, 201)
  const move = (podId: string | null) => api.patch(`/v1/domains/${own.body.id}`, { podId })
  t.match(await move(other), { status: 409, body: { error: 'domain_in_use' } })
  t.match(await move('nobodys'), { status: 400, body: { error: 'invalid_pod' } })
  t.match(await move(null), { status: 200, body: { podId: null, status: 'verified' } })
  t.equal((await podApi.get(`/v1/domains/${own.body.id}`)).status, 404)
  t.match(await move('acme'), { status: 200, body: { podId: pod } })
  await api.delete(`/v1/inboxes/${made.body.id}`)
  t.match(await move(other), { status: 200, body: { podId: other } })
  t.match(await api.patch(`/v1/domains/${own.body.id}`, {}), { status: 200, body: { podId: other } })
  t.equal((await api.patch(`/v1/domains/${own.body.id}`, { podId: 1 })).status, 400)
})

t.test('checked by itself: every minute, then at growing gaps, and once a day when verified', async t => {
  const server = await setUp(t)
  const { api, app, clock, dns } = server
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  t.equal(await checkDueDomains(app), 0)
  clock.advance(minute)
  t.equal(await checkDueDomains(app), 1)
  t.equal(await checkDueDomains(app), 0)
  const gaps: number[] = []
  for (const hours of [1, 10, 60]) {
    clock.advance(hours * 3_600_000)
    await checkDueDomains(app)
    const row = await app.store.read
      .selectFrom('domain')
      .selectAll()
      .where('id', '=', domain.id)
      .executeTakeFirst()
    gaps.push(Math.round((Date.parse(row!.nextCheckAt!) - clock.now().getTime()) / minute))
  }
  t.strictSame(gaps, [6, 66, 426])
  t.equal((await getDomain(app, operator, domain.id)).status, 'pending')
  clock.advance(day)
  await checkDueDomains(app)
  t.equal((await getDomain(app, operator, domain.id)).status, 'failed', 'after three days')
  t.strictSame(
    (await events(server)).map(one => one.type),
    ['domain.failed'],
  )
  t.match(await api.post(`/v1/domains/${domain.id}/verify`), { body: { status: 'failed' } })
  t.equal((await events(server)).length, 1)
  publish(dns, domain)
  clock.advance(minute)
  t.equal(await checkDueDomains(app), 1, 'who asks starts the minutes anew')
  t.equal((await getDomain(app, operator, domain.id)).status, 'verified')
  clock.advance(day - minute)
  t.equal(await checkDueDomains(app), 0)

  // It loses its records, twice.
  const inbox = (await api.post('/v1/inboxes', { domain: 'theirs.example' })).body
  dns.set('theirs.example', 'MX', [{ priority: 1, exchange: 'mx.other.example' }])
  clock.advance(minute)
  t.equal(await checkDueDomains(app), 1)
  t.match(await getDomain(app, operator, domain.id), { status: 'verifying' }, 'the next check decides')
  t.match(statuses(await getDomain(app, operator, domain.id)), { mx: 'invalid', dkim: 'valid' })
  clock.advance(day)
  t.equal(await checkDueDomains(app), 1)
  const failed = await getDomain(app, operator, domain.id)
  t.equal(failed.status, 'failed')
  t.strictSame(
    (await events(server)).map(one => one.type),
    ['domain.failed', 'domain.verified', 'domain.failed'],
  )
  t.equal((await api.post('/v1/inboxes', { domain: 'theirs.example' })).body.error, 'invalid_domain')
  t.equal(await isDeliveredHere(app, app.store.read, inbox.address), true, 'its inboxes keep receiving')
  t.equal(
    await isDeliveredHere(app, app.store.read, `stranger@theirs.example`),
    false,
    'others may have moved with the MX',
  )
  publish(dns, domain)
  clock.advance(minute)
  await checkDueDomains(app)
  t.equal((await getDomain(app, operator, domain.id)).status, 'verified')
  t.strictSame(server.faults, [])
})

t.test('one loss between two good checks is none', async t => {
  const { api, dns } = await setUp(t)
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  const verify = async () => (await api.post(`/v1/domains/${domain.id}/verify`)).body.status
  publish(dns, domain)
  t.equal(await verify(), 'verified')
  for (let turn = 0; turn < 3; turn++) {
    dns.set('theirs.example', 'MX', [])
    t.equal(await verify(), 'verifying')
    publish(dns, domain)
    t.equal(await verify(), 'verified')
  }
  dns.set('theirs.example', 'MX', [])
  const together = await Promise.all([verify(), verify(), verify()])
  t.strictSame(
    together,
    ['verifying', 'verifying', 'verifying'],
    'what is found at the same time is one loss',
  )
  t.equal(await verify(), 'failed')
})

t.test('a DNS that does not answer takes nothing away and proves nothing', async t => {
  const { api, dns } = await setUp(t)
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  const verify = async () => (await api.post(`/v1/domains/${domain.id}/verify`)).body as Domain
  publish(dns, domain)
  const names = [...new Set(domain.records.map(record => record.name))]
  for (const name of names) if (!name.startsWith('_dmarc')) dns.fail(name, 'SERVFAIL')
  const unknown = await verify()
  t.match(unknown, { status: 'pending' })
  t.match(statuses(unknown), { mx: 'missing', dkim: 'missing', spf: 'missing', dmarc: 'valid' })
  for (const name of names) dns.clear(name)
  dns.fail('mail.ours.example', 'SERVFAIL')
  t.match(statuses(await verify()), { spf: 'missing', mx: 'valid' }, 'SPF can not be evaluated')
  dns.clear('mail.ours.example')
  t.equal((await verify()).status, 'verified')
  for (const name of names) dns.fail(name, 'SERVFAIL')
  for (let turn = 0; turn < 3; turn++) {
    const kept = await verify()
    t.equal(kept.status, 'verified')
    t.strictSame(new Set(Object.values(statuses(kept))), new Set(['valid']))
  }
  // Two losses with such a time between them are two in a row.
  for (const name of names) dns.clear(name)
  dns.set('theirs.example', 'MX', [])
  t.equal((await verify()).status, 'verifying')
  dns.fail('theirs.example', 'SERVFAIL')
  t.equal((await verify()).status, 'verifying')
  dns.clear('theirs.example')
  t.equal((await verify()).status, 'failed')
  // A kept `valid` with the rest right is no verification.
  publish(dns, domain)
  dns.fail('theirs.example', 'SERVFAIL')
  t.equal((await verify()).status, 'failed')
  dns.clear('theirs.example')
  t.equal((await verify()).status, 'verified')
})

t.test('a competing MX is warned of', async t => {
  const { api, dns } = await setUp(t)
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  publish(dns, domain)
  dns.set('theirs.example', 'MX', [
    { priority: 10, exchange: 'MAIL.ours.Example' },
    { priority: 10, exchange: 'Alt1.Other.example' },
    { priority: 5, exchange: 'mx.other.example' },
    { priority: 20, exchange: 'backup.other.example' },
  ])
  const { body } = await api.post(`/v1/domains/${domain.id}/verify`)
  t.match(body, {
    status: 'verified',
    warnings: [{ code: 'competing_mx', message: /higher priority number/ }],
  })
  t.strictSame(body.warnings[0].hosts, ['alt1.other.example', 'mx.other.example'])
  dns.fail('theirs.example', 'SERVFAIL')
  t.equal((await api.post(`/v1/domains/${domain.id}/verify`)).body.warnings.length, 1, 'kept while unknown')
  dns.clear('theirs.example')
  publish(dns, domain)
  t.strictSame((await api.post(`/v1/domains/${domain.id}/verify`)).body.warnings, [])
})

t.test('under review nothing moves but by the operator', async t => {
  const { api, app, clock, dns } = await setUp(t)
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  publish(dns, domain)
  await api.post(`/v1/domains/${domain.id}/verify`)
  await t.rejects(approveDomain(app, 'theirs.example'), { code: 'invalid_request' })
  t.match(await holdDomain(app, 'theirs.example'), { status: 'under_review' })
  const refused = { status: 403, body: { error: 'domain_under_review' } }
  t.match(await api.post(`/v1/domains/${domain.id}/verify`), refused)
  t.match(await api.patch(`/v1/domains/${domain.id}`, { podId: null }), refused)
  t.match(await api.delete(`/v1/domains/${domain.id}`), refused)
  t.match(await api.post('/v1/inboxes', { domain: 'theirs.example' }), { status: 400 })
  t.match(await api.get(`/v1/domains/${domain.id}`), { status: 200, body: { status: 'under_review' } })
  clock.advance(2 * day)
  t.equal(await checkDueDomains(app), 0)
  const row = () =>
    app.store.read.selectFrom('domain').selectAll().where('id', '=', domain.id).executeTakeFirst()
  await app.store.write(db =>
    db.updateTable('domain').set({ losses: 2, problem: 'x' }).where('id', '=', domain.id).execute(),
  )
  t.match(await approveDomain(app, domain.id), { status: 'pending' })
  t.match(await row(), { losses: 0, problem: null }, 'what was counted before says nothing now')
  await sweep(app, sweeps.find(one => one.run === checkDueDomains)!)
  t.equal((await getDomain(app, operator, domain.id)).status, 'verified')
  await holdDomain(app, domain.id)
  await deleteDomain(app, operator, domain.id)
  t.equal((await api.get(`/v1/domains/${domain.id}`)).status, 404)
})

t.test('while nothing can be written, a sweep looks at each domain once', async t => {
  const { api, app, clock, dns, faults } = await setUp(t)
  for (const domain of ['a.example', 'b.example', 'c.example']) {
    publish(dns, (await api.post('/v1/domains', { domain })).body)
  }
  clock.advance(2 * day)
  await app.store.write(db =>
    sql`create trigger full before update on domain begin select raise(abort, 'the disk is full'); end`.execute(
      db,
    ),
  )
  await sweep(app, sweeps.find(one => one.run === checkDueDomains)!)
  const said = [...faults]
  t.equal(said.length, 3, 'each is told once, and the sweep has ended')
  for (const line of said)
    t.match(line, /domain check failed.*the disk is full|the disk is full.*domain check failed/)
  await app.store.write(db => sql`drop trigger full`.execute(db))
  t.equal(await checkDueDomains(app), 3, 'they are due as before')
  t.equal(faults.length, 3)
})

t.test('while it is checked it is verifying', async t => {
  const { api, dns } = await setUp(t)
  const domain: Domain = (await api.post('/v1/domains', { domain: 'theirs.example' })).body
  publish(dns, domain)
  dns.fail('theirs.example', 'timeout')
  const checking = api.post(`/v1/domains/${domain.id}/verify`)
  await until(
    'verifying',
    async () => (await api.get(`/v1/domains/${domain.id}`)).body.status === 'verifying',
  )
  // Its name server never answers; without a bound of its own the check would not end.
  t.match(await checking, { status: 200, body: { status: 'pending' } })
  t.match(statuses((await api.get(`/v1/domains/${domain.id}`)).body), {
    mx: 'missing',
    dkim: 'valid',
    spf: 'valid',
  })
})
