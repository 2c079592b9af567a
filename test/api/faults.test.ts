import t from 'tap'
import type { Answer } from '../support/api.ts'
import { startApi } from '../support/api-app.ts'

t.test('a refusal names every fault, each in a sentence', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const two = await api.patch(`/v1/inboxes/${id}`, { displayName: 5, forwardTo: [] })
  t.equal(two.status, 400)
  t.equal(
    two.body.message,
    'body/displayName must be a text of at most 200 characters. body/forwardTo must be a text.',
  )
  t.strictSame(
    two.body.details.map((fault: { path: string }) => fault.path),
    ['/displayName', '/forwardTo'],
  )
  const many = await api.patch(`/v1/inboxes/${id}`, { a: 1, b: 2, c: 3, d: 4, e: 5 })
  t.match(
    many.body.message,
    /^body\/a [^.]*\. body\/b [^.]*\. body\/c [^.]*\. 2 more faults stand in details\.$/,
  )
  t.equal(many.body.details.length, 5)
  const four = await api.patch(`/v1/inboxes/${id}`, { a: 1, b: 2, c: 3, d: 4 })
  t.match(four.body.message, /1 more fault stands in details\.$/)
  const draft = await api.post(`/v1/inboxes/${id}/drafts`, { subject: 5, cc: [7] })
  t.notMatch(draft.body.message, /must be null|anyOf/, 'what would do instead is said of what was given')
  t.match(draft.body.details, [{ path: '/cc/0' }, { path: '/subject' }])
  t.strictSame(faults, [])
})

const paths = ({ body }: Answer): string[] => body.details.map(({ path }: { path: string }) => path).sort()

t.test('what the schema finds hides nothing of the rest', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const send = async (letter: object) => paths(await api.send(id, letter))
  const file = { filename: 'f', content: 'YQ==' }
  t.strictSame(await send({ to: 'x', cc: 'y', replyTo: 'z', subject: '', body: '' }), [
    '/body',
    '/cc',
    '/replyTo',
    '/subject',
    '/to',
  ])
  t.strictSame(await send({}), ['/body', '/subject', '/to'])
  t.strictSame(await send({ body: 'b' }), ['/subject', '/to'], 'also where the schema finds nothing')
  t.strictSame(await send({ to: [], body: 'b', replyAll: true }), ['/replyAll', '/subject', '/to'])
  t.strictSame(await send({ to: ['a@x.example', 'x', 5, 'y'], body: 'b', subject: 's' }), [
    '/to/1',
    '/to/2',
    '/to/3',
  ])
  const attachments = [{ content: '***' }, { ...file, content: '***' }, file, {}, { ...file, data: 'YQ==' }]
  t.strictSame(await send({ to: 'a@x.example', subject: 's', body: 'b', attachments }), [
    '/attachments/0/content',
    '/attachments/0/filename',
    '/attachments/1/content',
    '/attachments/3/content',
    '/attachments/3/filename',
    '/attachments/4/data',
  ])
  const large = { filename: '', content: `${'*'.repeat(2 * 1024 * 1024)}` }
  t.strictSame(await send({ to: 'a@x.example', subject: 's', body: 'b', attachments: [large] }), [
    '/attachments/0/content',
    '/attachments/0/filename',
  ])
  const name = { mailboxName: 'Ünïcode', displayName: 'x'.repeat(201), clientId: '', forwardTo: 'x' }
  const inbox = await api.post('/v1/inboxes', { ...name, webhookUrl: 'ftp://x' })
  t.strictSame(paths(inbox), ['/clientId', '/displayName', '/forwardTo', '/mailboxName', '/webhookUrl'])
  t.equal((await api.post('/v1/inboxes', { mailboxName: 'ä' })).body.error, 'invalid_mailbox_name')
  t.equal((await api.post('/v1/inboxes', { forwardTo: 'ä' })).body.error, 'invalid_forward_to')

  const draft = (await api.post(`/v1/inboxes/${id}/drafts`, {})).body
  const sent = await api.call('POST', `/v1/drafts/${draft.id}/send`, undefined, { 'idempotency-key': 'd' })
  t.strictSame(paths(sent), ['/body', '/subject', '/to'])
  const change = await api.patch(`/v1/drafts/${draft.id}`, { to: 'x', subject: 5, sendAt: 'soon' })
  t.strictSame(paths(change), ['/sendAt', '/subject', '/to'])

  const rules = [{ type: 'allow', value: 'x' }, { type: 'let', value: 'a@x.example' }, { value: '*y' }]
  const policy = await api.call('PUT', '/v1/policy', { inbound: { mode: 'none', rules } })
  t.strictSame(paths(policy), [
    '/inbound/rules/0/value',
    '/inbound/rules/1/type',
    '/inbound/rules/2/type',
    '/inbound/rules/2/value',
  ])
  t.strictSame(paths(await api.post('/v1/policy/rules', { value: '*y' })), ['/direction', '/type', '/value'])
  const suppression = { recipient: 'x', reason: 'y', expiresAt: 'z' }
  t.strictSame(paths(await api.post('/v1/suppressions', suppression)), [
    '/expiresAt',
    '/reason',
    '/recipient',
  ])
  t.strictSame(paths(await api.post('/v1/members', { address: 'x', name: 5 })), ['/address', '/name'])
  t.strictSame(paths(await api.post('/v1/feedback', { message: ' ', type: 'x' })), ['/message', '/type'])
  t.strictSame(paths(await api.post('/v1/pods', { clientId: '', name: 5 })), ['/clientId', '/name'])

  const many = { to: Array.from({ length: 5000 }, () => 'x'), cc: 'y', body: 5 }
  t.equal((await api.send(id, many)).body.details.length, 20, 'bounded as everything')
  t.strictSame(faults, [])
})

t.test('of each fault one sentence, in words for people', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const said = async (answer: Promise<Answer>) => (await answer).body.message
  const letter = { to: 'a@x.example', subject: 's', body: 'b' }
  t.equal(
    await said(api.call('PUT', '/v1/policy', { inbound: { mode: null, rules: [] } })),
    'body/inbound/mode must be one of "none", "allowlist", "inherit".',
  )
  t.match(
    await said(api.call('PUT', '/v1/policy/mode', { mode: 'alowlist', direction: 'inbound' })),
    /did you mean "allowlist"\?\.$/,
  )
  t.equal(
    await said(api.post('/v1/feedback', { type: 'bug', message: 'm', context: [1] })),
    'body/context must be a text or an object.',
  )
  t.equal(
    await said(api.send(id, { ...letter, subject: '' })),
    'body/subject must be a text of 1 to 998 characters.',
  )
  t.equal(
    await said(api.send(id, { ...letter, cc: {} })),
    'body/cc must be a text of at most 998 characters or a list of at most 100 entries.',
  )
  t.equal(
    await said(api.get(`/v1/inboxes/${id}/threads?is_read=maybe`)),
    'query/is_read must be true or false.',
  )
  t.equal(await said(api.get('/v1/inboxes?limit=-1')), 'query/limit must be a whole number of at least 0.')
  t.equal(await said(api.send(id, [] as never)), 'body must be an object.')
  t.strictSame(faults, [])
})

t.test('a property that is unknown is told its likely name', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const means = async (name: string) =>
    (await api.send(id, { to: 'a@example.net', subject: 's', body: 'b', [name]: 'x' })).body.message
  t.match(
    await means('bodyHTML'),
    'body/bodyHTML is not a property that is known here (did you mean bodyHtml?).',
  )
  t.match(await means('includequote'), /did you mean includeQuote\?/)
  t.match(await means('atachments'), /did you mean attachments\?/)
  t.match(await means('text'), /did you mean body\?/)
  for (const html of ['html', 'htmlBody', 'html_body', 'HTML'])
    t.match(await means(html), /did you mean bodyHtml\?/, html)
  t.match(await means('in_reply_to'), /did you mean threadId\?/)
  t.notMatch(await means('constructor'), /did you mean/)
  t.notMatch(await means('colour'), /did you mean/)
  t.notMatch(await means('x'.repeat(200)), /did you mean/)
  const query = await api.get('/v1/inboxes?ofset=1')
  t.match(query.body?.message ?? 'taken', /taken|did you mean offset\?/)
  t.strictSame(faults, [])
})

t.test('a domain that is not verified yet is called so', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/domains', { domain: 'agents.example.net' })).body
  const own = await api.post('/v1/inboxes', { domain: 'Agents.example.net' })
  t.strictSame([own.status, own.body.error], [400, 'invalid_domain'])
  t.match(own.body.message, `agents.example.net is not verified yet. GET /v1/domains/${id} lists the records`)
  const unknown = await api.post('/v1/inboxes', { domain: 'nobody.example.net' })
  t.strictSame([unknown.status, unknown.body.error], [400, 'invalid_domain'])
  t.notMatch(unknown.body.message, /verified/)

  const pod = (await api.post('/v1/pods', {})).body.id
  await api.post('/v1/domains', { domain: 'theirs.example.net', podId: pod })
  const foreign = await api.post('/v1/inboxes', { domain: 'theirs.example.net' })
  t.equal(foreign.body.message, unknown.body.message, 'of what another pod added nothing is said')
  t.strictSame(faults, [])
})

t.test('a threadId that is no id leaves the key for the request that was meant', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const letter = { to: 'a@x.example', subject: 's', body: 'b' }
  const refused = await api.send(id, { ...letter, threadId: 'x' }, 'once')
  t.strictSame([refused.status, refused.body.error], [404, 'not_found'])
  t.equal((await api.send(id, letter, 'once')).status, 200)
  t.strictSame(faults, [])
})
