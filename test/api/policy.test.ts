import t, { type Test } from 'tap'
import { policyRules } from '../../lib/base/problem.ts'
import { startApi } from '../support/api-app.ts'

const nothing = '01890000-0000-7000-8000-000000000000'

async function setUp(t: Test) {
  const server = await startApi(t)
  const { api, apiWith } = server
  const pod = (await api.post('/v1/pods', { clientId: 'mine' })).body.id
  const inbox = (await api.post('/v1/inboxes', { podId: pod, mailboxName: 'ann' })).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  return { ...server, pod, inbox, podApi }
}

const rule = (type: string, value: string, direction = 'outbound') => ({ type, value, direction })
const letter = (to: string, more = {}) => ({ to, subject: 's', body: 'b', ...more })
// biome-ignore lint/suspicious/noExplicitAny: an answer, as everywhere in these tests
const valuesOf = (rules: any[]) => rules.map(one => `${one.type} ${one.value}`)

t.test('what a policy is, and its inheritance', async t => {
  const { api, pod, inbox, faults } = await setUp(t)
  t.strictSame((await api.get('/v1/policy')).body, {
    scope: 'account',
    inbound: { mode: 'none', effectiveMode: 'none', rules: [], inheritedRules: [] },
    outbound: { mode: 'none', effectiveMode: 'none', rules: [], inheritedRules: [] },
  })
  const added = await api.post('/v1/policy/rules', rule('block', '@Evil.Example'))
  t.match(added, { status: 201, body: { type: 'block', value: 'evil.example', direction: 'outbound' } })
  await api.post('/v1/policy/rules', rule('allow', 'everyone.example'))
  const put = await api.call('PUT', `/v1/policy?podId=mine`, {
    outbound: {
      mode: 'allowlist',
      rules: [
        { type: 'allow', value: '*.Friends.example' },
        { type: 'allow', value: '*.friends.example' },
      ],
    },
  })
  t.match(put, {
    status: 200,
    body: {
      scope: { podId: pod, inboxId: null },
      inbound: { mode: 'inherit', effectiveMode: 'none' },
      outbound: { mode: 'allowlist', effectiveMode: 'allowlist' },
    },
  })
  t.strictSame(valuesOf(put.body.outbound.rules), ['allow *.friends.example'], 'each once')
  t.strictSame(valuesOf(put.body.outbound.inheritedRules), ['block evil.example'], 'its own list is in force')

  const { body: own } = await api.get(`/v1/policy?inboxId=${inbox}`)
  t.match(own, {
    scope: { podId: pod, inboxId: inbox },
    outbound: { mode: 'inherit', effectiveMode: 'allowlist' },
  })
  t.strictSame(valuesOf(own.outbound.inheritedRules), ['block evil.example', 'allow *.friends.example'])
  t.strictSame(own.inbound.inheritedRules, [])

  const kept = put.body.outbound.rules[0].id
  const again = await api.call('PUT', '/v1/policy?podId=mine', {
    outbound: {
      mode: 'allowlist',
      rules: [
        { type: 'block', value: 'x.example' },
        { type: 'allow', value: '*.friends.example' },
      ],
    },
  })
  t.equal(
    again.body.outbound.rules.find((one: { type: string }) => one.type === 'allow').id,
    kept,
    'it stays',
  )
  const moded = await api.call('PUT', '/v1/policy/mode?podId=mine', { mode: 'none', direction: 'outbound' })
  t.match(moded, { status: 200, body: { outbound: { mode: 'none', effectiveMode: 'none' } } })

  t.equal((await api.delete(`/v1/policy/rules/${added.body.id}?podId=mine`)).body.error, 'inherited_rule')
  t.equal((await api.delete(`/v1/policy/rules/${kept}?inboxId=${inbox}`)).body.error, 'inherited_rule')
  t.equal((await api.delete(`/v1/policy/rules/${kept}?podId=mine`)).status, 204)
  t.equal((await api.delete(`/v1/policy/rules/${kept}`)).status, 404)
  t.equal((await api.delete(`/v1/policy/rules/${added.body.id}`)).status, 204)
  t.strictSame(faults, [])
})

t.test('what is refused', async t => {
  const { api, inbox, pod, app, faults } = await setUp(t)
  const refused = async (error: string, ...[method, path, body]: [string, string, object?]) =>
    t.equal(
      (await api.call(method, path, body)).body?.error,
      error,
      `${method} ${path} ${JSON.stringify(body)}`,
    )
  await refused('invalid_request', 'GET', `/v1/policy?podId=${pod}&inboxId=${inbox}`)
  await refused('not_found', 'GET', '/v1/policy?podId=nobodys')
  await refused('not_found', 'GET', '/v1/policy?inboxId=x')
  await refused('not_found', 'PUT', `/v1/policy?inboxId=${nothing}`, {})
  await refused('invalid_request', 'PUT', '/v1/policy/mode', { mode: 'inherit', direction: 'inbound' })
  await refused('invalid_request', 'PUT', '/v1/policy', { inbound: { mode: 'inherit', rules: [] } })
  await refused('invalid_request', 'PUT', '/v1/policy', { inbound: { mode: 'none' } })
  await refused('invalid_request', 'PUT', '/v1/policy', { sideways: { mode: 'none', rules: [] } })
  for (const value of [
    '',
    '*',
    '*.',
    'a b',
    'x@',
    'gmail',
    '@gmail',
    '*@gmail',
    'a\r\nb.example',
    'x'.repeat(321),
    5,
    null,
  ]) {
    await refused('invalid_request', 'POST', '/v1/policy/rules', {
      type: 'block',
      value,
      direction: 'inbound',
    })
  }
  await refused('invalid_request', 'POST', '/v1/policy/rules', { type: 'block', value: 'x.example' })
  await refused('invalid_request', 'GET', '/v1/policy/audit?since=yesterday')
  await refused('invalid_request', 'GET', '/v1/policy/audit?action=dance')
  await refused('invalid_request', 'GET', '/v1/policy/audit?until=2026-13-01')
  await api.post('/v1/policy/rules', rule('block', 'x.example'))
  await refused('rule_exists', 'POST', '/v1/policy/rules', rule('block', '*@X.example'))
  t.equal((await api.post('/v1/policy/rules', rule('allow', 'x.example'))).status, 201, 'another type')
  t.equal((await api.post('/v1/policy/rules', rule('block', 'x.example', 'inbound'))).status, 201)
  const bad = await api.call('PUT', '/v1/policy', {
    inbound: {
      mode: 'allowlist',
      rules: [
        { type: 'allow', value: 'ok.example' },
        { type: 'allow', value: '*' },
      ],
    },
  })
  t.match(bad.body, { error: 'invalid_request', details: [{ path: '/inbound/rules/1/value' }] })
  t.equal((await api.get('/v1/policy')).body.inbound.mode, 'none', 'nothing of it was done')

  const many = Array.from({ length: policyRules }, (_, index) => ({
    type: 'allow',
    value: `d${index}.example`,
  }))
  t.equal((await api.call('PUT', '/v1/policy', { inbound: { mode: 'none', rules: many } })).status, 200)
  await refused('rule_limit_reached', 'POST', '/v1/policy/rules', rule('allow', 'one.more', 'inbound'))
  await refused('invalid_request', 'PUT', '/v1/policy', {
    inbound: { mode: 'none', rules: [...many, { type: 'allow', value: 'one.more' }] },
  })
  await api.post(`/v1/policy/rules?inboxId=${inbox}`, rule('block', 'x.example'))
  await api.delete(`/v1/inboxes/${inbox}`)
  const left = await app.store.read.selectFrom('policyRule').selectAll().where('scope', '=', inbox).execute()
  t.strictSame(left, [], 'rules go with their inbox')
  t.strictSame(faults, [])
})

t.test('outbound: whom an inbox may write to', async t => {
  const { api, inbox, app, faults } = await setUp(t)
  const boss = (await api.post('/v1/inboxes', { mailboxName: 'boss' })).body.address
  await api.post('/v1/policy/rules', rule('block', '*.evil.example'))
  const refuse = async (body: object, recipient: string) => {
    const answer = await api.send(inbox, body)
    t.match(
      answer,
      { status: 403, body: { error: 'recipient_not_permitted', recipient } },
      JSON.stringify(body),
    )
  }
  await refuse(letter('bob@sub.evil.example'), 'bob@sub.evil.example')
  await refuse(letter('bob@ok.example', { cc: ['x@ok.example', 'y@EVIL.example'] }), 'y@evil.example')
  await refuse(letter('bob@ok.example', { bcc: ['y@evil.example'] }), 'y@evil.example')
  await refuse(letter('bob@ok.example', { replyTo: 'y@evil.example' }), 'y@evil.example')
  t.equal((await api.send(inbox, letter('bob@ok.example'))).status, 200)

  await api.call('PUT', `/v1/policy?inboxId=${inbox}`, {
    outbound: { mode: 'allowlist', rules: [{ type: 'allow', value: 'ok.example' }] },
  })
  await refuse(letter('ann2@other.example'), 'ann2@other.example')
  await refuse(letter(boss), boss)
  t.equal((await api.send(inbox, letter('bob@ok.example', { replyTo: 'ann@ours.example' }))).status, 200)
  t.equal((await app.store.read.selectFrom('message').select('id').execute()).length, 2, 'nothing else')

  const { data, total } = (await api.get(`/v1/policy/audit?inboxId=${inbox}&action=refused`)).body
  t.equal(total, 6)
  t.match(data[0], {
    direction: 'outbound',
    address: boss,
    reason: 'not_allowed',
    value: null,
    inboxId: inbox,
  })
  t.match(data[5], {
    address: 'bob@sub.evil.example',
    reason: 'blocked',
    type: 'block',
    value: '*.evil.example',
  })
  t.match(data[5].keyId, /^[0-9a-f-]{36}$/)
  t.strictSame(faults, [])
})

t.test('the audit: filters, pages and scopes', async t => {
  const { api, podApi, clock, inbox } = await setUp(t)
  const { id } = (await api.post('/v1/policy/rules', rule('block', 'x.example'))).body
  await api.call('PUT', '/v1/policy/mode', { mode: 'allowlist', direction: 'inbound' })
  await api.call('PUT', '/v1/policy/mode', { mode: 'allowlist', direction: 'inbound' })
  clock.advance(3_600_000)
  const since = clock.now().toISOString()
  await api.delete(`/v1/policy/rules/${id}`)
  await podApi.post(`/v1/policy/rules?inboxId=${inbox}`, rule('block', 'y.example', 'inbound'))
  await podApi.call('PUT', '/v1/policy/mode?podId=mine', { mode: 'allowlist', direction: 'inbound' })
  const audit = async (query: string, as = api) => {
    const { body } = await as.get(`/v1/policy/audit?${query}`)
    t.equal(body.total, body.data.length)
    return body.data.map((one: { action: string; direction: string }) => `${one.action} ${one.direction}`)
  }
  const all = [
    'mode_changed inbound',
    'rule_added inbound',
    'rule_removed outbound',
    'mode_changed inbound',
    'rule_added outbound',
  ]
  t.strictSame(await audit(''), all, 'a mode that was so already is no change')
  t.strictSame(await audit(`since=${since}`), all.slice(0, 3))
  t.strictSame(await audit(`until=${since}`), all.slice(3))
  t.strictSame(await audit('direction=outbound'), ['rule_removed outbound', 'rule_added outbound'])
  t.strictSame(await audit('action=mode_changed'), ['mode_changed inbound', 'mode_changed inbound'])
  t.strictSame(await audit('podId=mine', podApi), ['mode_changed inbound', 'rule_added inbound'])
  t.strictSame(await audit(`inboxId=${inbox}`, podApi), ['rule_added inbound'])
  t.strictSame(await audit('since=2000-01-01&until=2001-01-01'), [])
  const page = (await api.get('/v1/policy/audit?limit=2&offset=1')).body
  t.equal(page.total, 5)
  t.match(page.data, [{ action: 'rule_added' }, { action: 'rule_removed', ruleId: id, value: 'x.example' }])
})
