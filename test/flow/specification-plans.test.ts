import t from 'tap'
import { startSpecified } from '../support/specified.ts'

const it = await startSpecified(t, {
  toml: 'plan = "free"\n[plan_free]\ninboxes = 3\nmessages_per_month = 25\n[keys]\nprefix = "own_"',
})
const { api } = it

t.test('a plan, and the prefix of keys', async t => {
  t.match(it.token, /^own_[A-Za-z0-9]{43}$/, 'setting `keys.prefix`, for clients that insist on another')
  t.equal((await api.get('/v1/me')).body.plan, 'free', '/v1/me: plan')
  const agent = await it.inbox({ mailboxName: 'agent' })
  const friend = await it.inbox({ mailboxName: 'friend' })
  const plain = { to: 'n0@theirs.example', subject: 's', body: 'b' }
  const paid = await api.send(agent.id, { ...plain, replyTo: 'me@theirs.example' })
  t.match(
    [paid.status, paid.body.error],
    [403, 'feature_requires_paid_plan'],
    'paid-only feature on the free plan (for example external `replyTo`)',
  )
  const own = await api.send(agent.id, { ...plain, replyTo: friend.address })
  t.equal(own.status, 200, 'free plan: must be the address of an inbox owned in the service')
  for (let n = 1; n < 20; n++) await api.send(agent.id, { ...plain, to: `n${n}@theirs.example` })
  const cold = await api.send(agent.id, { ...plain, to: 'n20@theirs.example' })
  t.match(
    [cold.status, cold.body],
    [429, { error: 'cold_outreach_limit', limit: 20, resetsAt: /Z$/ }],
    '429 `cold_outreach_limit` with `limit`, `resetsAt`: per inbox 20 a UTC day',
  )
  t.equal((await api.send(agent.id, plain)).status, 200, 'a recipient that was mailed by it is not cold')
  t.equal(
    (await api.send(agent.id, { ...plain, to: friend.address })).status,
    200,
    'own addresses are exempt',
  )
  const asked = await it.arrive(agent.id, { from: 'new@theirs.example', to: agent.address })
  t.equal(
    (await api.send(agent.id, { threadId: asked.threadId, body: 'b' })).status,
    200,
    'replies are exempt',
  )
  await it.inbox({})
  const full = await api.post('/v1/inboxes', {})
  t.match([full.status, full.body.error], [422, 'inbox_limit_reached'], 'plan inbox limit reached: 422')
  await api.delete(`/v1/inboxes/${friend.id}`)
  for (let n = 0; n < 5; n++) await api.send(agent.id, plain)
  const paused = await api.post('/v1/inboxes', {})
  t.match([paused.status, paused.body.error], [402, 'spend_cap_paused'], 'create inbox: paused: 402')
  for (let n = 0; n < 10; n++) {
    const { status, body } = await api.patch(`/v1/inboxes/${agent.id}`, { forwardTo: `f${n}@theirs.example` })
    t.match([status, body.forwardStatus], [200, 'pending'], 'any other address: `pending`')
  }
  const many = await api.patch(`/v1/inboxes/${agent.id}`, { forwardTo: 'f10@theirs.example' })
  t.match(
    [many.status, many.body.error],
    [429, 'forward_verification_limit'],
    '10 forwarding confirmation emails already sent this hour',
  )
})
