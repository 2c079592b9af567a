import t, { type Test } from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { noteForwardFailure } from '../../lib/core/forwarding/outcome.ts'
import { findForwardQuestion, forwardConfirmationMs } from '../../lib/core/forwarding/question.ts'
import { prepareReception } from '../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { writeReception } from '../../lib/core/inbound/write.ts'
import { type ApiApp, type ApiSettings, startApi } from '../support/api-app.ts'
import { mailedLink } from '../support/confirmation.ts'
import { addVerifiedDomain } from '../support/verified-domain.ts'

const away = 'Ann@Elsewhere.example'
const lower = 'ann@elsewhere.example'

async function setUp(t: Test, settings: ApiSettings = {}) {
  const server = await startApi(t, settings)
  const inbox = (await server.api.post('/v1/inboxes', { mailboxName: 'agent' })).body
  const patch = (body: object) => server.api.patch(`/v1/inboxes/${inbox.id}`, body)
  const stored = async () => (await server.api.get(`/v1/inboxes/${inbox.id}`)).body
  const follow = async (link: string, method = 'POST') =>
    (await fetch(new URL(new URL(link).search, `${server.baseUrl}/forwarding/confirm`), { method })).status
  return { ...server, inbox, patch, stored, follow }
}

const count = async (of: ApiApp, table: 'forwardConfirmation' | 'message' | 'delivery' | 'queueEntry') =>
  (
    await of.app.store.read
      .selectFrom(table)
      .select(eb => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
  ).n

const unset = { forwardTo: null, forwardWhen: null, forwardStatus: null }

const hard = { result: 'permanent', code: 550, enhanced: '5.1.1', text: 'gone', durationMs: 0 } as const

/** A message comes in, is forwarded, and the copy comes back or is complained of. */
async function failCopy({ app }: ApiApp, address: string, kind: 'bounce' | 'complaint'): Promise<void> {
  const reception = await prepareReception(createReceiver(app), {
    sessionId: 's',
    mailFrom: 'bob@theirs.example',
    recipients: [await resolveRecipient(app, address)],
    content: { kind: 'memory', bytes: Buffer.from('From: bob@theirs.example\r\n\r\nHello\r\n') },
    peer: { kind: 'smtp', remoteAddress: '192.0.2.1', helo: 'x', protocol: 'SMTP', tls: undefined },
  })
  const [messageId] = await app.store.write(db => writeReception(app, db, reception))
  const [copy] = await app.store.read
    .selectFrom('delivery')
    .selectAll()
    .where('messageId', '=', messageId!)
    .execute()
  if (!copy) throw new Error('it was not forwarded')
  await app.store.write(db => noteForwardFailure(app, db, copy, kind === 'complaint' ? kind : hard, 'mail'))
}

t.test('a member gets copies at once, by creation and by change', async t => {
  const server = await setUp(t)
  const { api, patch } = server
  await api.post('/v1/members', { address: away, name: 'Ann' })
  const made = await api.post('/v1/inboxes', { forwardTo: away })
  t.match(made, { status: 201, body: { forwardTo: lower, forwardWhen: 'always', forwardStatus: 'active' } })
  t.match((await patch({ forwardTo: away, forwardWhen: 'needs_human' })).body, {
    forwardTo: lower,
    forwardWhen: 'needs_human',
    forwardStatus: 'active',
  })
  t.equal(await count(server, 'message'), 0, 'nobody is asked')
  t.strictSame(server.faults, [])
})

t.test('any other address is asked first', async t => {
  const server = await setUp(t)
  const { app, api, patch, stored, follow, inbox } = server
  const made = await api.post('/v1/inboxes', { mailboxName: 'other', forwardTo: 'bea@elsewhere.example' })
  t.match(made, { status: 201, body: { forwardWhen: 'always', forwardStatus: 'pending' } })
  t.ok(await mailedLink(app, 'bea@elsewhere.example'))

  const set = await patch({ forwardTo: away, forwardWhen: 'webhook_failed' })
  const pending = { forwardTo: lower, forwardWhen: 'webhook_failed', forwardStatus: 'pending' }
  t.match(set, { status: 200, body: pending })
  t.match(await stored(), pending)
  const link = await mailedLink(app, lower)
  for (const method of ['GET', 'HEAD', 'GET']) t.equal(await follow(link, method), 200)
  t.match(await stored(), pending, 'to look at it confirms nothing')
  t.equal(await follow(link), 200)
  t.match(await stored(), { ...pending, forwardStatus: 'active' })
  t.equal(await follow(link), 410, 'a link is good once')
  t.equal(await follow(link, 'GET'), 410)

  // What the inbox shows of it, to whoever may read it.
  const { body } = await api.get(`/v1/inboxes/${inbox.id}/messages`)
  t.match(body, { total: 1, data: [{ direction: 'outbound', fromAddr: 'no-reply@ours.example' }] })
  const [shown] = body.data
  t.match(shown, { toAddr: lower, category: 'automated', rawUrl: null })
  t.notMatch(JSON.stringify(shown), 'token=', 'the link is in the mail alone')
  t.equal((await api.get(`/v1/messages/${shown.id}/raw`)).status, 404)
  t.match((await api.get(`/v1/messages/${shown.id}/deliveries`)).body.data, [
    { recipient: lower, purpose: 'send', state: 'queued' },
  ])
  const search = await api.get('/v1/messages?q=token')
  t.equal(search.body.total, 0)
  t.strictSame(server.faults, [])
})

t.test(
  'the same address again while pending: another link, and the one before is not good any more',
  async t => {
    const server = await setUp(t)
    const { app, clock, patch, stored, follow } = server
    await patch({ forwardTo: away })
    const first = await mailedLink(app, lower)
    const soon = await patch({ forwardTo: away })
    t.match(soon, { status: 422, body: { error: 'forward_verification_cooldown' } })
    const said = Number(soon.headers.get('retry-after'))
    t.ok(said > 50 && said <= 60, `${said} s`)
    t.equal(await count(server, 'message'), 1)
    clock.advance(said * 1000)
    t.match(await patch({ forwardTo: away }), { status: 200, body: { forwardStatus: 'pending' } })
    const second = await mailedLink(app, lower)
    t.equal(await follow(first), 410)
    t.match(await stored(), { forwardStatus: 'pending' })
    t.equal(await follow(second), 200)
    t.match(await stored(), { forwardStatus: 'active' })
    t.match(await patch({ forwardTo: away }), { status: 200, body: { forwardStatus: 'active' } })
    t.equal(await count(server, 'message'), 2, 'who gets copies is not asked again')
  },
)

t.test('another address: the rules anew', async t => {
  const { app, api, patch, stored, follow } = await setUp(t)
  await api.post('/v1/members', { address: 'member@elsewhere.example' })
  await patch({ forwardTo: away, forwardWhen: 'needs_human' })
  const link = await mailedLink(app, lower)
  t.match((await patch({ forwardTo: 'member@elsewhere.example' })).body, {
    forwardStatus: 'active',
    forwardWhen: 'needs_human',
  })
  t.equal(await follow(link), 410, 'a link of an address that is not set any more')
  t.match(await stored(), { forwardTo: 'member@elsewhere.example' })
  t.match((await patch({ forwardTo: 'cid@elsewhere.example' })).body, { forwardStatus: 'pending' })
  const other = await mailedLink(app, 'cid@elsewhere.example')
  t.match((await patch({ forwardTo: null })).body, unset)
  await t.rejects(mailedLink(app, 'cid@elsewhere.example'), 'and the mail is not sent any more')
  t.equal(await follow(other), 410, 'a link of an inbox that forwards no more')
  t.match(await stored(), unset)
})

t.test('null ends it in every state', async t => {
  const server = await setUp(t)
  const { app, api, clock, patch, stored, follow, inbox } = server
  for (const state of ['unset', 'pending', 'active', 'disabled']) {
    clock.advance(60_000)
    if (state !== 'unset') await patch({ forwardTo: away })
    if (state === 'active' || state === 'disabled') await follow(await mailedLink(app, lower))
    if (state === 'disabled') await failCopy(server, inbox.address, 'complaint')
    t.equal((await stored()).forwardStatus, state === 'unset' ? null : state)
    t.match(await patch({ forwardTo: null }), { status: 200, body: unset }, state)
  }
  const made = await api.post('/v1/inboxes', { forwardTo: null, forwardWhen: null })
  t.match(made, { status: 201, body: unset })
})

t.test('disabled, and set again', async t => {
  const server = await setUp(t)
  const { app, api, clock, patch, stored, follow, inbox } = server
  await patch({ forwardTo: away })
  await follow(await mailedLink(app, lower))
  for (let failures = 1; failures <= 3; failures++) {
    t.match(await stored(), { forwardStatus: 'active' }, `${failures - 1} bounces`)
    await failCopy(server, inbox.address, 'bounce')
  }
  t.match(await stored(), { forwardTo: lower, forwardStatus: 'disabled' })
  t.match((await patch({ forwardWhen: 'needs_human' })).body, {
    forwardWhen: 'needs_human',
    forwardStatus: 'disabled',
  })
  clock.advance(60_000)
  t.match((await patch({ forwardTo: away })).body, { forwardStatus: 'pending', forwardWhen: 'needs_human' })
  await follow(await mailedLink(app, lower))
  t.match(await stored(), { forwardStatus: 'active' })
  await patch({ forwardWhen: 'always' })
  await failCopy(server, inbox.address, 'bounce')
  t.match(await stored(), { forwardStatus: 'active' }, 'it is counted from the beginning')
  await failCopy(server, inbox.address, 'complaint')
  t.match(await stored(), { forwardStatus: 'disabled' }, 'one complaint is enough')
  await api.post('/v1/members', { address: away })
  t.match(await stored(), { forwardStatus: 'disabled' })
  t.match((await patch({ forwardTo: away })).body, { forwardStatus: 'active' }, 'a member by now')
})

t.test('members and what waits for an answer', async t => {
  const { api, app, patch, stored, follow } = await setUp(t)
  await patch({ forwardTo: away })
  const link = await mailedLink(app, lower)
  await api.post('/v1/members', { address: away })
  t.match(await stored(), { forwardStatus: 'pending' }, 'who was asked still has to answer')
  t.match((await patch({ forwardTo: away })).body, { forwardStatus: 'active' }, 'or to be set again')
  t.equal(await follow(link), 410)
  await api.delete(`/v1/members/${away}`)
  t.match(await stored(), { forwardStatus: 'active' }, 'what is forwarded already goes on')
})

t.test('forwardWhen', async t => {
  const server = await setUp(t)
  const { api, patch } = server
  await api.post('/v1/members', { address: away })
  t.match(await patch({ forwardWhen: 'always' }), {
    status: 422,
    body: { error: 'forward_when_requires_forward_to' },
  })
  t.match(await patch({ forwardWhen: null }), { status: 200, body: unset })
  t.match(await api.post('/v1/inboxes', { forwardWhen: 'always' }), {
    status: 422,
    body: { error: 'forward_when_requires_forward_to' },
  })
  await patch({ forwardTo: away })
  for (const forwardWhen of ['needs_human', 'webhook_failed', 'always'])
    t.match(await patch({ forwardWhen }), { status: 200, body: { forwardWhen, forwardTo: lower } })
  for (const forwardWhen of ['', 'never', 'Always'])
    t.match(await patch({ forwardWhen }), { status: 422, body: { error: 'invalid_forward_when' } })
  await patch({ forwardWhen: 'needs_human' })
  t.match((await patch({ forwardWhen: null })).body, { forwardWhen: 'always' }, 'null is what nothing says')
  t.match(await patch({ forwardTo: null, forwardWhen: 'always' }), {
    status: 422,
    body: { error: 'forward_when_requires_forward_to' },
  })
  t.match((await patch({ forwardTo: null, forwardWhen: null })).body, unset)
  t.equal(await count(server, 'message'), 0)
})

t.test('addresses that are refused; nothing is written of it', async t => {
  const server = await setUp(t)
  const { api, patch, stored } = server
  await addVerifiedDomain(server.app, 'custom.example.org')
  await api.post('/v1/suppressions', { recipient: 'gone@elsewhere.example', reason: 'complaint' })
  await api.post('/v1/members', { address: 'gone@elsewhere.example' })
  const refused: Record<string, string[]> = {
    invalid_forward_to: [
      '',
      'ann',
      'ann@',
      '@elsewhere.example',
      'Ann <ann@elsewhere.example>',
      'a@b.example, c@d.example',
      'ann@[192.0.2.1]',
      'ann@elsewhere.example\r\nBcc: eve@evil.example',
      `${'x'.repeat(65)}@elsewhere.example`,
      'x'.repeat(100_000),
      'Gone@Elsewhere.example',
    ],
    forward_to_is_service_address: [
      'agent@ours.example',
      'nobody@OURS.example',
      'x@bounce.ours.example',
      'root@mail.ours.example',
      'x@custom.example.org',
      'x@bounce.custom.example.org',
    ],
  }
  const before = (await api.get('/v1/inboxes')).body.total
  for (const [error, addresses] of Object.entries(refused)) {
    for (const forwardTo of addresses) {
      const what = JSON.stringify(forwardTo.slice(0, 40))
      t.match(await patch({ forwardTo, displayName: 'changed' }), { status: 422, body: { error } }, what)
      t.match(await api.post('/v1/inboxes', { forwardTo, mailboxName: 'free' }), { status: 422 }, what)
    }
  }
  t.match((await patch({ forwardTo: 'gone@elsewhere.example' })).body, { type: 'complaint' })
  t.match(await stored(), { ...unset, displayName: null })
  t.equal((await api.get('/v1/inboxes')).body.total, before)
  t.equal((await api.post('/v1/inboxes', { mailboxName: 'free' })).status, 201, 'the name was not taken')
  for (const table of ['message', 'forwardConfirmation', 'queueEntry'] as const)
    t.equal(await count(server, table), 0, table)
  for (const body of [{ forwardTo: 5 }, { forwardTo: [] }, { forwardWhen: true }])
    t.match(await patch(body), { status: 400, body: { error: 'invalid_request' } })
  t.strictSame(server.faults, [])
})

t.test('ten mails an hour for the account; two at once do not both take the last', async t => {
  let server: ApiApp = await startApi(t)
  const { api, clock } = server
  const inboxes: string[] = []
  for (let made = 0; made < 3; made++) inboxes.push((await api.post('/v1/inboxes', {})).body.id)
  let asked = 0
  const ask = (of = server) =>
    of.api.patch(`/v1/inboxes/${inboxes[asked % inboxes.length]}`, {
      forwardTo: `a${asked++}@elsewhere.example`,
    })
  t.equal((await ask()).status, 200)
  clock.advance(600_000)
  while (asked < 9) t.equal((await ask()).status, 200)
  const both = await Promise.all([ask(), ask(), ask()])
  t.strictSame(both.map(one => one.status).sort(), [200, 429, 429])
  const refused = both.find(one => one.status === 429)!
  t.equal(refused.body.error, 'forward_verification_limit')
  const said = Number(refused.headers.get('retry-after'))
  t.ok(said > 2990 && said <= 3000, `${said} s: when the first of them is an hour old`)
  t.match(
    await server.api.post('/v1/inboxes', { mailboxName: 'free', forwardTo: 'x@elsewhere.example' }),
    { status: 429 },
    'a creation counts too',
  )
  t.equal(await count(server, 'forwardConfirmation'), 10)

  server = await server.restart()
  t.equal((await ask()).status, 429, 'a restart forgets nothing')
  await server.api.delete(`/v1/inboxes/${inboxes.pop()}`)
  t.equal((await ask()).status, 429, 'nor does a deletion')
  asked = 30
  const { body } = await server.api.post('/v1/members', { address: `a${asked}@elsewhere.example` })
  t.equal(body.address, 'a30@elsewhere.example')
  t.match(await ask(), { status: 200, body: { forwardStatus: 'active' } }, 'a member costs no mail')
  clock.advance(said * 1000)
  asked = 40
  t.equal((await ask()).status, 200, 'one is free again')
  t.equal((await ask()).status, 429)
})

t.test('links that are not good, and when they end', async t => {
  const server = await setUp(t)
  const { app, clock, patch, stored, follow } = server
  await patch({ forwardTo: away })
  const link = await mailedLink(app, lower)
  const token = new URL(link).searchParams.get('token')!
  const base = `${server.baseUrl}/forwarding/confirm`
  const wrong = [
    '',
    'x',
    token.slice(0, -1),
    `${token}x`,
    token.replace(/\.\d+\./, '.9999999999.'),
    token.replace(/^.{8}/, '00000000'),
    token.toUpperCase(),
    `${token.slice(0, -43)}${'A'.repeat(43)}`,
    "'; drop table inbox; --\0",
  ]
  for (const one of wrong) {
    t.equal(await follow(`${base}?token=${encodeURIComponent(one)}`), 404, JSON.stringify(one))
    t.equal(await follow(`${base}?token=${encodeURIComponent(one)}`, 'GET'), 404)
    clock.advance(10_000)
  }
  t.equal(await follow(`${base}?other=1`, 'GET'), 404)
  clock.advance(forwardConfirmationMs - 150_000)
  t.equal(await follow(link, 'GET'), 200, 'seven days')
  clock.advance(150_000)
  t.equal(await follow(link), 410)
  t.equal(await findForwardQuestion(app, token), 'expired')
  t.match(await stored(), { forwardStatus: 'pending' })
  const another = await startApi(t)
  t.equal(await findForwardQuestion(another.app, token), 'unknown', 'another server signs otherwise')
})

t.test('keys: a pod key sets it for its inboxes, an inbox key reads it', async t => {
  const { app, api, apiWith } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const podApi = apiWith((await createKey(app, operator, { pod }, null)).token)
  const own = (await podApi.post('/v1/inboxes', { forwardTo: away })).body
  t.match(own, { podId: pod, forwardStatus: 'pending' })
  const inboxApi = apiWith((await createKey(app, operator, { inbox: own.id }, null)).token)
  t.match((await inboxApi.get(`/v1/inboxes/${own.id}`)).body, { forwardTo: lower })
  t.match(await inboxApi.patch(`/v1/inboxes/${own.id}`, { forwardTo: null }), { status: 403 })
  const foreign = (await api.post('/v1/inboxes', {})).body.id
  t.match(await podApi.patch(`/v1/inboxes/${foreign}`, { forwardTo: away }), { status: 404 })
  t.match(await podApi.patch(`/v1/inboxes/${own.id}`, { forwardTo: null }), { status: 200, body: unset })
  // Nobody of another pod sees whom this one asked.
  const { body } = await apiWith(
    (await createKey(app, operator, { pod: (await api.get('/v1/pods')).body.data[0].id }, null)).token,
  ).get('/v1/messages')
  t.equal(body.total, 0)
})

t.test('members', async t => {
  const { api, faults } = await startApi(t)
  t.match((await api.get('/v1/members')).body, { data: [], total: 0 })
  const made = await api.post('/v1/members', { address: away, name: 'Ann\r\nB' })
  t.match(made, { status: 201, body: { address: lower, name: 'Ann B', createdAt: String } })
  t.match(await api.post('/v1/members', { address: lower }), {
    status: 409,
    body: { error: 'member_exists' },
  })
  for (const name of ['c', 'b', 'd']) await api.post('/v1/members', { address: `${name}@x.example` })
  const page = (await api.get('/v1/members?limit=2&offset=1')).body
  t.strictSame(
    [page.total, ...page.data.map((one: { address: string }) => one.address)],
    [4, 'b@x.example', 'c@x.example'],
  )
  t.equal((await api.delete(`/v1/members/${encodeURIComponent(away)}`)).status, 204)
  t.match(await api.delete(`/v1/members/${lower}`), { status: 404 })
  t.match(await api.delete('/v1/members/nonsense'), { status: 404 })
  t.strictSame(faults, [])
})
