import t from 'tap'
import { startSpecified, unlike } from '../support/specified.ts'
import { until } from '../support/until.ts'

const it = await startSpecified(t)
const { api } = it

t.test('sender rules', async t => {
  const pod = (await api.post('/v1/pods', {})).body
  const tenant = it.as((await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token)
  const inbox = await it.inbox({ podId: pod.id })
  const narrow = it.as((await api.post(`/v1/inboxes/${inbox.id}/api-keys`, {})).body.token)
  const account = (await api.get('/v1/policy')).body
  t.strictSame(
    unlike(account, ['scope', 'inbound', 'outbound']),
    [],
    'GET /v1/policy → {scope, inbound, outbound}',
  )
  for (const direction of ['inbound', 'outbound']) {
    t.strictSame(
      unlike(account[direction], ['mode', 'effectiveMode', 'rules', 'inheritedRules']),
      [],
      `${direction}: {mode, effectiveMode, rules, inheritedRules}`,
    )
    t.equal(account[direction].mode, 'none', 'default `none` for the account')
  }
  for (const query of [`podId=${pod.id}`, `inboxId=${inbox.id}`]) {
    t.match(
      (await api.get(`/v1/policy?${query}`)).body,
      { inbound: { mode: 'inherit', effectiveMode: 'none' } },
      `\`inherit\` elsewhere: ${query}`,
    )
  }
  t.equal((await api.get(`/v1/policy?podId=${pod.id}&inboxId=${inbox.id}`)).status, 400, 'both at once 400')

  const made = await api.post('/v1/policy/rules', {
    type: 'block',
    value: 'Spam@Theirs.Example',
    direction: 'outbound',
  })
  t.equal(made.status, 201, 'POST /v1/policy/rules → 201')
  t.strictSame(
    unlike(made.body, ['id', 'type', 'value', 'direction', 'createdAt']),
    [],
    'Rule: {id, type, value, direction, createdAt}',
  )
  t.equal(made.body.value, 'spam@theirs.example', 'lower-cased')
  const twice = await api.post('/v1/policy/rules', {
    type: 'block',
    value: 'spam@theirs.example',
    direction: 'outbound',
  })
  t.match([twice.status, twice.body.error], [409, 'rule_exists'], 'duplicate 409 `rule_exists`')
  for (const value of [
    'foo*@x.example',
    '*',
    '*@',
    '@',
    'a b@x.example',
    '*.*.example',
    '',
    'a@b@c.example',
  ]) {
    const answer = await api.post('/v1/policy/rules', { type: 'block', value, direction: 'inbound' })
    t.match(
      [answer.status, answer.body.error],
      [400, 'invalid_request'],
      `an address or one of the domain forms, nothing else: ${value}`,
    )
  }
  for (const value of ['a.example', '@b.example', '*@c.example', '*.d.example']) {
    t.equal(
      (await api.post('/v1/policy/rules', { type: 'block', value, direction: 'outbound' })).status,
      201,
      `value: ${value}`,
    )
  }
  const idn = await api.post('/v1/policy/rules', {
    type: 'block',
    value: 'löwe.example',
    direction: 'outbound',
  })
  t.match(idn.body.value, /xn--lwe-sna\.example/, 'IDN in A-label form')
  const send = async (more: object) => {
    const { status, body } = await api.send(inbox.id, {
      to: 'ok@theirs.example',
      subject: 's',
      body: 'b',
      ...more,
    })
    return [status, body.error, body.recipient]
  }
  const refused = (recipient: string) => [403, 'recipient_not_permitted', recipient]
  for (const [to, isRefused, sentence] of [
    ['spam@theirs.example', true, 'an address'],
    ['x@a.example', true, '`example.com`: that exact domain'],
    ['x@sub.a.example', false, '`example.com`: not its subdomains'],
    ['x@b.example', true, '`@example.com`'],
    ['x@c.example', true, '`*@example.com`'],
    ['x@sub.c.example', false, '`*@example.com`: that exact domain'],
    ['x@d.example', true, '`*.example.com`: the domain'],
    ['x@deep.sub.d.example', true, '`*.example.com`: and every subdomain'],
    ['x@nod.example', false, 'and no other'],
  ] as const) {
    const expected = isRefused ? refused(to) : [200, undefined, undefined]
    t.strictSame(await send({ to }), expected, sentence)
  }
  const spam = 'spam@theirs.example'
  t.strictSame(await send({ cc: [spam] }), refused(spam), 'outbound checks cc')
  t.strictSame(await send({ bcc: [spam] }), refused(spam), 'bcc')
  t.strictSame(await send({ replyTo: spam }), refused(spam), 'replyTo')
  t.strictSame(await send({ to: ['ok@theirs.example', spam] }), refused(spam), 'the whole send is refused')

  const shown = (await api.get(`/v1/policy?inboxId=${inbox.id}`)).body.outbound
  t.ok(
    shown.inheritedRules.some((rule: { id: string }) => rule.id === made.body.id),
    'inheritedRules',
  )
  const parents = await api.delete(`/v1/policy/rules/${made.body.id}?inboxId=${inbox.id}`)
  t.match(
    [parents.status, parents.body.error],
    [403, 'inherited_rule'],
    "a parent's rule 403 `inherited_rule`",
  )

  const mode = await api.call('PUT', `/v1/policy/mode?inboxId=${inbox.id}`, {
    mode: 'allowlist',
    direction: 'outbound',
  })
  t.equal(mode.status, 200, 'PUT /v1/policy/mode {mode, direction}')
  t.strictSame(await send({}), refused('ok@theirs.example'), 'an empty allowlist admits nobody')
  await api.post(`/v1/policy/rules?inboxId=${inbox.id}`, {
    type: 'allow',
    value: 'theirs.example',
    direction: 'outbound',
  })
  t.strictSame((await send({}))[0], 200, 'an allow rule admits')
  t.strictSame(await send({ to: spam }), refused(spam), 'block beats allow, at every scope')
  t.match(
    (await api.get(`/v1/policy?inboxId=${inbox.id}`)).body,
    { outbound: { mode: 'allowlist', effectiveMode: 'allowlist' } },
    'effectiveMode',
  )
  const put = await api.call('PUT', `/v1/policy?inboxId=${inbox.id}`, {
    outbound: { mode: 'inherit', rules: [] },
  })
  t.match([put.status, put.body.outbound], [200, { mode: 'inherit', rules: [] }], 'PUT /v1/policy replaces')
  t.equal(
    (await api.call('PUT', '/v1/policy', { outbound: { mode: 'nonsense', rules: [] } })).status,
    400,
    'a mode that is none',
  )

  await api.post(`/v1/policy/rules?inboxId=${inbox.id}`, {
    type: 'block',
    value: 'bad@theirs.example',
    direction: 'inbound',
  })
  await it.handIn({ from: 'bad@theirs.example', to: inbox.address })
  t.pass('refused inbound mail is answered 250 and dropped')
  await it.handIn({ from: 'other@theirs.example', to: inbox.address, headers: ['From: bad@theirs.example'] })
  await it.handIn({ from: 'bad@theirs.example', to: inbox.address, headers: ['From: good@theirs.example'] })
  const passed = await it.arrive(inbox.id, { to: inbox.address })
  const { total } = (await api.get(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body
  t.equal(total, 1, 'a block rule matches any From or reverse-path')
  const receivedEvents = async () =>
    (await api.get(`/v1/events?inboxId=${inbox.id}&type=message.received`)).body.data.map(
      (one: { message: { id: string } }) => one.message.id,
    )
  // On PostgreSQL an event gets its place after the commit.
  await until('an event', async () => (await receivedEvents()).length > 0)
  t.strictSame(await receivedEvents(), [passed.id], 'and makes no event')
  const audit = (await api.get(`/v1/policy/audit?inboxId=${inbox.id}&direction=inbound&limit=100`)).body
  t.ok(audit.total >= 3 && Array.isArray(audit.data), 'audit → {data, total}: and stands in the audit')
  await api.call('PUT', `/v1/policy?inboxId=${inbox.id}`, {
    inbound: { mode: 'allowlist', rules: [{ type: 'allow', value: 'bob@theirs.example' }] },
  })
  await it.handIn({ to: inbox.address })
  t.equal(
    (await api.get(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body.total,
    1,
    'inbound matches the From address only as authenticated',
  )
  t.equal((await narrow.get('/v1/policy')).status, 403, 'inbox key 403 always')
  t.equal((await narrow.get(`/v1/policy?inboxId=${inbox.id}`)).status, 403, 'reads included')
  t.equal((await tenant.get(`/v1/policy?podId=${pod.id}`)).status, 200, 'pod key its own pod')
  t.equal((await tenant.get(`/v1/policy?inboxId=${inbox.id}`)).status, 200, 'and inboxes')
  t.equal((await tenant.get('/v1/policy')).status, 403, 'it cannot address account-wide policy')
  t.equal(
    (await tenant.post('/v1/policy/rules', { type: 'block', value: 'e.example', direction: 'inbound' }))
      .status,
    403,
    'nor write it',
  )
  t.equal(
    (
      await tenant.post(`/v1/policy/rules?podId=${pod.id}`, {
        type: 'block',
        value: 'e.example',
        direction: 'inbound',
      })
    ).status,
    201,
    'and to tighten',
  )
  const accounts = await api.post(`/v1/policy/rules?podId=${pod.id}`, {
    type: 'block',
    value: 'f.example',
    direction: 'inbound',
  })
  t.equal(
    (await tenant.delete(`/v1/policy/rules/${accounts.body.id}?podId=${pod.id}`)).status,
    403,
    "what the account set on a pod is not the pod key's to remove",
  )
  await api.call('PUT', '/v1/policy/mode', { mode: 'allowlist', direction: 'inbound' })
  const loosen = await tenant.call('PUT', `/v1/policy/mode?podId=${pod.id}`, {
    mode: 'none',
    direction: 'inbound',
  })
  t.match(
    [loosen.status, loosen.body.inbound.effectiveMode],
    [200, 'allowlist'],
    'no scope can loosen another: `none` leaves the list of the account in force',
  )
  const widen = await tenant.post(`/v1/policy/rules?podId=${pod.id}`, {
    type: 'allow',
    value: 'g.example',
    direction: 'inbound',
  })
  t.equal(widen.status, 201, 'a pod key may write what it likes in its own')
  const gone = await api.delete(`/v1/policy/rules/${made.body.id}`)
  t.equal(gone.status, 204, 'DELETE /v1/policy/rules/{id} → 204')
  t.equal((await api.delete(`/v1/policy/rules/${made.body.id}`)).status, 404, 'and it is gone')
})

t.test('suppressions', async t => {
  const made = await api.post('/v1/suppressions', { recipient: 'Gone@Theirs.example' })
  t.match(
    [made.status, made.body],
    [201, { recipient: 'gone@theirs.example', reason: 'manual' }],
    'recipient (lower-cased), reason `manual`',
  )
  const list = await api.get('/v1/suppressions')
  t.match([list.status, list.body.total], [200, 1], 'GET /v1/suppressions')
  const gone = await api.delete(`/v1/suppressions?recipient=${made.body.recipient}`)
  t.equal(gone.status, 204, 'DELETE /v1/suppressions')
})
