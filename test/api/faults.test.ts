import t from 'tap'
import { startApi } from '../support/api-app.ts'

t.test('a refusal names every fault, each in a sentence', async t => {
  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const two = await api.patch(`/v1/inboxes/${id}`, { displayName: 5, forwardTo: [] })
  t.equal(two.status, 400)
  t.equal(two.body.message, 'body/displayName must be string,null. body/forwardTo must be string,null.')
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
