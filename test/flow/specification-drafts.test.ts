import t from 'tap'
import { fieldOf, startSpecified, unlike } from '../support/specified.ts'
import { until } from '../support/until.ts'

const it = await startSpecified(t)
const { api } = it
const agent = await it.inbox({ mailboxName: 'agent' })
const nowhere = '0193e2a4-0000-7000-8000-000000000000'
const path = `/v1/inboxes/${agent.id}/drafts`
const send = (id: string, key: string) =>
  api.post(`/v1/drafts/${id}/send`, undefined, { 'idempotency-key': key })

t.test('drafts', async t => {
  const empty = await api.post(path, {})
  t.equal(empty.status, 201, 'POST drafts: send body, all optional')
  t.strictSame(
    unlike(empty.body, [
      'id',
      'inboxId',
      'threadId',
      'to',
      'cc',
      'bcc',
      'subject',
      'body',
      'bodyHtml',
      'bodyFormat',
      'notIncluded',
      'replyTo',
      'attachments',
      'sendAt',
      'status',
      'messageId',
      'createdAt',
      'updatedAt',
    ]).filter(name => !['includeQuote', 'replyAll', 'autoSubmitted', 'lastError'].includes(name)),
    [],
    'Draft: its fields',
  )
  t.match(
    empty.body,
    {
      inboxId: agent.id,
      threadId: null,
      to: [],
      cc: [],
      bcc: [],
      subject: null,
      body: null,
      bodyHtml: null,
      replyTo: null,
      attachments: [],
      sendAt: null,
      status: 'open',
      messageId: null,
    },
    'nullable ones null, lists empty, status `open`',
  )
  const nulls = Object.fromEntries(
    ['threadId', 'to', 'cc', 'bcc', 'subject', 'body', 'bodyHtml', 'replyTo', 'attachments', 'sendAt'].map(
      name => [name, null],
    ),
  )
  const given = await api.post(path, nulls)
  t.equal(given.status, 201, `null means "not given" ${JSON.stringify(given.body)}`)
  const full = {
    to: 'Ann <ann@theirs.example>',
    cc: ['c@theirs.example'],
    bcc: 'd@theirs.example',
    subject: 'Fish',
    body: 'b',
  }
  const made = await api.post(path, full)
  const { id } = made.body
  t.match(
    made.body,
    {
      to: [/ann@theirs\.example/],
      cc: ['c@theirs.example'],
      bcc: ['d@theirs.example'],
      subject: 'Fish',
      body: 'b',
    },
    'to takes one or a list; so do cc, bcc, drafts',
  )
  t.match(
    (await api.get(path)).body,
    { total: 3, data: Array(3).fill({ id: String }) },
    'GET /v1/inboxes/{id}/drafts',
  )
  t.match((await api.get(`/v1/drafts/${id}`)).body, { id, subject: 'Fish' }, 'GET /v1/drafts/{id}')
  const patched = await api.patch(`/v1/drafts/${id}`, { subject: 'Bones', cc: null, bcc: null })
  t.match(
    [patched.status, patched.body],
    [200, { subject: 'Bones', cc: [], bcc: [], body: 'b' }],
    'PATCH: `null` clears the field',
  )
  t.equal((await api.patch(`/v1/drafts/${id}`, { subjekt: 'x' })).status, 400, 'an unknown property')
  const missing = await api.post(`/v1/drafts/${id}/send`)
  t.match(
    [missing.status, missing.body.error],
    [400, 'missing_idempotency_key'],
    'POST /v1/drafts/{id}/send (Idempotency-Key)',
  )
  const sent = await send(id, 'd1')
  t.equal(sent.status, 200, 'same response as send')
  t.strictSame(
    unlike(sent.body, [
      'messageId',
      'threadId',
      'providerMessageId',
      'status',
      'to',
      'cc',
      'bcc',
      'notIncluded',
    ]),
    [],
    'the send result',
  )
  t.match((await send(id, 'd1')).body, sent.body, 'a repeat gives the original answer')
  t.equal(fieldOf(await it.raw(sent.body.messageId), 'Subject'), 'Bones', 'as it was changed')
  t.match(
    (await api.get(`/v1/drafts/${id}`)).body,
    { status: 'sent', messageId: sent.body.messageId },
    'status `sent`, messageId',
  )
  for (const [what, answer] of [
    ['changed', await api.patch(`/v1/drafts/${id}`, { subject: 'x' })],
    ['sent again', await send(id, 'd2')],
  ] as const) {
    t.match(
      [answer.status, answer.body.error],
      [409, 'draft_sent'],
      `a sent draft can't be ${what} (409 \`draft_sent\`)`,
    )
  }
  const incomplete = await send(empty.body.id, 'd3')
  t.match(
    [incomplete.status, incomplete.body.error],
    [400, 'invalid_request'],
    'same errors as send: no to, no body',
  )
  const self = await api.post(path, { ...full, to: agent.address, cc: null })
  t.match((await send(self.body.id, 'd4')).body.error, 'recipient_is_sender', 'same errors as send')

  const arrived = await it.arrive(agent.id, {
    to: agent.address,
    headers: ['Subject: Q', 'Reply-To: desk@theirs.example'],
  })
  const reply = await api.post(path, { threadId: arrived.threadId, body: 'b' })
  t.match(
    reply.body,
    { threadId: arrived.threadId, to: ['desk@theirs.example'] },
    '`to` may be empty with a thread; the draft fixes its recipients and shows them',
  )
  const replied = await send(reply.body.id, 'd5')
  t.match(fieldOf(await it.raw(replied.body.messageId), 'To'), 'desk@theirs.example', 'the reply rule')
  t.equal(replied.body.threadId, arrived.threadId, 'in the thread')

  const content = Buffer.from('A note').toString('base64')
  const attached = await api.post(path, {
    ...full,
    attachments: [{ filename: 'n.txt', contentType: 'text/plain', content }],
  })
  t.match(
    attached.body.attachments,
    [{ filename: 'n.txt', contentType: 'text/plain', sizeBytes: 6, url: String }],
    'its attachments have signed URLs',
  )
  t.equal(await (await fetch(attached.body.attachments[0].url)).text(), 'A note', 'that can be fetched')
  const later = await api.post(path, { ...full, sendAt: new Date(Date.now() + 3_600_000).toISOString() })
  t.equal(later.body.status, 'scheduled', 'with `sendAt`: `scheduled`')
  const open = await api.patch(`/v1/drafts/${later.body.id}`, { sendAt: null })
  t.match(open.body, { status: 'open', sendAt: null }, 'sendAt null: `open` again')
  const soon = await api.post(path, { ...full, sendAt: new Date(Date.now() + 500).toISOString() })
  await until(
    'the draft to be sent',
    async () => (await api.get(`/v1/drafts/${soon.body.id}`)).body.status === 'sent',
  )
  t.pass('a draft with `sendAt` is sent at that time')
  t.equal((await api.post(path, { ...full, sendAt: 'tomorrow' })).status, 400, 'sendAt is a date-time')

  t.equal((await api.delete(`/v1/drafts/${open.body.id}`)).status, 204, 'DELETE → 204')
  for (const absent of [open.body.id, nowhere, 'nonsense']) {
    t.equal((await api.get(`/v1/drafts/${absent}`)).status, 404, `404: ${absent}`)
  }
  const other = await it.inbox({})
  const narrow = it.as((await api.post(`/v1/inboxes/${agent.id}/api-keys`, {})).body.token)
  t.equal((await narrow.post(path, full)).status, 201, 'an inbox key reaches its drafts')
  t.equal((await narrow.post(`/v1/inboxes/${other.id}/drafts`, full)).status, 404, 'and no others')
  const stranger = it.as((await api.post(`/v1/inboxes/${other.id}/api-keys`, {})).body.token)
  t.equal((await stranger.get(`/v1/drafts/${attached.body.id}`)).status, 404, 'of which it learns nothing')
})
