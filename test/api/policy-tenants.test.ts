import t, { type Test } from 'tap'
import { startApi } from '../support/api-app.ts'

async function setUp(t: Test) {
  const server = await startApi(t)
  const { api, apiWith } = server
  const pod = (await api.post('/v1/pods', { clientId: 'mine' })).body.id
  const inbox = (await api.post('/v1/inboxes', { podId: pod })).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  const send = async (to: string) => {
    const { status, body } = await api.send(inbox, { to, subject: 's', body: 'b' })
    return status === 200 ? 200 : body.error
  }
  return { ...server, pod, inbox, podApi, send }
}

const directions = ['inbound', 'outbound'] as const
const inherited = { status: 403, body: { error: 'inherited_rule' } }
const list = (...values: string[]) => ({
  outbound: { mode: 'allowlist', rules: values.map(value => ({ type: 'allow', value })) },
})

t.test('what an account key set for a pod or an inbox is not the pod key’s to change', async t => {
  const { api, podApi, pod, inbox, faults } = await setUp(t)
  for (const scope of [`podId=${pod}`, `inboxId=${inbox}`]) {
    for (const direction of directions) {
      const what = `${scope.slice(0, 5)} ${direction}`
      const rules = [
        { type: 'allow', value: 'partner.example' },
        { type: 'block', value: 'evil.example' },
      ]
      const set = await api.call('PUT', `/v1/policy?${scope}`, { [direction]: { mode: 'allowlist', rules } })
      const [allow, block] = set.body[direction].rules
      for (const { id } of [allow, block]) {
        t.match(await podApi.delete(`/v1/policy/rules/${id}`), inherited, `${what}: delete`)
        t.match(await podApi.delete(`/v1/policy/rules/${id}?${scope}`), inherited, `${what}: delete, named`)
      }
      const own = { mode: 'none', rules: [{ type: 'block', value: 'worse.example' }] }
      const put = await podApi.call('PUT', `/v1/policy?${scope}`, { [direction]: own })
      t.match(put, { status: 200, body: { [direction]: { mode: 'none', effectiveMode: 'allowlist' } } }, what)
      t.match(put.body[direction].rules, own.rules, `${what}: its own rules`)
      t.strictSame(put.body[direction].inheritedRules, [allow, block], `${what}: shown as inherited`)
      const seen = (await api.get(`/v1/policy?${scope}`)).body[direction]
      t.strictSame(seen.rules, [allow, block], `${what}: they are as they were`)
      t.strictSame(
        seen.inheritedRules,
        put.body[direction].rules,
        `${what}: the account sees the pod's rules`,
      )
      t.equal((await api.delete(`/v1/policy/rules/${put.body[direction].rules[0].id}`)).status, 204)
      await api.call('PUT', `/v1/policy?${scope}`, { [direction]: { mode: 'inherit', rules: [] } })
    }
  }
  t.strictSame(faults, [])
})

t.test('no level loosens another: an address must be on the lists of account, pod and inbox', async t => {
  const { api, podApi, pod, inbox, send, faults } = await setUp(t)
  const put = (who: typeof api, scope: string, body: object) => who.call('PUT', `/v1/policy${scope}`, body)
  const everyone = { outbound: { mode: 'none', rules: [{ type: 'allow', value: '*.example' }] } }
  for (const scope of ['', `?podId=${pod}`, `?inboxId=${inbox}`]) {
    await put(api, scope, list('near.example'))
    for (const body of [list('*.example'), everyone]) {
      t.equal((await put(podApi, `?podId=${pod}`, body)).status, 200)
      t.equal((await put(podApi, `?inboxId=${inbox}`, body)).status, 200)
      t.equal(await send('bob@far.example'), 'recipient_not_permitted', `${scope} ${JSON.stringify(body)}`)
      t.equal(await send('ann@near.example'), 200, 'what all lists admit')
    }
    await put(api, scope, { outbound: { mode: 'none', rules: [] } })
    t.equal(await send('bob@far.example'), 200, 'the list is gone')
  }
  await put(podApi, `?podId=${pod}`, list('near.example'))
  t.equal(await send('bob@far.example'), 'recipient_not_permitted', 'the list of a pod key')
  t.equal((await api.get(`/v1/policy?podId=${pod}`)).body.outbound.effectiveMode, 'allowlist')
  t.strictSame(faults, [])
})

t.test('an account key sees and lifts the allowlist that a pod key set', async t => {
  const { api, podApi, pod, inbox, send, faults } = await setUp(t)
  for (const scope of [`podId=${pod}`, `inboxId=${inbox}`]) {
    await podApi.call('PUT', `/v1/policy?${scope}`, list('near.example'))
    const refused = await api.send(inbox, { to: 'bob@far.example', subject: 's', body: 'b' })
    t.match(
      refused.body.message,
      /not on the allowlist of the (pod|inbox), set by pod keys\. .*Add an allow rule/,
    )
    const seen = (await api.get(`/v1/policy?${scope}`)).body.outbound
    t.match(seen, { mode: 'inherit', effectiveMode: 'allowlist', rules: [] })
    t.match(seen.inheritedRules, [{ value: 'near.example' }])
    const theirs = (await api.get(`/v1/policy?${scope}&setBy=pod`)).body.outbound
    t.match(theirs, { mode: 'allowlist', rules: [{ value: 'near.example' }], inheritedRules: [] })
    const none = { mode: 'none', direction: 'outbound' }
    t.equal((await api.call('PUT', `/v1/policy/mode?${scope}&setBy=pod`, none)).status, 200)
    t.equal(await send('bob@far.example'), 200)
  }
  const none = { mode: 'none', direction: 'outbound' }
  t.match(await podApi.call('PUT', `/v1/policy/mode?podId=${pod}&setBy=account`, none), { status: 403 })
  t.match(await podApi.get(`/v1/policy?podId=${pod}&setBy=account`), { status: 403 })
  t.match(await api.get('/v1/policy?setBy=pod'), { status: 400, body: { error: 'invalid_request' } })
  t.strictSame(faults, [])
})

t.test('the same rule of an account key and of a pod key are two rules', async t => {
  const { api, podApi, pod, send, faults } = await setUp(t)
  const rule = { type: 'block', value: 'evil.example', direction: 'outbound' }
  const add = (who: typeof api) => who.post(`/v1/policy/rules?podId=${pod}`, rule)
  const exists = { status: 409, body: { error: 'rule_exists' } }
  const ofPod = await add(podApi)
  const ofAccount = await add(api)
  t.strictSame([ofPod.status, ofAccount.status], [201, 201])
  t.match(await add(podApi), exists)
  t.match(await add(api), exists)
  t.equal((await podApi.delete(`/v1/policy/rules/${ofPod.body.id}`)).status, 204)
  t.equal(await send('bob@evil.example'), 'recipient_not_permitted', 'the other one is still there')
  t.equal((await api.delete(`/v1/policy/rules/${ofAccount.body.id}`)).status, 204)
  t.equal(await send('bob@evil.example'), 200)
  t.strictSame(faults, [])
})

t.test('a pod key reaches the rules of its own pod, and those of the account as inherited', async t => {
  const { api, podApi, pod, faults } = await setUp(t)
  t.equal((await podApi.get('/v1/policy')).body.error, 'forbidden')
  t.equal((await podApi.get('/v1/policy/audit')).body.error, 'forbidden')
  t.equal((await podApi.get('/v1/policy?podId=mine')).body.scope.podId, pod)
  const { outbound } = (await api.call('PUT', '/v1/policy', list('near.example'))).body
  const ofAccount = outbound.rules[0].id
  t.match(await podApi.delete(`/v1/policy/rules/${ofAccount}`), inherited)
  t.match(await podApi.delete(`/v1/policy/rules/${ofAccount}?podId=mine`), inherited)
  const other = (await api.post('/v1/pods', {})).body.id
  const block = { type: 'block', value: 'x.example', direction: 'outbound' }
  const foreign = (await api.post(`/v1/policy/rules?podId=${other}`, block)).body.id
  t.equal((await podApi.delete(`/v1/policy/rules/${foreign}`)).body.error, 'not_found')
  t.equal((await podApi.get(`/v1/policy?podId=${other}`)).body.error, 'not_found')
  t.strictSame(faults, [])
})
