import t from 'tap'
import { exampleOf } from '../../lib/api/example.ts'
import { operations } from '../../lib/api/index.ts'
import { takingNulls, withoutNulls } from '../../lib/api/nulls.ts'
import { compileValidator } from '../../lib/api/validate.ts'
import { type SendRequest, SendRequest as sendSchema } from '../../lib/model/send.ts'
import { startApi } from '../support/api-app.ts'

t.test('every optional field of every body of POST and PUT takes null', async t => {
  let fields = 0
  for (const { id, method, body } of operations) {
    if (!body || method === 'patch') continue
    const validate = compileValidator(body, 'body')
    const example = exampleOf(body) as Record<string, unknown>
    for (const name of Object.keys(body.properties)) {
      const isRequired = (body.required ?? []).includes(name)
      const given = { ...example, [name]: null }
      if (isRequired) t.throws(() => validate(given), { code: 'invalid_request' }, `${id} needs ${name}`)
      else t.strictSame(validate(given), given, `${id} ${name}`)
      if (!isRequired) fields++
    }
  }
  t.ok(fields > 25)
})

t.test('null is the same as nothing, however deep', async t => {
  const given = {
    to: 'a@x.example',
    body: 'b',
    subject: null,
    cc: null,
    attachments: [{ filename: 'a', contentType: null, content: 'YQ==' }],
  }
  compileValidator(takingNulls(sendSchema), 'body')(given)
  t.strictSame(withoutNulls(given, sendSchema) as unknown as SendRequest, {
    to: 'a@x.example',
    body: 'b',
    attachments: [{ filename: 'a', content: 'YQ==' }],
  })
  t.throws(() => compileValidator(takingNulls(sendSchema), 'body')({ ...given, body: null }))
  t.throws(() => compileValidator(takingNulls(sendSchema), 'body')({ ...given, cc: [null] }))
})

t.test('as clients send it', async t => {
  const { api, faults } = await startApi(t)
  const none = { displayName: null, webhookUrl: null, forwardTo: null, forwardWhen: null }
  const made = await api.post('/v1/inboxes', { mailboxName: null, domain: null, podId: null, ...none })
  t.match(made, { status: 201, body: { address: /@ours\.example$/, displayName: null } })
  const { id } = made.body
  const letter = {
    to: 'bob@theirs.example',
    subject: 's',
    body: 'b',
    bodyHtml: null,
    threadId: null,
    includeQuote: null,
    replyTo: null,
    cc: null,
    bcc: null,
    attachments: null,
    autoSubmitted: null,
  }
  t.equal((await api.send(id, letter)).status, 200)
  t.match(await api.send(id, { ...letter, subject: null }), {
    status: 400,
    body: { error: 'invalid_request' },
  })
  const draft = await api.post(`/v1/inboxes/${id}/drafts`, { ...letter, sendAt: null })
  t.equal(draft.status, 201)
  t.equal((await api.post('/v1/pods', { clientId: null, name: null })).status, 201)
  t.equal((await api.post(`/v1/inboxes/${id}/api-keys`, { name: null })).status, 201)
  t.equal((await api.call('PUT', '/v1/policy', { inbound: null, outbound: null })).status, 200)
  const suppressed = { recipient: 'a@x.example', reason: null, evidence: null, expiresAt: null }
  t.match(await api.post('/v1/suppressions', suppressed), { status: 201, body: { reason: 'manual' } })
  t.equal((await api.post('/v1/members', { address: 'a@x.example', name: null })).status, 201)

  // In a PATCH it clears.
  await api.patch(`/v1/inboxes/${id}`, { displayName: 'Ann' })
  t.match(await api.patch(`/v1/inboxes/${id}`, {}), { body: { displayName: 'Ann' } })
  t.match(await api.patch(`/v1/inboxes/${id}`, { displayName: null }), { body: { displayName: null } })
  t.match(await api.patch(`/v1/drafts/${draft.body.id}`, { subject: null }), { body: { subject: null } })
  t.strictSame(faults, [])
})

t.test('values that can not be', async t => {
  const { api } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  for (const value of [
    'foo*@x.example',
    '*foo@x.example',
    'f*o@x.example',
    '"a*b"@x.example',
    'a@*.x.example',
  ]) {
    for (const body of [{ type: 'block', value, direction: 'inbound' }]) {
      t.match(
        await api.post('/v1/policy/rules', body),
        { status: 400, body: { error: 'invalid_request' } },
        value,
      )
    }
    const put = { outbound: { mode: 'none', rules: [{ type: 'allow', value }] } }
    t.match(
      await api.call('PUT', '/v1/policy', put),
      { status: 400, body: { error: 'invalid_request' } },
      value,
    )
  }
  for (const value of ['*@x.example', '*.x.example', '@x.example', 'foo@x.example', 'x.example']) {
    const answer = await api.post(`/v1/policy/rules`, { type: 'allow', value, direction: 'outbound' })
    t.ok([201, 409].includes(answer.status), value)
  }
  for (const forwardTo of ['a@localhost', 'a@x', 'A@LOCALHOST', 'a@mailhost']) {
    const refused = { status: 422, body: { error: 'invalid_forward_to' } }
    t.match(await api.patch(`/v1/inboxes/${id}`, { forwardTo }), refused, forwardTo)
    t.match(await api.post('/v1/inboxes', { forwardTo }), refused, forwardTo)
  }
  const refused = { status: 422, body: { error: 'invalid_webhook_url' } }
  for (const host of [
    `${'a'.repeat(64)}.example.com`,
    `x.${'b'.repeat(100)}`,
    `a..example.com`,
    `.example.com`,
    `${'a.'.repeat(124)}example.com`,
  ]) {
    const url = `https://${host}/hook`
    t.match(await api.patch(`/v1/inboxes/${id}`, { webhookUrl: url }), refused, host)
    t.match(await api.call('PUT', '/v1/webhook', { url }), refused, host)
  }
  for (const host of [`${'a'.repeat(63)}.example.com`, 'example.com.', '[2606:4700::1111]', '1.1.1.1']) {
    t.equal((await api.patch(`/v1/inboxes/${id}`, { webhookUrl: `https://${host}/` })).status, 200, host)
  }
})
