import t from 'tap'
import { startDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'
import { startSpecified, unlike } from '../support/specified.ts'

const dns = await startDns({})
t.teardown(() => dns.close())
const it = await startSpecified(t, { dns: dns.server })
const { api } = it

interface Record {
  readonly type: string
  readonly name: string
  readonly value: string
  readonly priority: number | null
  readonly purpose: string
  readonly status: string
}

t.test('domains', async t => {
  const made = await api.post('/v1/domains', { domain: 'Acme.example' })
  t.equal(made.status, 201, 'POST {domain, podId?} → 201 Domain')
  const { id } = made.body
  for (const name of [
    'id',
    'domain',
    'podId',
    'status',
    'records',
    'warnings',
    'verifiedAt',
    'createdAt',
    'updatedAt',
  ]) {
    t.ok(name in made.body, `Domain: ${name}`)
  }
  t.match(
    made.body,
    { domain: 'acme.example', podId: null, status: 'pending', warnings: [], verifiedAt: null },
    '`pending` until a first check saw any of its records',
  )
  const of = (domain: { records: Record[] }, purpose: string) =>
    domain.records.find(one => one.purpose === purpose)!
  for (const record of made.body.records) {
    t.strictSame(
      ['type', 'name', 'value', 'priority', 'purpose', 'status'].filter(name => !(name in record)),
      [],
      `DomainRecord ${record.purpose}: its fields`,
    )
    t.equal(record.status, 'missing', `${record.purpose}: \`missing\` (not found yet)`)
    t.equal(record.priority === null, record.type !== 'MX', 'priority: MX records only')
  }
  t.match(
    of(made.body, 'mx'),
    { type: 'MX', name: 'acme.example', value: 'mail.ours.example', priority: 10 },
    "MX <domain> → the server's hostname, priority 10 (`mx`)",
  )
  t.match(
    of(made.body, 'dkim'),
    { type: 'TXT', name: /^[^.]+\._domainkey\.acme\.example$/, value: /v=DKIM1;.*p=[A-Za-z0-9+/=]{300,}/ },
    'TXT `<selector>._domainkey.<domain>` with an RSA-2048 key of its own (`dkim`)',
  )
  t.match(
    of(made.body, 'return-path'),
    { type: 'MX', name: 'bounce.acme.example' },
    'MX at `bounce.<domain>` (`return-path`)',
  )
  t.match(
    of(made.body, 'spf'),
    { type: 'TXT', name: 'bounce.acme.example', value: /^v=spf1 / },
    'TXT SPF at `bounce.<domain>` (`spf`)',
  )
  t.match(
    of(made.body, 'dmarc'),
    { type: 'TXT', name: '_dmarc.acme.example', value: 'v=DMARC1; p=none' },
    'TXT `_dmarc.<domain>` `v=DMARC1; p=none`',
  )
  const early = await api.post('/v1/inboxes', { domain: 'acme.example' })
  t.match(
    [early.status, early.body.error],
    [400, 'invalid_domain'],
    'create inbox 400 `invalid_domain` (not verified)',
  )
  t.match(early.body.message, /verified/, 'a domain that is not verified yet is called so')
  const nothing = await api.post(`/v1/domains/${id}/verify`)
  t.match(
    [nothing.status, nothing.body.status],
    [200, 'pending'],
    'verify before anything is published: `pending`',
  )
  t.ok(
    nothing.body.records.every((one: object) => 'found' in one && 'problem' in one),
    'the answer of verify tells per record what was found (`found`, `problem`)',
  )
  const dkim = of(made.body, 'dkim')
  publish(dns, made.body)
  dns.set(dkim.name, 'TXT', ['v=DKIM1; p=AAAA'])
  const wrong = await api.post(`/v1/domains/${id}/verify`)
  t.match(
    of(wrong.body, 'dkim'),
    { status: 'invalid', found: ['v=DKIM1; p=AAAA'], problem: String },
    '`invalid` (found but wrong): what was found',
  )
  t.equal(of(wrong.body, 'mx').status, 'valid', '`valid` (published and correct)')
  t.not(wrong.body.status, 'verified', '"verified" is never said beside an invalid required record')
  dns.set(dkim.name, 'TXT', [])
  const lost = await api.post(`/v1/domains/${id}/verify`)
  t.equal(lost.body.status, 'failed', '`failed` when a check finds a record missing after some were seen')
  publish(dns, made.body)
  dns.set('_dmarc.acme.example', 'TXT', ['v=DMARC1; p=reject'])
  const verified = await api.post(`/v1/domains/${id}/verify`)
  t.equal(verified.body.status, 'verified', 'a failed one that is mended becomes `verified` by verify')
  t.match(verified.body.verifiedAt, /Z$/, 'verifiedAt')
  t.equal(of(verified.body, 'dmarc').status, 'valid', 'a DMARC record of any policy is valid')
  const inbox = await api.post('/v1/inboxes', { domain: 'acme.example', mailboxName: 'sales' })
  t.match(
    [inbox.status, inbox.body.address],
    [201, 'sales@acme.example'],
    'a verified custom domain of the account may be given',
  )
  t.match(
    (await api.post('/v1/inboxes', {})).body.address,
    /@ours\.example$/,
    'the account default never switches',
  )
  const used = await api.delete(`/v1/domains/${id}`)
  t.match([used.status, used.body.error], [422, 'domain_has_inboxes'], '422 `domain_has_inboxes`')
  dns.set('acme.example', 'MX', [
    { priority: 10, exchange: 'mail.ours.example' },
    { priority: 5, exchange: 'MX.Other.example' },
  ])
  const competing = await api.post(`/v1/domains/${id}/verify`)
  t.match(
    competing.body.warnings,
    [{ code: 'competing_mx', message: String, hosts: ['mx.other.example'] }],
    '`competing_mx`: hosts lowercase, no trailing dot',
  )
  t.strictSame(
    unlike(competing.body.warnings[0], ['code', 'message', 'hosts']),
    [],
    'DomainWarning: code, message, hosts',
  )
  t.equal(competing.body.status, 'verified', 'warnings do not block verification')
  dns.set('acme.example', 'MX', [
    { priority: 10, exchange: 'mail.ours.example' },
    { priority: 20, exchange: 'mx.other.example' },
  ])
  t.strictSame(
    (await api.post(`/v1/domains/${id}/verify`)).body.warnings,
    [],
    'the fix: a higher priority number',
  )
  dns.set(of(made.body, 'spf').name, 'TXT', ['v=spf1 include:other.example +all'])
  dns.set('other.example', 'TXT', ['v=spf1 -all'])
  t.equal(
    of((await api.post(`/v1/domains/${id}/verify`)).body, 'spf').status,
    'valid',
    'an SPF record that evaluates to pass for our addresses is valid',
  )

  const got = await api.get(`/v1/domains/${id}`)
  t.match([got.status, got.body.id], [200, id], 'GET /{id}')
  t.match(
    (await api.get('/v1/domains?domain=acme.example')).body,
    { total: 1, data: [{ id }] },
    '`GET /v1/domains?domain=`',
  )
  const list = (await api.get('/v1/domains?limit=1')).body
  t.ok(list.data.length === 1 && list.total >= 1, '`GET` list (limit/offset, total)')
  const events = (await api.get('/v1/events?type=domain.verified')).body.data
  t.match(events, [{ event: 'domain.verified', data: {} }], '`domain.verified`, with `data`')
  t.equal((await api.get('/v1/events?type=domain.failed')).body.data.length, 1, '`domain.failed`')

  const refused = async (body: object, status: number, error: string, sentence: string) => {
    const answer = await api.post('/v1/domains', body)
    t.match([answer.status, answer.body], [status, { error, message: String }], sentence)
  }
  await refused({ domain: 'acme.example' }, 409, 'domain_exists', '409 `domain_exists`')
  await refused({ domain: 'ann@acme2.example' }, 422, 'invalid_domain', '422 `invalid_domain`: an address')
  await refused({ domain: 'co.uk' }, 422, 'invalid_domain', 'a public suffix')
  await refused({ domain: 'mail.ours.example' }, 422, 'invalid_domain', "the server's own name")
  await refused({ domain: 'localhost' }, 422, 'invalid_domain', 'not a registrable name')
  await refused({ domain: '127.0.0.1' }, 422, 'invalid_domain', 'not a registrable name: an IP address')
  await refused({}, 400, 'invalid_request', 'domain is required')

  const pod = (await api.post('/v1/pods', { clientId: 'p' })).body
  const tenant = it.as((await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token)
  t.equal((await tenant.get(`/v1/domains/${id}`)).status, 404, "a pod key manages its pod's domains only")
  const own = await tenant.post('/v1/domains', { domain: 'tenant.example' })
  t.match([own.status, own.body.podId], [201, pod.id], 'a pod key adds domains to its pod')
  t.equal(
    (await tenant.patch(`/v1/domains/${own.body.id}`, { podId: null })).status,
    403,
    'PATCH: account key only',
  )
  const taken = await api.patch(`/v1/domains/${id}`, { podId: pod.id })
  t.match(
    [taken.status, taken.body.error],
    [409, 'domain_in_use'],
    '409 `domain_in_use` when inboxes of other pods use it',
  )
  t.equal(
    (await api.patch(`/v1/domains/${own.body.id}`, { podId: null })).body.podId,
    null,
    'PATCH {podId|null}',
  )
  t.equal(
    (await api.patch(`/v1/domains/${own.body.id}`, { podId: 'p' })).body.podId,
    pod.id,
    'podId may be a clientId',
  )
  publish(dns, own.body)
  t.equal(
    (await tenant.post(`/v1/domains/${own.body.id}/verify`)).body.status,
    'verified',
    'and verifies them',
  )
  t.match(
    (await api.post('/v1/inboxes', { domain: 'tenant.example' })).body.error,
    'invalid_domain',
    'only inboxes in that pod can use it',
  )
  t.equal((await tenant.post('/v1/inboxes', { domain: 'tenant.example' })).status, 201, 'which they can')

  const second = (await api.post('/v1/pods', {})).body
  const rival = it.as((await api.post(`/v1/pods/${second.id}/api-keys`, {})).body.token)
  const [one, two] = await Promise.all(
    [tenant, rival].map(each => each.post('/v1/domains', { domain: 'both.example' })),
  )
  t.strictSame([one!.status, two!.status], [201, 201], 'several pods may add one unverified domain')
  publish(dns, two!.body)
  t.equal(
    (await rival.post(`/v1/domains/${two!.body.id}/verify`)).body.status,
    'verified',
    'the first that verifies has it',
  )
  t.equal((await tenant.get(`/v1/domains/${one!.body.id}`)).body.status, 'failed', 'the others get `failed`')
  t.match(
    JSON.stringify((await api.get('/v1/events?type=domain.failed')).body.data),
    /domain_taken/,
    'with `domain_taken`',
  )
  for (let n = 0; n < 20; n++) await rival.post('/v1/domains', { domain: `n${n}.example` })
  t.not(
    (await rival.post('/v1/domains', { domain: 'more.example' })).status,
    201,
    'a pod has at most 20 unverified domains',
  )
  await it.daemon.ctl('domain', 'hold', 'tenant.example')
  t.equal(
    (await api.get(`/v1/domains/${own.body.id}`)).body.status,
    'under_review',
    'the operator can hold a domain `under_review`',
  )
  const held = await api.post(`/v1/domains/${own.body.id}/verify`)
  t.match([held.status, held.body.error], [403, 'domain_under_review'], '403 `domain_under_review`')
  t.equal((await api.delete(`/v1/domains/${one!.body.id}`)).status, 204, '`DELETE /{id}` → 204')
  t.equal((await api.get(`/v1/domains/${one!.body.id}`)).status, 404, 'and it is gone')
})
