import t, { type Test } from 'tap'
import { startApi } from '../support/api-app.ts'

async function setUp(t: Test) {
  const server = await startApi(t)
  const { api, apiWith } = server
  const pod = (await api.post('/v1/pods', {})).body.id
  const inbox = (await api.post('/v1/inboxes', { podId: pod })).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  return { ...server, pod, inbox, podApi }
}

const directions = ['inbound', 'outbound'] as const
const refused = { status: 403, body: { error: 'forbidden' } }

t.test('what the account set on a pod or an inbox is not the pod key’s to change or take away', async t => {
  const { api, podApi, pod, inbox, faults } = await setUp(t)
  for (const scope of [`podId=${pod}`, `inboxId=${inbox}`]) {
    for (const direction of directions) {
      for (const mode of ['none', 'allowlist'] as const) {
        const what = `${scope.slice(0, 5)} ${direction} ${mode}`
        const rules = [
          { type: 'allow', value: 'partner.example' },
          { type: 'block', value: 'evil.example' },
        ]
        const set = await api.call('PUT', `/v1/policy?${scope}`, { [direction]: { mode, rules } })
        const [allow, block] = set.body[direction].rules
        const put = (body: object) => podApi.call('PUT', `/v1/policy?${scope}`, { [direction]: body })
        const setMode = (other: string) =>
          podApi.call('PUT', `/v1/policy/mode?${scope}`, { direction, mode: other })

        for (const { id } of [allow, block]) {
          t.match(await podApi.delete(`/v1/policy/rules/${id}`), refused, `${what}: delete`)
          t.match(await podApi.delete(`/v1/policy/rules/${id}?${scope}`), refused, `${what}: delete, named`)
        }
        for (const kept of [[], [rules[0]], [rules[1]]]) {
          t.match(await put({ mode, rules: kept }), refused, `${what}: put without a rule`)
        }
        for (const other of ['none', 'allowlist', 'inherit'].filter(one => one !== mode)) {
          t.match(await setMode(other), refused, `${what}: to ${other}`)
          t.match(await put({ mode: other, rules }), refused, `${what}: put ${other}`)
        }
        t.strictSame(
          (await api.get(`/v1/policy?${scope}`)).body[direction],
          set.body[direction],
          `${what}: nothing of it was done`,
        )

        // What it may: the same again, and to tighten beside it.
        t.equal((await setMode(mode)).status, 200)
        const more = await put({ mode, rules: [...rules, { type: 'block', value: 'worse.example' }] })
        t.equal(more.status, 200, what)
        t.equal((await put({ mode, rules })).status, 200, 'its own it may take away again')
        const wider = await podApi.post(`/v1/policy/rules?${scope}`, {
          type: 'allow',
          value: 'anyone.example',
          direction,
        })
        if (mode === 'allowlist') t.match(wider, refused, `${what}: no one else is let in`)
        else t.equal(wider.status, 201, 'no list is in force')

        // The account gives it free.
        await api.call('PUT', `/v1/policy?${scope}`, { [direction]: { mode: 'inherit', rules: [] } })
        t.equal((await put({ mode: 'allowlist', rules: [rules[0]] })).status, 200)
        t.equal((await put({ mode: 'none', rules: [] })).status, 200)
      }
    }
  }
  t.strictSame(faults, [])
})

t.test('a list of the account on a pod holds against what the pod key set there before', async t => {
  const { api, podApi, pod, inbox } = await setUp(t)
  const send = async (to: string) => {
    const { status, body } = await api.send(inbox, { to, subject: 's', body: 'b' })
    return status === 200 ? 200 : body.error
  }
  const everyone = { type: 'allow', value: '*.example', direction: 'outbound' }
  for (const scope of [`podId=${pod}`, `inboxId=${inbox}`]) {
    t.equal((await podApi.post(`/v1/policy/rules?${scope}`, everyone)).status, 201)
  }
  for (const mode of ['allowlist', 'none', 'inherit']) {
    await podApi.call('PUT', `/v1/policy/mode?inboxId=${inbox}`, { direction: 'outbound', mode })
    await api.call('PUT', `/v1/policy/mode?podId=${pod}`, { direction: 'outbound', mode: 'allowlist' })
    await api.post(`/v1/policy/rules?podId=${pod}`, { ...everyone, value: 'near.example' })
    t.equal(await send('bob@far.example'), 'recipient_not_permitted', mode)
    t.equal(await send('ann@near.example'), 200, mode)
    await api.call('PUT', `/v1/policy/mode?podId=${pod}`, { direction: 'outbound', mode: 'inherit' })
    t.equal(await send('bob@far.example'), 200, 'the list is no more')
  }
  // A list of its own beside what the account allows there.
  await podApi.call('PUT', `/v1/policy/mode?podId=${pod}`, { direction: 'outbound', mode: 'allowlist' })
  t.equal(await send('ann@near.example'), 200)
  t.equal(await send('bob@far.example'), 200)
  t.equal(await send('bob@far.test'), 'recipient_not_permitted')
})

t.test(
  'a rule of a pod key that the account makes, too, is the account’s from then on, with the same id',
  async t => {
    const { api, podApi, pod, inbox, faults } = await setUp(t)
    for (const scope of [`podId=${pod}`, `inboxId=${inbox}`]) {
      const path = `/v1/policy/rules?${scope}`
      const rule = { type: 'block', value: 'evil.example', direction: 'inbound' }
      const made = await podApi.post(path, rule)
      t.equal(made.status, 201)
      t.match(await podApi.post(path, rule), { status: 409, body: { error: 'rule_exists' } })
      const adopted = await api.post(path, { ...rule, value: '@evil.example' })
      t.strictSame([adopted.status, adopted.body], [201, made.body])
      t.match(
        await api.post(path, rule),
        { status: 409, body: { error: 'rule_exists' } },
        'it is its own now',
      )
      t.match(await podApi.post(path, rule), { status: 409, body: { error: 'rule_exists' } })
      t.match(await podApi.delete(`/v1/policy/rules/${made.body.id}`), refused)
      t.equal((await api.delete(`/v1/policy/rules/${made.body.id}`)).status, 204)
    }
    t.strictSame(faults, [])
  },
)

t.test(
  'the same rule twice is refused; said by the account what a pod key had set is the account’s',
  async t => {
    const { api, podApi, pod, faults } = await setUp(t)
    const rule = { type: 'block', value: 'evil.example', direction: 'inbound' }
    const add = (who: typeof api) => who.post(`/v1/policy/rules?podId=${pod}`, rule)
    const made = await add(podApi)
    t.equal(made.status, 201)
    t.match(await add(podApi), { status: 409, body: { error: 'rule_exists' } }, 'its own')
    t.match(await add(api), { status: 201, body: { id: made.body.id } }, 'the account says it, too')
    t.match(await add(api), { status: 409, body: { error: 'rule_exists' } }, 'and again')
    t.match(await podApi.delete(`/v1/policy/rules/${made.body.id}`), refused)
    t.strictSame(faults, [])
  },
)
