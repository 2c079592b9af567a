import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { eventWebhooks } from '../../lib/api/event-webhooks.ts'
import { exampleOf } from '../../lib/api/example.ts'
import { operations } from '../../lib/api/index.ts'
import { takingNulls, withoutNulls } from '../../lib/api/nulls.ts'
import { openApiDocument } from '../../lib/api/openapi.ts'
import { compileValidator } from '../../lib/api/validate.ts'
import { type SendRequest, SendRequest as sendSchema } from '../../lib/model/send.ts'
import { nameOfSchema } from '../../lib/model/shape.ts'
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

interface Described {
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
  readonly items?: Described
  readonly anyOf?: readonly Described[]
  readonly $ref?: string
}

t.test('null may stand in every optional property, however deep, and the document says so', async t => {
  const document = openApiDocument(operations, eventWebhooks, 'https://mail.example.com') as never
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const schemas = (document as { components: { schemas: Record<string, Described> } }).components.schemas
  let count = 0
  const walk = (schema: Described, at: string) => {
    const named = schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!
    for (const [name, property] of Object.entries(named.properties ?? {})) {
      const text = JSON.stringify(property).replaceAll('"#/', '"document#/')
      if (!(named.required ?? []).includes(name)) {
        t.ok(ajv.validate(JSON.parse(text), null), `${at}.${name}`)
        count++
      }
      walk(property, `${at}.${name}`)
    }
    if (named.items) walk(named.items, `${at}[]`)
    for (const one of named.anyOf ?? []) walk(one, at)
  }
  for (const { body } of operations) {
    const name = body && nameOfSchema(body)
    if (name !== undefined) walk({ $ref: name }, name)
  }
  t.ok(count > 80, `${count}`)

  const { api, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const letter = { to: 'bob@theirs.example', subject: 's', body: 'b' }
  for (const file of [
    { content: null, data: 'aGk=' },
    { content: 'aGk=', data: null },
    { content: 'aGk=', contentType: null },
  ]) {
    const attachments = [{ filename: 'f', ...file }]
    t.equal((await api.send(id, { ...letter, attachments })).status, 200, JSON.stringify(file))
    const draft = await api.post(`/v1/inboxes/${id}/drafts`, { attachments })
    t.match(draft.body.attachments, [{ filename: 'f', sizeBytes: 2 }])
    t.match(await api.patch(`/v1/drafts/${draft.body.id}`, { attachments: null }), {
      status: 200,
      body: { attachments: [] },
    })
  }
  const { threadId } = (await api.send(id, letter)).body
  for (const change of [
    { is_read: true, isRead: null },
    { is_read: null, isRead: false },
  ]) {
    t.equal((await api.patch(`/v1/threads/${threadId}`, change)).status, 200, JSON.stringify(change))
  }
  t.equal((await api.patch(`/v1/threads/${threadId}`, { is_read: null })).status, 400, 'nothing is said')
  t.strictSame(faults, [])
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
  const letter = { to: 'a@x.example', subject: 's', body: 'b' }
  const isRefused = async (answer: Promise<unknown>, what: string) =>
    t.match(await answer, { status: 400, body: { error: 'invalid_request' } }, what)
  for (const address of ['a@localhost', 'A@LOCALHOST', 'Ann <a@mailhost>']) {
    for (const name of ['to', 'cc', 'bcc']) {
      await isRefused(api.send(id, { ...letter, [name]: address }), `${name} ${address}`)
      await isRefused(api.post(`/v1/inboxes/${id}/drafts`, { [name]: [address] }), `${name} of a draft`)
    }
  }
  for (const address of ['a@localhost', '*@x.example', 'a*@x.example']) {
    await isRefused(api.post('/v1/members', { address }), `member ${address}`)
    await isRefused(api.post('/v1/suppressions', { recipient: address }), `suppression ${address}`)
  }
  await isRefused(api.send(id, { ...letter, replyTo: 'a@localhost' }), 'replyTo')
  await isRefused(
    api.post('/v1/policy/rules', { type: 'block', value: 'a@localhost', direction: 'inbound' }),
    'rule',
  )
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
    `-x.example`,
    `x-.example`,
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
