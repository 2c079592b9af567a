import t from 'tap'
import { fieldOf, startSpecified } from '../support/specified.ts'
import { until } from '../support/until.ts'

const it = await startSpecified(t)
const { api } = it
const agent = await it.inbox({ mailboxName: 'agent', displayName: 'Agent Ö' })
const other = await it.inbox({ mailboxName: 'other' })
const plain = { to: 'bob@theirs.example', subject: 'Fish', body: 'Three euros.' }

t.test('what is sent', async t => {
  const sent = await api.send(agent.id, plain, 'first')
  t.equal(sent.status, 200, 'send answers 200')
  t.strictSame(
    Object.keys(sent.body).sort(),
    ['bcc', 'cc', 'messageId', 'notIncluded', 'providerMessageId', 'status', 'threadId', 'to'],
    '{messageId, threadId, providerMessageId, status}, and whom it reached',
  )
  t.equal(sent.body.status, 'pending', '`status` is `pending` once the message is durably queued')
  const raw = await it.raw(sent.body.messageId)
  t.equal(
    sent.body.providerMessageId,
    fieldOf(raw, 'Message-ID'),
    'providerMessageId is the Message-ID header',
  )
  t.match(sent.body.providerMessageId, /^<.+@.+>$/, 'with angle brackets')
  t.ok(fieldOf(raw, 'Date'), 'all outbound mail carries Date')
  t.match(
    fieldOf(raw, 'From'),
    /^=\?UTF-8\?.*\?= <agent@ours\.example>$/i,
    'displayName is shown in the From header',
  )
  t.equal(fieldOf(raw, 'Auto-Submitted'), undefined, 'Auto-Submitted only when the request sets it')
  t.equal(fieldOf(raw, 'Feedback-ID'), undefined, 'Feedback-ID-free minimal headers')
  const { body: message } = await api.get(`/v1/messages/${sent.body.messageId}`)
  t.match(
    message,
    {
      direction: 'outbound',
      threadId: sent.body.threadId,
      fromAddr: 'agent@ours.example',
      toAddr: 'bob@theirs.example',
    },
    'toAddr is the primary recipient for outbound mail',
  )
  t.match(
    message,
    { headerTo: null, deliveryRole: null, addressNames: null },
    'headerTo, deliveryRole, addressNames: inbound only',
  )
  t.strictSame(message.bcc, [], 'bcc: blind-copy recipients')

  const html = await api.send(agent.id, {
    to: other.address,
    subject: 'HTML',
    body: '<p>Hello <b>there</b></p>',
  })
  const { body: rendered } = await api.get(`/v1/messages/${html.body.messageId}`)
  t.match(rendered.bodyHtml, /<b>there<\/b>/, 'HTML is auto-detected')
  t.match(rendered.bodyText, /^Hello there\s*$/, 'and a plain-text fallback is generated')
  const text = await api.send(agent.id, { ...plain, body: 'a <b and c> d' })
  t.equal(
    (await api.get(`/v1/messages/${text.body.messageId}`)).body.bodyText.trim(),
    'a <b and c> d',
    'text stays text',
  )
  const both = await api.send(agent.id, { ...plain, body: 'plain', bodyHtml: '<p>rich</p>' })
  const differing = (await api.get(`/v1/messages/${both.body.messageId}`)).body
  t.match(
    [differing.bodyText, differing.bodyHtml],
    [/^plain/, /rich/],
    'bodyHtml: when the text and HTML versions must differ',
  )
  const status = await until('the end', async () => {
    const now = (await api.get(`/v1/messages/${html.body.messageId}`)).body.status
    return now !== 'pending' && now
  })
  t.equal(status, 'sent', '`sent` if all were accepted by their server')
  const deliveries = await api.get(`/v1/messages/${html.body.messageId}/deliveries`)
  t.equal(deliveries.body.data.length, 1, "a message's deliveries are at /deliveries, one per recipient")

  const dressed = await api.send(agent.id, {
    ...plain,
    to: 'Ann <ann@theirs.example>',
    cc: ['Carol <carol@theirs.example>', 'dora@theirs.example'],
    bcc: ['eve@theirs.example'],
    replyTo: 'desk@theirs.example',
    autoSubmitted: true,
  })
  t.equal(dressed.status, 200, JSON.stringify(dressed.body))
  const dress = await it.raw(dressed.body.messageId)
  t.equal(fieldOf(dress, 'To'), 'Ann <ann@theirs.example>', '`to` may be `Ann <a@b>`')
  t.equal(
    fieldOf(dress, 'Cc'),
    'Carol <carol@theirs.example>, dora@theirs.example',
    'cc: each `a@b` or `Ann <a@b>`',
  )
  t.notMatch(dress, /eve@/, 'bcc: the header never leaves the server')
  t.equal(fieldOf(dress, 'Reply-To'), 'desk@theirs.example', 'replyTo sets the Reply-To header')
  t.equal(
    fieldOf(dress, 'Auto-Submitted'),
    'auto-generated',
    '`Auto-Submitted: auto-generated` when the request sets it',
  )
  const shown = (await api.get(`/v1/messages/${dressed.body.messageId}`)).body
  t.strictSame(shown.cc, ['carol@theirs.example', 'dora@theirs.example'], 'address fields stay bare')
  t.strictSame(shown.bcc, ['eve@theirs.example'], 'bcc: blind-copy recipients on outbound mail')
  const listed = await api.send(agent.id, {
    ...plain,
    to: ['Ann <ann@theirs.example>', 'bob@theirs.example'],
    cc: 'c@theirs.example',
    bcc: 'd@theirs.example',
  })
  t.equal(listed.status, 200, '`to`, `cc`, `bcc` take an address or a list')
  t.equal(
    fieldOf(await it.raw(listed.body.messageId), 'To'),
    'Ann <ann@theirs.example>, bob@theirs.example',
    'each in To',
  )
  const nulls = {
    threadId: null,
    bodyHtml: null,
    includeQuote: null,
    replyTo: null,
    cc: null,
    bcc: null,
    attachments: null,
    replyAll: null,
    autoSubmitted: null,
  }
  const given = await api.send(agent.id, { ...plain, ...nulls })
  t.equal(
    given.status,
    200,
    `\`null\` for an optional field means "not given": ${JSON.stringify(given.body)}`,
  )
})

t.test('what is refused', async t => {
  const refused = async (body: unknown, status: number, error: string, sentence: string) => {
    const answer = await api.send(agent.id, body)
    t.match([answer.status, answer.body], [status, { error, message: String }], sentence)
    return answer.body
  }
  const addresses = (count: number) => Array.from({ length: count }, (_, n) => `n${n}@theirs.example`)
  await refused({ ...plain, body: '' }, 400, 'invalid_request', 'body: length 1')
  await refused({ ...plain, body: 'a'.repeat(100_001) }, 400, 'invalid_request', 'body: length to 100000')
  t.equal(
    (await api.send(agent.id, { ...plain, body: 'a'.repeat(100_000) })).status,
    200,
    'body of 100000 is sent',
  )
  await refused({ ...plain, subject: '' }, 400, 'invalid_request', 'subject: length 1')
  await refused({ ...plain, subject: 'a'.repeat(999) }, 400, 'invalid_request', 'subject: length to 998')
  t.equal(
    (await api.send(agent.id, { ...plain, subject: 'a'.repeat(998) })).status,
    200,
    'subject of 998 is sent',
  )
  await refused({ to: plain.to, body: 'b' }, 400, 'invalid_request', 'subject is required for new threads')
  await refused({ to: plain.to, subject: 's' }, 400, 'invalid_request', 'body is required')
  await refused({ subject: 's', body: 'b' }, 400, 'invalid_request', '`to` is required without threadId')
  await refused({ ...plain, bodyHtml: 'a'.repeat(500_001) }, 400, 'invalid_request', 'bodyHtml: max 500000')
  await refused({ ...plain, to: 'nobody' }, 400, 'invalid_request', 'to is an email address')
  await refused({ ...plain, cc: ['nobody'] }, 400, 'invalid_request', 'cc are email addresses')
  await refused({ ...plain, bcc: ['nobody'] }, 400, 'invalid_request', 'bcc: the same checks as cc')
  await refused({ ...plain, replyTo: 'nobody' }, 400, 'invalid_request', 'replyTo is an email address')
  await refused(
    { ...plain, to: addresses(50), cc: addresses(101).slice(50) },
    400,
    'invalid_request',
    '100 recipients in all',
  )
  t.equal((await api.send(agent.id, { ...plain, to: addresses(100) })).status, 200, '100 are sent')
  const unknown = await refused(
    { ...plain, subjekt: 'x' },
    400,
    'invalid_request',
    'an unknown property gets 400',
  )
  t.match(unknown.message, /did you mean.*subject/i, 'unknown properties get "did you mean"')
  t.ok(Array.isArray(unknown.details), 'in an additional `details` array')
  await refused(
    { ...plain, to: agent.address },
    422,
    'recipient_is_sender',
    'mail from an inbox to itself is refused',
  )
  await refused(
    { ...plain, threadId: 'nonsense' },
    404,
    'not_found',
    'ids that are not UUIDs give 404, never 500',
  )
  await refused(
    { ...plain, threadId: '0193e2a4-0000-7000-8000-000000000000' },
    404,
    'not_found',
    'a thread that is not there',
  )
  t.equal(
    (await api.post('/v1/suppressions', { recipient: 'gone@theirs.example' })).status,
    201,
    '`POST /v1/suppressions`',
  )
  const suppressed = await refused(
    { ...plain, to: 'Gone@Theirs.example' },
    422,
    'recipient_suppressed',
    'recipient is on the suppression list (lower-cased)',
  )
  t.match(suppressed, { recipient: 'gone@theirs.example', type: String }, 'with `recipient` and `type`')
  await refused(
    { ...plain, bcc: ['gone@theirs.example'] },
    422,
    'recipient_suppressed',
    'bcc: with the same checks',
  )
})

t.test('Idempotency-Key', async t => {
  const box = await it.inbox({ mailboxName: 'repeats' })
  const total = async () => (await api.get(`/v1/inboxes/${box.id}/messages`)).body.total
  const without = await api.post(`/v1/inboxes/${box.id}/send`, plain)
  t.match(
    [without.status, without.body.error],
    [400, 'missing_idempotency_key'],
    'Send without `Idempotency-Key`',
  )
  const key = (await api.post(`/v1/inboxes/${box.id}/api-keys`, { name: 'one' })).body.token
  const elsewhere = (await api.post(`/v1/inboxes/${other.id}/api-keys`, {})).body.token
  const pod = (await api.post('/v1/pods', {})).body
  const podKey = (await api.post(`/v1/pods/${pod.id}/api-keys`, {})).body.token
  const theirs = await it.inbox({ podId: pod.id })
  const defaultPod = (await api.get('/v1/pods')).body.data[0]
  const defaultKey = (await api.post(`/v1/pods/${defaultPod.id}/api-keys`, {})).body.token

  const first = await api.send(box.id, plain, 'k1')
  for (const [who, token] of [
    ['account', it.token],
    ['pod', defaultKey],
    ['inbox', key],
  ]) {
    const again = await it.as(token).send(box.id, plain, 'k1')
    t.match(
      [again.status, again.body],
      [200, first.body],
      `a repeat gives the original answer, by the ${who} key`,
    )
  }
  t.equal(await total(), 1, 'without sending again')
  const another = await api.send(box.id, { ...plain, body: 'b' }, 'k1')
  t.match(
    [another.status, another.body.error],
    [409, 'idempotency_key_conflict'],
    'the same key with another body gets 409',
  )
  const byInboxKey = await it.as(key).send(box.id, { ...plain, body: 'b' }, 'k1')
  t.equal(byInboxKey.status, 409, 'whatever credential sends')
  const reached = await api.send(other.id, plain, 'k1')
  t.match(
    [reached.status, reached.body.error],
    [409, 'idempotency_key_conflict'],
    'or for another inbox that the caller reaches',
  )
  t.equal(
    (await it.as(defaultKey).send(other.id, plain, 'k1')).status,
    409,
    "a pod key reaches the pod's inboxes",
  )
  t.equal((await it.as(elsewhere).send(other.id, plain, 'k1')).status, 200, 'no inbox learns of another')
  t.equal((await it.as(podKey).send(theirs.id, plain, 'k1')).status, 200, 'no tenant learns of another')

  const self = { ...plain, to: box.address }
  const content = await api.send(box.id, self, 'k2')
  const contentAgain = await api.send(box.id, self, 'k2')
  t.match([contentAgain.status, contentAgain.body], [422, content.body], 'remembered: 422')
  t.equal((await api.send(box.id, plain, 'k2')).status, 409, 'a 422 uses its key up')
  t.equal(
    (await api.send(box.id, { ...plain, threadId: '0193e2a4-0000-7000-8000-000000000000' }, 'k3')).status,
    404,
    'a thread that is not there',
  )
  t.equal((await api.send(box.id, plain, 'k3')).status, 409, 'remembered: 404 of a thread')
  for (const [name, body] of Object.entries({
    'an unknown property': { ...plain, subjekt: 's' },
    'a missing body': { to: plain.to, subject: 's' },
    'a missing subject': { to: plain.to, body: 'b' },
    'a missing to': { subject: 's', body: 'b' },
    'no address': { ...plain, to: 'nobody' },
    'broken JSON': '{"to":',
  })) {
    const before = await api.send(box.id, body, `m-${name}`)
    t.equal(before.status, 400, name)
    t.equal(
      (await api.send(box.id, plain, `m-${name}`)).status,
      200,
      `never a 400 for what the request looked like, so that a corrected request may use its key: ${name}`,
    )
  }
  const at = await Promise.all(
    Array.from({ length: 4 }, () => api.send(box.id, { ...plain, subject: 'At once' }, 'k4')),
  )
  t.equal(
    new Set(at.map(({ status, body }) => `${status} ${body.messageId}`)).size,
    1,
    'a repeat while the first is under way waits for it',
  )
  t.equal((await it.as(undefined).send(box.id, plain, 'k5')).status, 401, 'a missing key returns 401')
  t.equal((await api.send(box.id, plain, 'k5')).status, 200, 'and is not remembered')
})
