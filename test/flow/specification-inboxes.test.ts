import t from 'tap'
import { startSpecified, unlike } from '../support/specified.ts'

const it = await startSpecified(t, {
  toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]',
})
const { api } = it
const nowhere = '0193e2a4-0000-7000-8000-000000000000'

t.test('inboxes', async t => {
  const random = await api.post('/v1/inboxes', {})
  t.equal(random.status, 201, 'create 201')
  t.match(
    random.body.address,
    /^[a-z0-9]{8}@ours\.example$/,
    'random names: 8 characters a–z0–9; domain defaults to the account domain',
  )
  t.match(random.body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, 'ids are UUID version 7')
  t.match(
    random.body.createdAt,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    'ISO 8601 with milliseconds and Z',
  )
  t.notOk('webhookSecret' in random.body, 'webhookSecret stands in a response only when it was just made')
  for (const name of [
    'id',
    'podId',
    'address',
    'displayName',
    'webhookUrl',
    'forwardTo',
    'forwardWhen',
    'forwardStatus',
    'createdAt',
  ]) {
    t.ok(name in random.body, `Inbox: ${name}`)
  }
  const pods = (await api.get('/v1/pods')).body
  t.equal(random.body.podId, pods.data[0].id, 'default pod when none was given at creation')
  const named = await api.post('/v1/inboxes', {
    mailboxName: 'Ann.Bell',
    displayName: 'Ann',
    webhookUrl: 'http://127.0.0.1:9/',
  })
  t.match(
    named.body,
    {
      address: 'ann.bell@ours.example',
      displayName: 'Ann',
      webhookUrl: 'http://127.0.0.1:9/',
      webhookSecret: /^whsec_/,
    },
    'a signing secret is generated and returned once',
  )
  const nulls = Object.fromEntries(
    [
      'mailboxName',
      'displayName',
      'domain',
      'webhookUrl',
      'forwardTo',
      'forwardWhen',
      'podId',
      'clientId',
    ].map(name => [name, null]),
  )
  const empty = await api.post('/v1/inboxes', nulls)
  t.equal(empty.status, 201, `null for an optional field means "not given": ${JSON.stringify(empty.body)}`)

  const refused = async (body: unknown, status: number, error: string, sentence: string) => {
    const answer = await api.post('/v1/inboxes', body)
    t.match([answer.status, answer.body], [status, { error, message: String }], sentence)
    return answer.body
  }
  for (const mailboxName of ['ab', 'a'.repeat(31), 'a..b', '-abc', 'abc-', 'a b c', 'ä-b-c', 'a+bc']) {
    await refused(
      { mailboxName },
      400,
      'invalid_mailbox_name',
      `Mailbox name does not meet format: ${mailboxName}`,
    )
  }
  t.equal((await api.post('/v1/inboxes', { mailboxName: 'abc' })).status, 201, 'length 3')
  t.equal((await api.post('/v1/inboxes', { mailboxName: 'z'.repeat(30) })).status, 201, 'to 30')
  await refused({ mailboxName: 'ann.bell' }, 409, 'address_taken', 'Mailbox name or address in use')
  for (const mailboxName of [
    'postmaster',
    'abuse',
    'hostmaster',
    'webmaster',
    'admin',
    'root',
    'mailer-daemon',
    'noreply',
    'no-reply',
    'bounces',
    'dmarc-reports',
    'tls-reports',
    'security',
  ]) {
    await refused({ mailboxName }, 409, 'address_taken', `reserved mailbox name: ${mailboxName}`)
  }
  await refused({ domain: 'elsewhere.example' }, 400, 'invalid_domain', '400 `invalid_domain` (not ours)')
  await refused(
    { podId: 'nobody' },
    400,
    'invalid_pod',
    'podId matches no pod of the account: 400 `invalid_pod`',
  )
  await refused({ podId: nowhere }, 400, 'invalid_pod', '400 `invalid_pod`')
  await refused({ displayName: 'a'.repeat(201) }, 400, 'invalid_request', 'displayName: max 200')
  t.equal((await api.post('/v1/inboxes', { displayName: 'a'.repeat(200) })).status, 201, 'displayName of 200')
  await refused({ webhookUrl: 'nonsense' }, 422, 'invalid_webhook_url', 'webhookUrl failed validation')
  await refused({ forwardTo: 'nobody' }, 422, 'invalid_forward_to', '`invalid_forward_to`')
  await refused(
    { forwardTo: 'a@localhost' },
    422,
    'invalid_forward_to',
    '`forwardTo: a@localhost` is refused',
  )
  await refused(
    { forwardTo: 'ann.bell@ours.example' },
    422,
    'forward_to_is_service_address',
    '`forward_to_is_service_address`',
  )
  await refused(
    { forwardTo: 'a@theirs.example', forwardWhen: 'never' },
    422,
    'invalid_forward_when',
    '`invalid_forward_when`',
  )
  await refused(
    { forwardWhen: 'always' },
    422,
    'forward_when_requires_forward_to',
    '`forward_when_requires_forward_to`',
  )
  const unknown = await refused({ displayname: 'x' }, 400, 'invalid_request', 'no extra properties')
  t.match(unknown.message, /did you mean.*displayName/i, 'unknown properties get "did you mean"')
  const two = await refused({ displayname: 'x', mailboxName: 3 }, 400, 'invalid_request', 'a wrong type')
  t.equal(two.details.length, 2, 'every fault in a sentence of its own in `details`')
  t.match(
    two.message,
    /displayname[\s\S]*mailboxName|mailboxName[\s\S]*displayname/,
    'all of them in `message` up to three',
  )
  await refused('{"mailboxName":', 400, 'invalid_request', 'malformed JSON gets 400')

  const forwarding = await api.post('/v1/inboxes', { forwardTo: 'me@theirs.example' })
  t.match(
    forwarding.body,
    { forwardTo: 'me@theirs.example', forwardWhen: 'always', forwardStatus: 'pending' },
    'any other address: `pending`; forwardWhen: `always` (default)',
  )
  const soon = await api.patch(`/v1/inboxes/${forwarding.body.id}`, { forwardTo: 'me@theirs.example' })
  t.match(
    [soon.status, soon.body.error],
    [422, 'forward_verification_cooldown'],
    'can be asked again after 60 s: 422 `forward_verification_cooldown`',
  )
  const stopped = await api.patch(`/v1/inboxes/${forwarding.body.id}`, { forwardTo: null })
  t.match(
    stopped.body,
    { forwardTo: null, forwardWhen: null, forwardStatus: null },
    'update inbox with forwardTo null: all null',
  )

  const { id, address } = named.body
  const got = await api.get(`/v1/inboxes/${id}`)
  t.match([got.status, got.body.address], [200, address], 'GET /v1/inboxes/{id} 200 Inbox')
  t.notOk('webhookSecret' in got.body, 'never returned afterwards')
  for (const one of [address, encodeURIComponent(address), address.toUpperCase()]) {
    t.equal(
      (await api.get(`/v1/inboxes/${one}`)).body.id,
      id,
      `an {id} of an inbox may be its address: ${one}`,
    )
  }
  t.equal(
    (await api.send(address, { to: 'b@theirs.example', subject: 's', body: 'b' })).status,
    200,
    'everywhere: send',
  )
  for (const path of ['messages', 'threads', 'drafts', 'api-keys']) {
    t.equal((await api.get(`/v1/inboxes/${address}/${path}`)).status, 200, `everywhere: ${path}`)
  }
  t.equal((await api.get(`/v1/events?inboxId=${address}`)).status, 200, 'everywhere: ?inboxId of events')
  t.equal((await api.get(`/v1/policy?inboxId=${address}`)).status, 200, 'everywhere: ?inboxId of policy')
  const patched = await api.patch(`/v1/inboxes/${address}`, { displayName: null })
  t.match([patched.status, patched.body.displayName], [200, null], 'PATCH displayName: null clears')
  t.equal(
    (await api.patch(`/v1/inboxes/${id}`, { webhookUrl: null })).body.webhookUrl,
    null,
    'webhookUrl: null clears',
  )
  const first = await api.patch(`/v1/inboxes/${random.body.id}`, { webhookUrl: 'http://127.0.0.1:9/b' })
  t.match(first.body.webhookSecret, /^whsec_/, 'a signing secret is generated the first time a URL is set')
  t.equal(
    (await api.patch(`/v1/inboxes/${id}`, { displayName: 'a'.repeat(201) })).status,
    400,
    'displayName max 200',
  )
  t.equal(
    (await api.patch(`/v1/inboxes/${id}`, { address: 'x@ours.example' })).status,
    400,
    'no extra properties',
  )
  t.match(
    (await api.get(`/v1/inboxes?address=${address}`)).body,
    { total: 1, data: [{ id }] },
    '`GET /v1/inboxes?address=`',
  )
  t.match(
    (await api.get('/v1/inboxes?address=nobody@ours.example')).body,
    { total: 0, data: [] },
    'nobody of that address',
  )
  const wanted = { clientId: 'start-up', mailboxName: 'starter' }
  const made = await api.post('/v1/inboxes', wanted)
  const again = await api.post('/v1/inboxes', wanted)
  t.match(
    [made.status, again.status, again.body.id],
    [201, 200, made.body.id],
    '`clientId`: the same again gives the inbox that is there, with 200',
  )

  const list = (await api.get('/v1/inboxes?limit=2')).body
  t.equal(list.data.length, 2, 'limit')
  t.equal(
    (await api.get(`/v1/inboxes?limit=2&offset=${list.total - 1}`)).body.data.length,
    1,
    'offset, total',
  )
  t.equal((await api.get('/v1/inboxes?limit=101')).status, 200, '`limit` above 100 is clamped')
  for (const query of ['limit=-1', 'limit=1.5', 'limit=a', 'offset=-1', 'offset=a']) {
    t.match(
      [(await api.get(`/v1/inboxes?${query}`)).status],
      [400],
      `no whole number, or negative, gets 400: ${query}`,
    )
  }
  t.match(
    (await api.get('/v1/inboxes?podId=nobody')).body,
    { data: [], total: 0 },
    'podId: an unknown value yields an empty list',
  )
  t.ok(
    !list.data.some((one: { address: string }) => one.address.startsWith('postmaster@')),
    'system inboxes are not in lists',
  )
  await it.handIn({ to: 'postmaster@ours.example' })
  t.equal((await api.get('/v1/inboxes')).body.total, list.total, 'nor in totals')
  const system = (await api.get('/v1/inboxes?system=true&limit=100')).body
  t.ok(
    system.data.some((one: { address: string }) => one.address.startsWith('postmaster@')),
    'unless `?system=true` with an account key',
  )
  t.equal(
    (await api.get('/v1/inboxes/postmaster@ours.example')).status,
    200,
    'system inboxes are shown by address',
  )
  for (const missing of ['nonsense', nowhere, 'nobody@ours.example']) {
    const answer = await api.get(`/v1/inboxes/${missing}`)
    t.match([answer.status, answer.body.error], [404, 'not_found'], `404 not_found: ${missing}`)
  }
  const key = (await api.post(`/v1/inboxes/${id}/api-keys`, { name: 'k' })).body.token
  const gone = await api.delete(`/v1/inboxes/${address}`)
  t.match([gone.status, gone.bytes.length], [204, 0], 'delete 204 (no body)')
  t.equal((await api.get(`/v1/inboxes/${id}`)).status, 404, 'and it is gone')
  t.equal((await it.as(key).get('/v1/inboxes')).status, 401, "revokes the inbox's keys")
  await t.rejects(it.handIn({ to: address }), /55\d/, 'address stops receiving')
  await refused(
    { mailboxName: 'ann.bell' },
    409,
    'address_taken',
    'the address of a deleted inbox is never given out again',
  )
  const plus = await it.arrive(made.body.id, { to: 'starter+tag@ours.example' })
  t.equal(plus.toAddr, 'starter@ours.example', '`user+tag@` is delivered to `user@`')
})

t.test('pods', async t => {
  const made = await api.post('/v1/pods', { clientId: 'acme', name: 'Acme' })
  t.equal(made.status, 201, '201 Pod')
  t.strictSame(
    unlike(made.body, ['id', 'clientId', 'name', 'isDefault', 'createdAt']),
    [],
    'Pod: id, clientId, name, isDefault, createdAt',
  )
  t.match(made.body, { clientId: 'acme', name: 'Acme', isDefault: false }, 'as asked')
  const twice = await api.post('/v1/pods', { clientId: 'acme' })
  t.match(
    [twice.status, twice.body.error],
    [409, 'client_id_taken'],
    'duplicate clientId 409 `client_id_taken`',
  )
  t.equal((await api.post('/v1/pods', { clientId: null, name: null })).status, 201, 'nullable')
  for (const name of ['clientId', 'name']) {
    t.equal((await api.post('/v1/pods', { [name]: 'a'.repeat(256) })).status, 400, `${name}: max 255`)
    t.equal((await api.post('/v1/pods', { [name]: 'a'.repeat(255) })).status, 201, `${name} of 255`)
  }
  t.equal((await api.post('/v1/pods', { other: 1 })).status, 400, 'no extra properties')
  t.equal((await api.call('POST', '/v1/pods')).status, 400, 'Body (required)')
  const list = (await api.get('/v1/pods')).body
  t.equal(list.data[0].isDefault, true, 'the default pod is always first')
  t.equal(
    list.data.filter((one: { isDefault: boolean }) => one.isDefault).length,
    1,
    'exactly one default pod',
  )
  const { id } = made.body
  t.equal((await api.get('/v1/pods/acme')).body.id, id, '`{id}` accepts the pod ID or the clientId')
  const inbox = await it.inbox({ podId: 'acme' })
  t.equal(inbox.podId, id, 'clientId in place of the pod ID on any inbox endpoint')
  t.match(
    (await api.get('/v1/inboxes?podId=acme')).body,
    { total: 1, data: [{ id: inbox.id }] },
    'podId (pod ID or clientId)',
  )
  const patched = await api.patch('/v1/pods/acme', { name: null })
  t.match(
    [patched.status, patched.body],
    [200, { name: null, clientId: 'acme' }],
    'null clears; only included fields change',
  )
  await api.post('/v1/pods', { clientId: 'taken' })
  t.equal(
    (await api.patch('/v1/pods/acme', { clientId: 'taken' })).status,
    409,
    'PATCH: 409 clientId duplicate',
  )
  t.equal((await api.get(`/v1/pods/${nowhere}`)).status, 404, '404')
  const full = await api.delete('/v1/pods/acme')
  t.match([full.status, full.body.error], [409, 'pod_not_empty'], '`pod_not_empty`')
  const standard = await api.delete(`/v1/pods/${list.data[0].id}`)
  t.match([standard.status, standard.body.error], [409, 'default_pod'], '`default_pod`')
  await api.post('/v1/domains', { domain: 'acme-pod.example', podId: 'taken' })
  const domains = await api.delete('/v1/pods/taken')
  t.match([domains.status, domains.body.error], [409, 'pod_has_domains'], '`pod_has_domains`')
  const podKey = (await api.post('/v1/pods/acme/api-keys', { name: 'p' })).body
  const tenant = it.as(podKey.token)
  t.equal(podKey.podId, id, 'ApiKey.podId')
  t.equal((await tenant.patch(`/v1/pods/${id}`, { name: 'x' })).status, 403, 'PATCH: 403 key is pod-scoped')
  t.equal((await tenant.post('/v1/pods', {})).status, 403, 'it cannot manage pods')
  t.equal((await tenant.post(`/v1/pods/${id}/api-keys`, {})).status, 403, 'nor mint further pod keys')
  t.equal((await tenant.get(`/v1/pods/${id}/api-keys`)).status, 403, 'nor list them')
  t.match(
    (await tenant.get('/v1/pods')).body,
    { total: 1, data: [{ id }] },
    'GET /v1/pods with a scoped key lists its own pod',
  )
  t.equal((await tenant.get(`/v1/pods/${id}`)).status, 200, 'GET /v1/pods/{id} shows it')
  t.match(
    (await tenant.get('/v1/inboxes')).body,
    { total: 1, data: [{ id: inbox.id }] },
    "with a pod key the pod's",
  )
  const outside = await it.inbox({})
  t.equal(
    (await tenant.get(`/v1/inboxes/${outside.id}`)).status,
    404,
    '404 for a resource that it cannot see',
  )
  t.equal(
    (await tenant.delete(`/v1/inboxes/${outside.id}`)).status,
    403,
    "DELETE inbox with another pod's key is 403",
  )
  t.equal((await tenant.post('/v1/inboxes', {})).body.podId, id, "a pod key's inboxes are made in its pod")
  t.equal(
    (await tenant.patch(`/v1/inboxes/${inbox.id}`, { displayName: 'D' })).status,
    200,
    'a pod key may PATCH displayName',
  )
  t.equal(
    (await tenant.patch(`/v1/inboxes/${inbox.id}`, { webhookUrl: 'https://a.example/' })).status,
    403,
    'any webhook field gives 403',
  )
  t.equal(
    (await tenant.post('/v1/inboxes', { webhookUrl: 'https://a.example/' })).status,
    403,
    'in create, too',
  )
  t.equal(
    (await tenant.post(`/v1/inboxes/${inbox.id}/webhook/rotate-secret`)).status,
    403,
    'rotate-secret gives 403',
  )
  t.equal(
    (await tenant.post(`/v1/inboxes/${inbox.id}/api-keys`, {})).status,
    201,
    'a pod key mints inbox keys',
  )
  t.equal((await tenant.get('/v1/webhook')).status, 403, 'account webhook: account key only')
  t.equal((await tenant.get('/v1/suppressions')).status, 403, '/v1/suppressions (account key)')
  t.match((await tenant.get('/v1/inboxes?system=true')).status, 403, '`?system=true` needs an account key')
})

t.test('keys', async t => {
  const inbox = await it.inbox({})
  const pod = (await api.post('/v1/pods', {})).body
  for (const path of [`/v1/inboxes/${inbox.id}/api-keys`, `/v1/pods/${pod.id}/api-keys`]) {
    const made = await api.post(path, { name: 'one' })
    t.equal(made.status, 201, '201 ApiKeyWithToken')
    t.strictSame(
      unlike(made.body, [
        'id',
        'name',
        'podId',
        'inboxId',
        'tokenPrefix',
        'last4',
        'createdAt',
        'lastUsedAt',
        'token',
      ]),
      [],
      'ApiKey, and token',
    )
    t.match(made.body.token, /^mbx_[A-Za-z0-9]{43}$/, '`mbx_` + 43 characters of base62')
    t.equal(made.body.tokenPrefix, made.body.token.slice(0, 8), '`tokenPrefix` is its first 8 characters')
    t.equal(made.body.last4, made.body.token.slice(-4), 'last4: last 4 characters')
    t.equal(made.body.lastUsedAt, null, 'null if never used')
    const [listed] = (await api.get(path)).body.data
    t.notOk('token' in listed, 'the token is returned only once')
    t.equal((await api.post(path, { other: 1 })).status, 400, 'POST body {name?}, nothing else')
    t.equal((await api.post(path, { name: 'a'.repeat(256) })).status, 400, 'key name max 255')
    for (let n = 1; n < 20; n++) await api.post(path, {})
    const more = await api.post(path, {})
    t.match([more.status, more.body.error], [422, 'api_key_limit_reached'], 'at most 20 active keys')
    t.equal((await it.as(made.body.token).get('/v1/me')).status, 200, 'it works')
    t.equal((await api.delete(`${path}/${made.body.id}`)).status, 204, 'DELETE → 204')
    const after = await it.as(made.body.token).get('/v1/me')
    t.match([after.status, after.body.error], [401, 'unauthorized'], 'the key gets 401 immediately')
    t.equal((await api.get(path)).body.data.length, 19, 'not revoked ones only')
    t.equal((await api.delete(`${path}/${nowhere}`)).status, 404, '404 key')
    t.equal((await api.post(path, { name: null })).status, 201, 'mint a new key')
  }
  const own = (await api.get(`/v1/inboxes/${inbox.id}/api-keys`)).body.data.at(-1)
  await api.delete(`/v1/inboxes/${inbox.id}/api-keys/${own.id}`)
  const { body } = await api.post(`/v1/inboxes/${inbox.id}/api-keys`, {})
  t.match(body, { inboxId: inbox.id, podId: inbox.podId }, "inboxId; podId is the inbox's pod")
  const narrow = it.as(body.token)
  t.match(
    (await narrow.get('/v1/inboxes')).body,
    { total: 1, data: [{ id: inbox.id }] },
    'with an inbox key lists its one inbox',
  )
  t.equal(
    (await narrow.patch(`/v1/inboxes/${inbox.id}`, { displayName: 'x' })).status,
    403,
    'PATCH inbox with an inbox key is 403',
  )
  t.equal((await narrow.delete(`/v1/inboxes/${inbox.id}`)).status, 403, 'DELETE: 403 inbox-scoped key')
  t.equal((await narrow.post('/v1/inboxes', {})).status, 403, 'cannot create inboxes')
  t.equal((await narrow.post(`/v1/inboxes/${inbox.id}/api-keys`, {})).status, 403, 'cannot mint keys')
  t.equal((await narrow.get('/v1/policy')).status, 403, 'nor read sender rules')
  t.equal(
    (await narrow.get(`/v1/inboxes/${(await it.inbox({})).id}`)).status,
    404,
    'cannot see other inboxes',
  )
  t.match(
    (await narrow.get('/v1/me')).body,
    { plan: 'pro', accountId: String, apiKeyScope: { podId: inbox.podId, inboxId: inbox.id } },
    '/v1/me: apiKeyScope {podId, inboxId}',
  )
  t.match(
    (await api.get('/v1/me')).body,
    { plan: 'pro', accountId: String, apiKeyScope: 'account' },
    '/v1/me carries `accountId`',
  )
  t.equal(
    (await narrow.send(inbox.id, { to: 'b@theirs.example', subject: 's', body: 'b' })).status,
    200,
    'read and send',
  )
})
