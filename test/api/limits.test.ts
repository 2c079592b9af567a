import t from 'tap'
import { prepareReception } from '../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { writeReception } from '../../lib/core/inbound/write.ts'
import { utcDay } from '../../lib/core/quota/period.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'

const letter = (to: string, more = {}) => ({ to, subject: 's', body: 'b', ...more })
const days = (count: number) => count * 86_400_000

/** Moves the clock to a moment of its next day (UTC): a test that counts a day must not meet midnight. */
function toNextDay({ clock }: ApiApp, after = 0): Date {
  const now = clock.now()
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)
  clock.advance(next - now.getTime() + after)
  return new Date(next)
}

function midnightAfter(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1))
}

t.test('the plan that limits nothing counts all the same', async t => {
  const server = await startApi(t)
  toNextDay(server, 3_600_000)
  const inbox = (await server.api.post('/v1/inboxes', {})).body.id
  t.equal((await server.api.send(inbox, letter('a@x.example'))).status, 200)
  const { body } = await server.api.get(`/v1/usage?inboxId=${inbox}`)
  t.match(body.limits, {
    plan: 'pro',
    coldRecipients: { used: 1, limit: null },
    messages: { used: 1, limit: null },
  })
})

t.test('cold outreach of a plan that limits it', async t => {
  const server = await startApi(t, {
    top: 'plan = "free"',
    toml: '[plan_free]\ncold_recipients_at_first = 3\ncold_recipients = 5',
  })
  toNextDay(server, 3_600_000)
  const { api, clock } = server
  const inbox = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body.id
  const own = (await api.post('/v1/inboxes', { mailboxName: 'bea' })).body
  const used = async (of: ApiApp = server) =>
    (await of.api.get(`/v1/usage?inboxId=${inbox}`)).body.limits.coldRecipients
  const refused = async (body: object, of: ApiApp = server) => {
    const answer = await of.api.send(inbox, body)
    const resetsAt = midnightAfter(clock.now())
    t.match(answer, { status: 429, body: { error: 'cold_outreach_limit', resetsAt: resetsAt.toISOString() } })
    const left = (resetsAt.getTime() - clock.now().getTime()) / 1000
    const said = Number(answer.headers.get('retry-after'))
    t.ok(said >= left && said <= left + 2, `Retry-After ${said} of ${left}`)
    return answer.body
  }
  const first = (await api.send(inbox, letter('a@x.example', { cc: ['b@x.example'] }))).body
  t.match(await used(), { used: 2, limit: 3 })
  t.equal(
    (await api.send(inbox, letter('A@x.example', { cc: [own.address, 'bea+t@ours.example'] }))).status,
    200,
  )
  t.match(await used(), { used: 2 }, 'acquaintances and own addresses are not cold')
  t.equal((await refused(letter('c@x.example', { bcc: ['d@x.example'] }))).limit, 3)
  t.match(await used(), { used: 2 }, 'what was refused does not count')
  const third = await api.send(inbox, letter('c@x.example'))
  t.equal(third.status, 200)
  await refused(letter('d@x.example'))
  await refused(letter('d@x.example', { threadId: first.threadId }), server)
  t.equal(
    (await api.send(inbox, letter('b@x.example', { threadId: first.threadId }))).status,
    200,
    'a follow-up',
  )

  const again = await server.restart()
  t.match(await used(again), { used: 3, limit: 3, resetsAt: midnightAfter(clock.now()).toISOString() })
  await refused(letter('d@x.example'), again)
  t.equal((await again.api.send(own.id, letter('d@x.example'))).status, 200, 'each inbox has its own')
  toNextDay(again)
  t.match(await used(again), { used: 0 })
  for (const name of ['d', 'e', 'f']) await again.api.send(inbox, letter(`${name}@x.example`))
  await refused(letter('g@x.example'), again)
  clock.advance(days(30))
  t.match(await used(again), { used: 0, limit: 5 }, 'it is no longer new')
  const five = ['1', '2', '3', '4', '5'].map(name => `${name}@x.example`)
  t.equal((await again.api.send(inbox, letter('1@x.example', { cc: five }))).status, 200)
  await refused(letter('6@x.example'), again)
  t.strictSame(again.faults, [])
})

t.test('whoever wrote is no stranger, and the people whom they only named are', async t => {
  const server = await startApi(t, {
    top: 'plan = "free"',
    toml: '[plan_free]\ncold_recipients_at_first = 1',
  })
  toNextDay(server, 3_600_000)
  const { api, app } = server
  const inbox = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body.id
  const raw = [
    'From: Bob <Bob@x.example>',
    'Reply-To: desk@x.example',
    'To: ann@ours.example, third@x.example',
    'Cc: copy@x.example',
    'Subject: hello',
    '',
    'hi',
  ].join('\r\n')
  const reception = await prepareReception(createReceiver(app), {
    sessionId: 's',
    mailFrom: 'bounce@x.example',
    recipients: [await resolveRecipient(app, 'ann@ours.example')],
    content: { kind: 'memory', bytes: Buffer.from(raw) },
    peer: { kind: 'smtp', remoteAddress: '127.0.0.1', helo: 'x', protocol: 'ESMTP', tls: undefined },
  })
  await app.store.write(db => writeReception(app, db, reception))
  t.equal((await api.send(inbox, letter('stranger@x.example'))).status, 200, 'the one that may be')
  t.equal((await api.send(inbox, letter('bob@x.example'))).status, 200)
  for (const to of ['desk@x.example', 'third@x.example', 'copy@x.example', 'bounce@x.example']) {
    t.equal((await api.send(inbox, letter(to))).status, 429, `${to} did not write`)
  }
  const { data } = (await api.get(`/v1/inboxes/${inbox}/messages?direction=inbound`)).body
  const reply = { threadId: data[0].threadId, cc: ['third@x.example', 'copy@x.example'] }
  for (const cc of reply.cc)
    t.equal((await api.send(inbox, letter('desk@x.example', { ...reply, cc }))).status, 429, cc)
  t.equal(
    (await api.send(inbox, letter('desk@x.example', { threadId: reply.threadId }))).status,
    200,
    'a reply',
  )
  t.equal((await api.send(inbox, letter('bounce@x.example', { threadId: reply.threadId }))).status, 429)
  t.strictSame(server.faults, [])
})

t.test('plans', async t => {
  const server = await startApi(t, {
    top: 'plan = "free"',
    toml: '[plan_free]\ninboxes = 2\nmessages_per_month = 2',
  })
  toNextDay(server, 3_600_000)
  const { api, apiWith } = server
  const pod = (await api.post('/v1/pods', {})).body.id
  const one = (await api.post('/v1/inboxes', { podId: pod })).body
  const two = (await api.post('/v1/inboxes', {})).body
  t.match((await api.get('/v1/usage')).body.limits, {
    plan: 'free',
    inboxes: { used: 2, limit: 2 },
    inboxCreations: { used: 2, limit: 100 },
    messages: { used: 0, limit: 2 },
    coldRecipients: null,
  })
  t.match(await api.post('/v1/inboxes', {}), {
    status: 422,
    body: { error: 'inbox_limit_reached', limit: 2 },
  })
  t.equal((await api.post('/v1/inboxes', { domain: 'nobodys.example' })).body.error, 'invalid_domain')

  const replyTo = (address: string, as = api, from = two.id) =>
    as.send(from, letter('bob@x.example', { replyTo: address }))
  t.match(await replyTo('me@x.example'), { status: 403, body: { error: 'feature_requires_paid_plan' } })
  t.match(await replyTo('nobody@ours.example'), { status: 403 })
  t.equal((await replyTo(one.address)).status, 200)
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  t.equal((await replyTo(two.address, podApi, one.id)).status, 403, "another pod's")
  t.equal((await replyTo(one.address.replace('@', '+x@'), podApi, one.id)).status, 200)

  await api.delete(`/v1/inboxes/${two.id}`)
  t.match((await api.get('/v1/usage')).body.limits, { inboxes: { used: 1 }, messages: { used: 2 } })
  const paused = await api.post('/v1/inboxes', {})
  t.match(paused, { status: 402, body: { error: 'spend_cap_paused', limit: 2 } })
  server.clock.advance(days(31))
  t.equal((await api.post('/v1/inboxes', {})).status, 201, 'another month')

  t.match((await podApi.get('/v1/usage')).body.limits, {
    inboxes: null,
    inboxCreations: null,
    messages: null,
    coldRecipients: null,
  })
  const inboxApi = apiWith((await api.post(`/v1/inboxes/${one.id}/api-keys`, {})).body.token)
  t.match((await inboxApi.get('/v1/usage')).body.limits, {
    inboxes: null,
    coldRecipients: { used: 0, limit: 200 },
  })
  t.match((await api.get('/v1/me')).body, { plan: 'free', apiKeyScope: 'account' })
  t.strictSame((await podApi.get('/v1/me')).body.apiKeyScope, { podId: pod, inboxId: null })
  t.strictSame((await inboxApi.get('/v1/me')).body.apiKeyScope, { podId: pod, inboxId: one.id })
  t.strictSame(server.faults, [])
})

t.test('creations a day, 50 at once and across a restart', async t => {
  let server = await startApi(t)
  const begin = toNextDay(server, 1000)
  const { clock } = server
  for (let made = 0; made < 80; made++) await server.api.post('/v1/inboxes', {})
  const answers = await Promise.all(Array.from({ length: 50 }, () => server.api.post('/v1/inboxes', {})))
  t.strictSame(
    [201, 429].map(status => answers.filter(answer => answer.status === status).length),
    [20, 30],
  )
  const last = await server.api.post('/v1/inboxes', {})
  const resetsAt = midnightAfter(begin)
  t.match(last.body, { error: 'inbox_creation_limit', limit: 100, resetsAt: resetsAt.toISOString() })
  const left = (resetsAt.getTime() - clock.now().getTime()) / 1000
  t.ok(Math.abs(Number(last.headers.get('retry-after')) - left) < 2)
  server = await server.restart()
  t.equal((await server.api.post('/v1/inboxes', {})).status, 429)
  const usage = (await server.api.get('/v1/usage')).body.limits.inboxCreations
  t.strictSame(usage, { used: 100, limit: 100, resetsAt: resetsAt.toISOString() })
  clock.advance(Number(last.headers.get('retry-after')) * 1000)
  t.equal((await server.api.post('/v1/inboxes', {})).status, 201, 'exactly as long as Retry-After said')
  t.not(utcDay(clock.now()), utcDay(begin))
})
