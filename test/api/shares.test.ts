import t from 'tap'
import { streamsPerKey } from '../../lib/base/problem.ts'
import { createKey } from '../../lib/core/account/keys.ts'
import { type Caller, operator } from '../../lib/core/app/caller.ts'
import { podShare } from '../../lib/core/app/share.ts'
import { streams } from '../../lib/core/events/stream.ts'
import { waitersMax, waitsPerKey } from '../../lib/core/mailbox/waiters.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { takesAll } from '../support/event-sink.ts'

async function tenant({ api, apiWith }: ApiApp) {
  const pod = (await api.post('/v1/pods', {})).body.id
  return { pod, api: apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token) }
}

t.test('one pod can not use up what all draw on', async t => {
  await t.test('inboxes of a day', async t => {
    const server = await startApi(t, { toml: '[limits]\ninbox_creations_per_day = 5' })
    const [a, b] = [await tenant(server), await tenant(server)]
    const make = async (api: typeof a.api) => (await api.post('/v1/inboxes', {})).status
    t.strictSame([await make(a.api), await make(a.api), await make(a.api)], [201, 201, 201])
    t.match(await a.api.post('/v1/inboxes', {}), {
      status: 429,
      body: { error: 'inbox_creation_limit', limit: 3 },
    })
    t.equal(await make(b.api), 201)
    t.equal(await make(server.api), 201, 'the account may take what is left')
    t.equal(await make(b.api), 429, 'nothing is left')
    server.clock.advance(86_400_000)
    t.equal(await make(a.api), 201)
  })

  await t.test('inboxes of the plan', async t => {
    const server = await startApi(t, { top: 'plan = "free"', toml: '[plan_free]\ninboxes = 5' })
    const [a, b] = [await tenant(server), await tenant(server)]
    const make = async (api: typeof a.api, more = {}) => (await api.post('/v1/inboxes', more)).status
    t.strictSame([await make(a.api), await make(a.api), await make(a.api)], [201, 201, 201])
    t.match(await a.api.post('/v1/inboxes', {}), {
      status: 422,
      body: { error: 'inbox_limit_reached', limit: 3 },
    })
    t.equal(await make(b.api), 201)
    t.equal(await make(server.api, { podId: a.pod }), 201, 'the account may take what is left')
    t.equal(await make(b.api), 422, 'nothing is left')
  })

  await t.test('questions of an hour', async t => {
    const server = await startApi(t, { toml: '[limits]\nforward_confirmations_per_hour = 4' })
    const [a, b] = [await tenant(server), await tenant(server)]
    let count = 0
    const ask = async ({ api }: { api: typeof a.api }, inbox: string) =>
      (await api.patch(`/v1/inboxes/${inbox}`, { forwardTo: `x${count++}@example.net` })).status
    const inboxOf = async ({ api }: { api: typeof a.api }, more = {}) =>
      (await api.post('/v1/inboxes', more)).body.id as string
    const [first, second] = [await inboxOf(a), await inboxOf(a)]
    t.strictSame([await ask(a, first), await ask(a, second), await ask(a, first)], [200, 200, 429])
    const limited = await a.api.post('/v1/inboxes', { forwardTo: 'new@example.net' })
    t.match(limited, { status: 429, body: { error: 'forward_verification_limit' } })
    const others = await inboxOf(b)
    t.strictSame(
      [await ask(b, others), await ask(server, others), await ask(server, others)],
      [200, 200, 429],
    )
  })

  await t.test('streams and waits', async t => {
    const { app, api } = await startApi(t)
    const [pod, other] = [(await api.post('/v1/pods', {})).body.id, (await api.post('/v1/pods', {})).body.id]
    const inbox = (await api.post('/v1/inboxes', { podId: pod })).body.id
    const callers = async (podId: string, count: number): Promise<Caller[]> => {
      const ids = Array.from({ length: count }, () => app.ids.next())
      return ids.map(keyId => ({ keyId, podId, inboxId: null }))
    }
    const share = podShare(streams)
    const places = (await callers(pod, share / streamsPerKey)).flatMap(caller =>
      Array.from({ length: streamsPerKey }, () => app.stream.open(caller, takesAll)),
    )
    const [late] = await callers(pod, 1)
    t.throws(() => app.stream.open(late!, takesAll), { code: 'too_many_streams' })
    const [stranger] = await callers(other, 1)
    places.push(app.stream.open(stranger!, takesAll), app.stream.open(operator, takesAll))
    places[0]!.close()
    places.push(app.stream.open(late!, takesAll))
    for (const { close } of places) close()

    const signal = new AbortController().signal
    const wait = (caller: Caller) => app.waiters.wait({ caller, inboxId: inbox, takes: () => true, signal })
    const keys = await callers(pod, podShare(waitersMax) / waitsPerKey)
    const waiters = keys.flatMap(caller => Array.from({ length: waitsPerKey }, () => wait(caller)))
    t.throws(() => wait(late!), { code: 'too_many_streams' })
    waiters.push(wait(stranger!), wait(operator))
    waiters[0]!.end()
    waiters.push(wait(late!))
    const left = waitersMax - app.waiters.count()
    for (let taken = 0; taken < left; taken++) {
      const keyId = `key ${Math.floor(taken / waitsPerKey)}`
      waiters.push(wait({ keyId, podId: null, inboxId: null }))
    }
    t.equal(app.waiters.count(), waitersMax)
    t.throws(() => wait({ keyId: 'another', podId: null, inboxId: null }), { code: 'unavailable' })
    waiters.pop()!.end()
    waiters.push(wait({ keyId: 'another', podId: null, inboxId: null }))
    for (const { end } of waiters) end()
    t.equal(app.waiters.count(), 0)
  })
})

t.test('an agent does not see where its events go', async t => {
  const { api, app, apiWith } = await startApi(t)
  const webhookUrl = 'https://hooks.example.net/?token=secret'
  await api.call('PUT', '/v1/webhook', { url: 'https://account.example.net/?token=secret' })
  const pod = (await api.post('/v1/pods', {})).body.id
  const podApi = apiWith((await createKey(app, operator, { pod }, null)).token)
  for (const more of [{ webhookUrl }, {}]) {
    const { id } = (await api.post('/v1/inboxes', { podId: pod, ...more })).body
    const agent = apiWith((await createKey(app, operator, { inbox: id }, null)).token)
    await api.send(id, { to: 'bob@theirs.example', subject: 's', body: 'b' })
    for (const path of [`/v1/inboxes/${id}`, '/v1/inboxes', `/v1/events?inboxId=${id}`, '/v1/me']) {
      t.notMatch(JSON.stringify((await agent.get(path)).body), /secret/, path)
    }
    const { suspendInbox } = await import('../../lib/core/account/suspension.ts')
    await suspendInbox(app, id, null)
    const event = (await api.get(`/v1/events?inboxId=${id}`)).body.data[0].event_id
    const deliveries = `/v1/events/${event}/deliveries`
    t.match(await agent.get(deliveries), { status: 403, body: { error: 'forbidden' } })
    t.match(await agent.post(`/v1/events/${event}/redeliver`), { status: 403 })
    t.equal((await api.get(deliveries)).body.data.length, 1)
    t.equal(
      (await podApi.get(deliveries)).body.data.length,
      'webhookUrl' in more ? 1 : 0,
      'that of the account is its own',
    )
    t.notMatch(JSON.stringify((await podApi.get(deliveries)).body), /account\.example/)
  }
})
