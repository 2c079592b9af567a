import { createHash } from 'node:crypto'
import t from 'tap'
import { startSpecified, unlike } from '../support/specified.ts'

const it = await startSpecified(t)
const { api } = it
const base = it.daemon.baseUrl
const agent = await it.inbox({ mailboxName: 'agent' })
const nowhere = '0193e2a4-0000-7000-8000-000000000000'

/** The same, when every byte is. */
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

t.test('messages', async t => {
  const first = await it.arrive(agent.id, {
    from: 'ann@theirs.example',
    to: agent.address,
    headers: ['From: Ann <Ann@Theirs.example>', 'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?='],
  })
  for (const name of [
    'id',
    'threadId',
    'direction',
    'fromAddr',
    'toAddr',
    'headerTo',
    'deliveryRole',
    'cc',
    'addressNames',
    'bcc',
    'subject',
    'bodyText',
    'bodyHtml',
    'attachments',
    'rawUrl',
    'status',
    'createdAt',
    'inboxId',
    'rfcMessageId',
    'inReplyTo',
    'references',
    'category',
    'autoReplyable',
    'verdict',
    'authentication',
  ]) {
    t.ok(name in first, `Message: ${name}`)
  }
  t.match(
    first,
    {
      direction: 'inbound',
      status: 'received',
      inboxId: agent.id,
      bcc: [],
      cc: [],
      subject: 'Grüße',
      category: 'personal',
      verdict: 'clean',
      autoReplyable: true,
    },
    'inbound: always `received`; bcc empty on inbound',
  )
  t.match(
    first.addressNames,
    { 'ann@theirs.example': 'Ann' },
    'addressNames: map from lower-cased address to display name',
  )
  t.strictSame(
    unlike(first.authentication, ['spf', 'dkim', 'dmarc']),
    [],
    'authentication {spf, dkim, dmarc}',
  )
  const bare = await it.arrive(agent.id, { to: agent.address, headers: ['Subject: Bare'] })
  t.equal(bare.addressNames, null, 'null when headers carried no names')
  const raw = await fetch(new URL(first.rawUrl, base), { headers: { authorization: `Bearer ${it.token}` } })
  t.match(
    await raw.text(),
    /^[\s\S]*Subject: =\?utf-8\?q\?Gr=C3=BC=C3=9Fe\?=[\s\S]*\r\nHello\r\n$/,
    'rawUrl: the original RFC 822 message',
  )
  t.match(
    (await api.get(`/v1/messages/${first.id}`)).body,
    { id: first.id, bodyText: /^Hello/ },
    'GET /v1/messages/{id} → Message',
  )
  const list = (await api.get(`/v1/inboxes/${agent.id}/messages`)).body
  t.match(
    [list.total, list.data.map((one: { id: string }) => one.id)],
    [2, [bare.id, first.id]],
    '{data, total}: newest first',
  )
  await api.send(agent.id, { to: 'b@theirs.example', subject: 's', body: 'b' })
  for (const [direction, total] of [
    ['inbound', 2],
    ['outbound', 1],
  ]) {
    t.equal(
      (await api.get(`/v1/inboxes/${agent.id}/messages?direction=${direction}`)).body.total,
      total,
      `Query: direction ${direction}`,
    )
  }
  t.equal(
    (await api.get(`/v1/inboxes/${agent.id}/messages?direction=sideways`)).status,
    400,
    'direction: enum',
  )
  t.match(
    (await api.get(`/v1/inboxes/${agent.id}/messages?limit=1&offset=1`)).body,
    { total: 3, data: [{ id: bare.id }] },
    'limit, offset',
  )
  for (const [header, category, sentence] of [
    ['Auto-Submitted: auto-replied', 'automated', 'Auto-Submitted other than no'],
    ['Precedence: bulk', 'marketing', 'Precedence bulk'],
    ['Precedence: list', 'marketing', 'Precedence list'],
    ['Precedence: junk', 'marketing', 'Precedence junk'],
    ['List-Id: <l.theirs.example>', 'marketing', 'List-* headers'],
    ['X-Auto-Response-Suppress: All', 'automated', 'X-Auto-Response-Suppress'],
    ['From: no-reply@theirs.example', 'automated', 'no-reply senders'],
    [
      'From: login@theirs.example\r\nSubject: Your verification code is 482913',
      'automated',
      'one-time codes',
    ],
    ['From: billing@theirs.example\r\nSubject: Your receipt from Theirs', 'automated', 'receipts'],
  ] as const) {
    const message = await it.arrive(agent.id, { to: agent.address, headers: [header] })
    t.match(
      [message.autoReplyable, message.category],
      [false, category],
      `autoReplyable is false for ${sentence}`,
    )
  }
  const no = await it.arrive(agent.id, { to: agent.address, headers: ['Auto-Submitted: no'] })
  t.equal(no.autoReplyable, true, 'Auto-Submitted: no')
  const empty = await it.arrive(agent.id, {
    from: '',
    to: agent.address,
    headers: ['From: bob@theirs.example'],
  })
  t.equal(empty.autoReplyable, false, 'a null reverse-path')
  const key = (await api.post(`/v1/inboxes/${agent.id}/api-keys`, {})).body.token
  t.equal((await it.as(key).get(`/v1/messages/${first.id}`)).status, 200, 'an inbox key reads its messages')
  t.equal((await it.as(key).delete(`/v1/messages/${first.id}`)).status, 403, 'DELETE message: inbox key 403')
  t.equal((await api.delete(`/v1/messages/${bare.id}`)).status, 204, 'DELETE /v1/messages/{id} → 204')
  for (const path of [bare.id, nowhere, 'nonsense', `${bare.id}/raw`]) {
    t.match((await api.get(`/v1/messages/${path}`)).status, 404, `404: ${path}`)
  }
})

t.test('attachments', async t => {
  const bytes = Buffer.from([0, 1, 2, 250, 13, 10, 0])
  const content = bytes.toString('base64')
  const plain = { to: agent.address, subject: 's', body: 'b' }
  const writer = await it.inbox({ mailboxName: 'writer' })
  for (const field of ['content', 'data']) {
    const sent = await api.send(writer.id, {
      ...plain,
      attachments: [{ filename: 'a b.bin', contentType: 'application/x-own', [field]: content }],
    })
    t.equal(
      sent.status,
      200,
      `attachments: [{filename, contentType, ${field}}] (base64) ${JSON.stringify(sent.body)}`,
    )
    const { body } = await api.get(`/v1/messages/${sent.body.messageId}`)
    t.match(
      body.attachments,
      [{ filename: 'a b.bin', contentType: 'application/x-own', sizeBytes: 7, url: String }],
      'Attachment: filename, contentType, sizeBytes, url',
    )
    const got = await fetch(body.attachments[0].url)
    t.equal(hash(Buffer.from(await got.arrayBuffer())), hash(bytes), 'url: signed download URL')
    t.match(got.headers.get('content-disposition'), /^attachment/, '`Content-Disposition: attachment`')
    t.equal(got.headers.get('x-content-type-options'), 'nosniff', '`X-Content-Type-Options: nosniff`')
    t.ok(got.headers.get('content-security-policy'), 'a restrictive `Content-Security-Policy`')
    const url = new URL(body.attachments[0].url)
    t.match(
      url.pathname,
      new RegExp(`^/v1/attachments/${body.id}/\\d+/`),
      '/v1/attachments/{messageId}/{index}/{filename}',
    )
    t.ok(url.searchParams.has('expires') && url.searchParams.has('signature'), '?expires=…&signature=…')
    url.searchParams.set('expires', '99999999999')
    t.ok((await fetch(url)).status >= 400, 'a URL that was changed is not valid')
    url.search = ''
    t.equal((await fetch(url)).status, 401, 'nor one without a signature')
    t.equal(
      (await api.get(url.pathname)).status,
      200,
      'also valid with a Bearer token that may read the message',
    )
    const byName = `/v1/attachments/${body.id}/${encodeURIComponent('a b.bin')}`
    const direct = await api.get(byName)
    t.match(
      [direct.status, hash(direct.bytes)],
      [200, hash(bytes)],
      '`GET /v1/attachments/{messageId}/{filename}` gives the bytes with 200',
    )
    const where = await fetch(new URL(byName, base), {
      headers: { authorization: `Bearer ${it.token}`, accept: 'application/json' },
      redirect: 'manual',
    })
    t.equal(where.status, 302, 'where `Accept` names `application/json` and not `*/*`, 302')
    t.match(where.headers.get('location'), /signature=/, 'to the signed URL')
    const text = await api.get(`${byName}/text`)
    t.match(
      text.body,
      { filename: 'a b.bin', extractionMethod: 'unsupported', inboxId: writer.id },
      '…/text: `unsupported`',
    )
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(plain)) form.append(name, value)
  form.append('attachments', new Blob(['one'], { type: 'text/plain' }), 'one.txt')
  form.append('attachments', new Blob(['a,b\n1,2\n'], { type: 'text/csv' }), 'two.csv')
  form.append('attachments', new Blob(['<p>Hi <b>you</b></p>'], { type: 'text/html' }), 'three.html')
  const response = await fetch(new URL(`/v1/inboxes/${writer.id}/send`, base), {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${it.token}`, 'idempotency-key': 'form' },
  })
  t.equal(response.status, 200, '`multipart/form-data` with a repeated `attachments` file field')
  const { messageId } = (await response.json()) as { messageId: string }
  const { body: sent } = await api.get(`/v1/messages/${messageId}`)
  t.strictSame(
    sent.attachments.map((one: { filename: string }) => one.filename),
    ['one.txt', 'two.csv', 'three.html'],
    'all of them',
  )
  for (const [name, method, says] of [
    ['one.txt', 'text', /^one/],
    ['two.csv', 'csv', /1[\s\S]*2/],
    ['three.html', 'html', /^Hi you/],
  ] as const) {
    const { status, body } = await api.get(`/v1/attachments/${messageId}/${name}/text`)
    t.match(
      [status, body.extractionMethod, body.text],
      [200, method, says],
      `/text: extractionMethod ${method}`,
    )
    t.strictSame(
      unlike(body, ['filename', 'contentType', 'extractionMethod', 'text', 'inboxId', 'messageId']),
      [],
      '{filename, contentType, extractionMethod, text, inboxId}',
    )
  }
  const after = (await api.get(`/v1/messages/${messageId}`)).body.attachments[0]
  t.match(
    after,
    { extractionMethod: 'text', parsedText: /^one/ },
    'attachments carry `extractionMethod` and, once it was made, `parsedText`',
  )
  t.equal((await api.get(`/v1/attachments/${messageId}/nothing.txt`)).status, 404, 'a name that is not there')
  t.equal((await api.get(`/v1/attachments/${nowhere}/one.txt`)).status, 404, 'a message that is not there')
  const stranger = it.as((await api.post(`/v1/inboxes/${agent.id}/api-keys`, {})).body.token)
  t.equal(
    (await stranger.get(`/v1/attachments/${messageId}/one.txt`)).status,
    404,
    'nor for who may not read the message',
  )
  const wrong = await api.send(writer.id, {
    ...plain,
    attachments: [{ filename: 'a', contentType: 'text/plain', content: 'no base64!' }],
  })
  t.match([wrong.status, wrong.body.error], [400, 'invalid_request'], 'content is base64')
  const big = Buffer.alloc(13 * 1024 * 1024).toString('base64')
  const file = { filename: 'big', contentType: 'application/x-big', content: big }
  const large = await api.send(writer.id, { ...plain, attachments: [file, file] })
  t.match(
    [large.status, large.body.error],
    [413, 'attachments_too_large'],
    '25 MB together (413 `attachments_too_large`)',
  )
})
