import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { operations } from '../../lib/api/index.ts'
import { subjectLength } from '../../lib/base/lengths.ts'
import { feedbackLength } from '../../lib/model/feedback.ts'
import { policyValueLength } from '../../lib/model/policy.ts'
import { sendBodyHtmlLength, sendBodyLength } from '../../lib/model/send.ts'
import type { Answer } from '../support/api.ts'
import { startApi } from '../support/api-app.ts'

const letter = { to: 'bob@example.net', subject: 's', body: 'b' }
const json = { 'content-type': 'application/json' }
const file = { filename: 'f', content: 'YQ==' }
const long = (length: number) => 'x'.repeat(length)

/** For each operation with a body: what it takes, and what it does not, with the path of the fault. */
const table: Record<string, { good: object[]; bad: [body: object, path: string][] }> = {
  createPod: {
    good: [
      {},
      { clientId: null, name: null },
      { clientId: long(255), name: long(255) },
      { name: '🙂'.repeat(255) },
    ],
    bad: [
      [{ clientId: '' }, '/clientId'],
      [{ clientId: long(256) }, '/clientId'],
      [{ name: long(256) }, '/name'],
      [{ clientId: 1 }, '/clientId'],
      [{ name: ['x'] }, '/name'],
      [{ isDefault: true }, '/isDefault'],
    ],
  },
  updatePod: {
    good: [{}, { name: long(255) }],
    bad: [
      [{ clientId: '' }, '/clientId'],
      [{ clientId: long(256) }, '/clientId'],
      [{ name: false }, '/name'],
      [{ id: 'x' }, '/id'],
    ],
  },
  createPodApiKey: {
    good: [{}, { name: null }, { name: long(255) }],
    bad: [
      [{ name: long(256) }, '/name'],
      [{ name: {} }, '/name'],
      [{ token: 'x' }, '/token'],
    ],
  },
  createInboxApiKey: {
    good: [{}, { name: null }, { name: long(255) }],
    bad: [
      [{ name: long(256) }, '/name'],
      [{ name: 0 }, '/name'],
      [{ podId: 'x' }, '/podId'],
    ],
  },
  createInbox: {
    good: [
      {},
      { displayName: long(200) },
      { webhookUrl: '' },
      { webhookUrl: null },
      { webhookUrl: 'https://h.example.net/' },
      { forwardTo: null, forwardWhen: null },
    ],
    bad: [
      [{ webhookUrl: 1 }, '/webhookUrl'],
      [{ webhookUrl: ['https://h.example.net/'] }, '/webhookUrl'],
      [{ webhookSecret: 'x' }, '/webhookSecret'],
      [{ displayName: long(201) }, '/displayName'],
      [{ forwardTo: 1 }, '/forwardTo'],
      [{ forwardTo: ['ann@example.org'] }, '/forwardTo'],
      [{ forwardWhen: {} }, '/forwardWhen'],
      [{ forwardStatus: 'active' }, '/forwardStatus'],
      [{ mailboxName: 123 }, '/mailboxName'],
      [{ podId: 5 }, '/podId'],
      [{ address: 'x' }, '/address'],
    ],
  },
  setWebhook: {
    good: [{ url: 'https://h.example.net/' }, { url: `https://h.example.net/${long(2000)}` }],
    bad: [
      [{}, '/url'],
      [{ url: '' }, '/url'],
      [{ url: null }, '/url'],
      [{ url: 'https://h.example.net/', secret: 'x' }, '/secret'],
    ],
  },
  updateInbox: {
    good: [
      {},
      { displayName: long(200) },
      { webhookUrl: '' },
      { webhookUrl: 'https://h.example.net/' },
      { forwardTo: null, forwardWhen: null },
    ],
    bad: [
      [{ webhookUrl: false }, '/webhookUrl'],
      [{ webhookSecret: null }, '/webhookSecret'],
      [{ displayName: long(201) }, '/displayName'],
      [{ displayName: true }, '/displayName'],
      [{ forwardTo: false }, '/forwardTo'],
      [{ forwardWhen: 0 }, '/forwardWhen'],
      [{ forwardFailures: 0 }, '/forwardFailures'],
      [{ mailboxName: 'abc' }, '/mailboxName'],
    ],
  },
  sendMessage: {
    good: [
      { ...letter, subject: long(subjectLength) },
      { ...letter, body: long(sendBodyLength) },
      { ...letter, body: '🙂'.repeat(sendBodyLength) },
      { ...letter, bodyHtml: long(sendBodyHtmlLength) },
      { ...letter, bodyHtml: '', cc: [], bcc: [], attachments: [], includeQuote: false, autoSubmitted: true },
      { ...letter, attachments: [{ ...file, filename: long(255), contentType: long(255) }] },
      { ...letter, attachments: Array(100).fill(file) },
      { ...letter, to: ['bob@example.net', 'Ann <ann@example.net>'], cc: 'cid@example.net', bcc: [] },
    ],
    bad: [
      [{ subject: 's', body: 'b' }, '/to'],
      [{ to: letter.to, subject: 's' }, '/body'],
      [{ ...letter, body: '' }, '/body'],
      [{ ...letter, body: long(sendBodyLength + 1) }, '/body'],
      [{ ...letter, body: null }, '/body'],
      [{ ...letter, subject: '' }, '/subject'],
      [{ ...letter, subject: long(subjectLength + 1) }, '/subject'],
      [{ ...letter, subject: null }, '/subject'],
      [{ ...letter, bodyHtml: long(sendBodyHtmlLength + 1) }, '/bodyHtml'],
      [{ ...letter, to: [1] }, '/to/0'],
      [{ ...letter, to: { address: 'bob@example.net' } }, '/to'],
      [{ ...letter, replyAll: 'yes' }, '/replyAll'],
      [{ ...letter, to: `${long(400)}@example.net` }, '/to'],
      [{ ...letter, cc: 'nobody' }, '/cc'],
      [{ ...letter, cc: [1] }, '/cc/0'],
      [{ ...letter, bcc: [null] }, '/bcc/0'],
      [{ ...letter, threadId: 1 }, '/threadId'],
      [{ ...letter, includeQuote: 'true' }, '/includeQuote'],
      [{ ...letter, autoSubmitted: 1 }, '/autoSubmitted'],
      [{ ...letter, from: 'eve@example.net' }, '/from'],
      [{ ...letter, headers: { 'X-Evil': '1' } }, '/headers'],
      [{ ...letter, attachments: Array(101).fill(file) }, '/attachments'],
      [{ ...letter, attachments: [{ filename: 'f' }] }, '/attachments/0/content'],
      [{ ...letter, attachments: [{ ...file, filename: '' }] }, '/attachments/0/filename'],
      [{ ...letter, attachments: [{ ...file, filename: long(256) }] }, '/attachments/0/filename'],
      [{ ...letter, attachments: [{ ...file, contentType: long(256) }] }, '/attachments/0/contentType'],
      [{ ...letter, attachments: [{ ...file, path: '/etc/passwd' }] }, '/attachments/0/path'],
      [{ ...letter, attachments: [{ ...file, content: 5 }] }, '/attachments/0/content'],
    ],
  },
  replyToMessage: {
    good: [{ body: 'b' }, { body: 'b', to: [letter.to], replyAll: true, subject: null }],
    bad: [
      [{}, '/body'],
      [{ body: 'b', threadId: 'x' }, '/threadId'],
      [{ body: 'b', to: 'nobody' }, '/to'],
    ],
  },
  replyAllToMessage: {
    good: [{ body: 'b' }],
    bad: [
      [{ body: '' }, '/body'],
      [{ body: 'b', replyAll: false }, '/replyAll'],
    ],
  },
  forwardMessage: {
    good: [{ to: letter.to }, { to: [letter.to], body: 'b', asAttachment: true }],
    bad: [
      [{}, '/to'],
      [{ to: letter.to, asAttachment: 1 }, '/asAttachment'],
      [{ to: letter.to, includeQuote: true }, '/includeQuote'],
    ],
  },
  createFeedback: {
    good: [
      { type: 'bug', message: long(feedbackLength) },
      { type: 'friction', message: 'm', context: { operation: 'x' } },
    ],
    bad: [
      [{ message: 'm' }, '/type'],
      [{ type: 'praise', message: 'm' }, '/type'],
      [{ type: 'bug', message: '' }, '/message'],
      [{ type: 'bug', message: long(feedbackLength + 1) }, '/message'],
      [{ type: 'bug', message: 'm', context: 1 }, '/context'],
    ],
  },
  createDraft: {
    good: [
      {},
      { ...letter, to: [letter.to], subject: long(subjectLength) },
      { ...letter, cc: null, body: long(sendBodyLength), attachments: [file] },
      { to: null, subject: null, body: null, sendAt: null, includeQuote: null, threadId: null },
    ],
    bad: [
      [{ subject: long(subjectLength + 1) }, '/subject'],
      [{ cc: 'nobody' }, '/cc'],
      [{ sendAt: 1 }, '/sendAt'],
      [{ status: 'sent' }, '/status'],
      [{ attachments: [{ filename: 'f' }] }, '/attachments/0/content'],
    ],
  },
  updateDraft: {
    good: [{}, { subject: null }, { to: [] }, { attachments: [] }],
    bad: [
      [{ body: '' }, '/body'],
      [{ messageId: 'x' }, '/messageId'],
    ],
  },
  createDomain: {
    good: [{ domain: 'edge.example.net' }],
    bad: [
      [{}, '/domain'],
      [{ domain: long(256) }, '/domain'],
      [{ domain: null }, '/domain'],
      [{ domain: 'a.example.net', podId: 1 }, '/podId'],
      [{ domain: 'a.example.net', status: 'verified' }, '/status'],
    ],
  },
  updateDomain: {
    good: [{}, { podId: null }],
    bad: [
      [{ podId: 1 }, '/podId'],
      [{ podId: null, domain: 'x.example.net' }, '/domain'],
    ],
  },
  createSuppression: {
    good: [{ recipient: 'gone@example.net' }, { recipient: 'gone2@example.net', expiresAt: null }],
    bad: [
      [{}, '/recipient'],
      [{ recipient: 'gone@example.net', reason: 'dislike' }, '/reason'],
      [{ recipient: 'gone@example.net', messageId: 'x' }, '/messageId'],
    ],
  },
  createMember: {
    good: [{ address: 'ann@example.net' }, { address: 'bea@example.net', name: long(255) }],
    bad: [
      [{}, '/address'],
      [{ address: 'nonsense' }, '/address'],
      [{ address: 'cid@example.net', name: long(256) }, '/name'],
      [{ address: 'cid@example.net', podId: null }, '/podId'],
    ],
  },
  setPolicyMode: {
    good: [{ mode: 'none', direction: 'inbound' }],
    bad: [
      [{ mode: 'none' }, '/direction'],
      [{ mode: 'all', direction: 'inbound' }, '/mode'],
      [{ mode: 'none', direction: 'both' }, '/direction'],
    ],
  },
  createPolicyRule: {
    good: [{ type: 'block', value: 'spam.example', direction: 'inbound' }],
    bad: [
      [{ type: 'block', direction: 'inbound' }, '/value'],
      [{ type: 'deny', value: 'spam.example', direction: 'inbound' }, '/type'],
      [{ type: 'block', value: '', direction: 'inbound' }, '/value'],
      [{ type: 'block', value: long(policyValueLength + 1), direction: 'inbound' }, '/value'],
    ],
  },
  replacePolicy: {
    good: [{}, { inbound: { mode: 'none', rules: [] } }],
    bad: [
      [{ inbound: { mode: 'none' } }, '/inbound/rules'],
      [{ outbound: { mode: 'none', rules: [{ type: 'allow' }] } }, '/outbound/rules/0/value'],
      [{ sideways: {} }, '/sideways'],
    ],
  },
  updateThread: {
    good: [{ is_read: true }, { isRead: true }, { is_read: true, isRead: false }],
    bad: [
      [{ is_read: 'true' }, '/is_read'],
      [{ isRead: 1 }, '/isRead'],
      [{ is_read: null }, '/is_read'],
      [{ read: true }, '/read'],
    ],
  },
}

for (const hand of ['retry', 'hold', 'release', 'cancel']) {
  table[`${hand}Queued`] = {
    good: [
      { state: 'held' },
      { domain: 'nowhere.example', confirm: false },
      { state: 'waiting', confirm: null },
    ],
    bad: [
      [{ ids: [] }, '/ids'],
      [{ state: 'gone' }, '/state'],
      [{ state: 'held', confirm: 1 }, '/confirm'],
      [{ domain: 'no domain' }, '/domain'],
      [{ before: 'yesterday' }, '/before'],
    ],
  }
}

t.test('bodies', async t => {
  const server = await startApi(t)
  const { api, app } = server
  const { id: pod } = (await api.post('/v1/pods', {})).body
  const { id: inbox } = (await api.post('/v1/inboxes', {})).body
  const { threadId: thread, messageId: message } = (await api.send(inbox, letter)).body
  const { id: draft } = (await api.post(`/v1/inboxes/${inbox}/drafts`, {})).body
  const { id: domain } = (await api.post('/v1/domains', { domain: 'bounds.example.net' })).body
  const withBody = operations.filter(one => one.body)
  t.strictSame(withBody.map(one => one.id).sort(), Object.keys(table).sort(), 'the table is complete')
  const pathOf = (path: string) =>
    path
      .replace('/pods/{id}', `/pods/${pod}`)
      .replace('/inboxes/{id}', `/inboxes/${inbox}`)
      .replace('/threads/{id}', `/threads/${thread}`)
      .replace('/messages/{id}', `/messages/${message}`)
      .replace('/drafts/{id}', `/drafts/${draft}`)
      .replace('/domains/{id}', `/domains/${domain}`)
  let calls = 0
  const call = (id: string, body: unknown, headers: Record<string, string> = {}) => {
    const one = withBody.find(candidate => candidate.id === id)!
    const method = one.method.toUpperCase()
    return api.call(method, pathOf(one.path), body, { 'idempotency-key': `k${calls++}`, ...headers })
  }
  /** Everything that a request could have changed. */
  const state = async () => {
    const counts = []
    for (const table of ['pod', 'inbox', 'apiKey', 'message', 'thread', 'raw', 'idempotency'] as const) {
      const row = await app.store.read
        .selectFrom(table)
        .select(eb => eb.fn.countAll().as('count'))
        .executeTakeFirst()
      counts.push(Number(row?.count))
    }
    return [counts, (await api.get(`/v1/pods/${pod}`)).body, (await api.get(`/v1/inboxes/${inbox}`)).body]
  }
  const isRefused = (t: Test, answer: Answer, what: string, status = 400, code = 'invalid_request') =>
    t.strictSame([answer.status, answer.body.error], [status, code], what)

  await t.test('fields at their bounds, and one past them', async t => {
    const before = await state()
    for (const [id, { bad }] of Object.entries(table)) {
      for (const [body, path] of bad) {
        const answer = await call(id, body)
        isRefused(t, answer, `${id} ${JSON.stringify(body).slice(0, 100)}`)
        t.equal(answer.body.details[0].path, path)
        t.match(answer.body.message, path)
      }
    }
    t.strictSame(await state(), before, 'nothing was written')
    for (const [id, { good }] of Object.entries(table)) {
      for (const body of good) {
        const answer = await call(id, body)
        t.ok(
          answer.status < 300,
          `${id} ${JSON.stringify(body).slice(0, 100)} → ${answer.body?.message ?? 'ok'}`,
        )
        if (id.endsWith('ApiKey')) {
          const one = withBody.find(candidate => candidate.id === id)!
          await api.delete(`${pathOf(one.path)}/${answer.body.id}`)
        }
      }
    }
    for (const field of ['clientId', 'name']) await api.patch(`/v1/pods/${pod}`, { [field]: null })
  })

  const deep = (open: string, close: string) => open.repeat(10_000) + close.repeat(10_000)
  const broken: [what: string, body: string][] = [
    ['cut off', '{"name": "x"'],
    ['no JSON', 'name=x'],
    ['comments', '{/* */}'],
    ['two values', '{} {}'],
    ['single quotes', "{'name': 'x'}"],
    ['an array', '[]'],
    ['an array of 10,000 arrays', deep('[', ']')],
    ['10,000 deep', deep('{"name":', '}').replace(':}', ':1}')],
    ['deep inside', `{"name": ${deep('[', ']')}}`],
    ['null', 'null'],
    ['a number', '5'],
    ['a text', '"x"'],
    ['NaN', '{"name": NaN}'],
    ['a byte order mark inside', '{\ufeff"name": "x"}'],
    ['a control character', '{"name": "\u0001"}'],
    ['NUL', '{"name": "a\\u0000b"}'],
    ['a bare NUL', '{"name": "a\u0000b"}'],
    ['half a surrogate', '{"name": "\\ud800"}'],
    ['another half', '{"displayName": "x\\udc00x"}'],
    ['__proto__', '{"__proto__": {"name": "x"}}'],
    ['__proto__ as text', '{"\\u005f_proto__": "x"}'],
    ['constructor', '{"constructor": {"prototype": {"name": "x"}}}'],
    ['toString', '{"toString": 1}'],
    ['a name with a slash', '{"a/b~c": 1}'],
    ['a name of 100 kB', `{"${long(100_000)}": 1}`],
    ['8,000 unknown names', `{${Array.from({ length: 8_000 }, (_, i) => `"n${i}":1`).join(',')}}`],
    ['an empty name', '{"": 1}'],
  ]
  await t.test('bodies that are no such thing', async t => {
    const before = await state()
    for (const id of Object.keys(table)) {
      for (const [what, body] of broken) {
        const answer = await call(id, body)
        isRefused(t, answer, `${id}: ${what}`)
        t.ok(answer.bytes.length < 4000, 'and briefly')
      }
    }
    t.strictSame(await state(), before, 'nothing was written')
    const pointer = await call('createPod', '{"a/b~c": 1}')
    t.equal(pointer.body.details[0].path, '/a~1b~0c')
    t.equal(({} as { name?: string }).name, undefined, 'nor to all objects')
  })

  await t.test('NUL and half surrogates in every text', async t => {
    for (const bad of ['a\0b', '\ud800', 'x\udfff']) {
      for (const field of ['to', 'subject', 'body', 'bodyHtml', 'replyTo', 'threadId']) {
        const answer = await call('sendMessage', { ...letter, [field]: bad })
        isRefused(t, answer, field)
        t.equal(answer.body.details[0].path, `/${field}`)
      }
      for (const field of ['filename', 'contentType', 'content']) {
        isRefused(
          t,
          await call('sendMessage', { ...letter, attachments: [{ ...file, [field]: bad }] }),
          field,
        )
      }
      isRefused(t, await call('sendMessage', { ...letter, cc: [bad] }), 'cc')
      for (const field of ['displayName', 'domain', 'podId', 'mailboxName']) {
        isRefused(t, await call('createInbox', { [field]: bad }), field)
      }
    }
  })

  await t.test('a body that is not there', async t => {
    const before = await state()
    for (const id of Object.keys(table)) isRefused(t, await call(id, undefined), id)
    for (const none of ['', 'Content-Length: 0\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const socket = connect(server.port, '127.0.0.1')
      socket.write(
        `POST /v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n${none}\r\n`,
      )
      if (none.includes('chunked')) socket.write('0\r\n\r\n')
      t.match(
        await text(socket),
        /^HTTP\/1\.1 400 [\s\S]*"invalid_request","message":"A body is required/,
        none,
      )
    }
    t.strictSame(await state(), before)
  })

  await t.test('types of content', async t => {
    const before = await state()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'x',
      ',',
    ]) {
      const answer = await call('createPod', '{}', { 'content-type': type })
      isRefused(t, answer, type, 415, 'unsupported_media_type')
    }
    const untyped = await fetch(`${server.baseUrl}/v1/pods`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}` },
      body: Buffer.from('{"name":"x"}'),
    })
    t.equal(untyped.status, 415, 'none is no JSON either')
    const encoded = await call('createPod', '{}', { 'content-encoding': 'of-mine' })
    isRefused(t, encoded, 'an encoding of nobody', 415, 'unsupported_media_type')
    t.match(encoded.body.message, /Content-Encoding is not taken.* gzip, x-gzip, deflate, br\.$/)
    for (const encoding of ['gzip', 'deflate', 'br']) {
      const answer = await call('createPod', 'not compressed', { 'content-encoding': encoding })
      isRefused(t, answer, `${encoding} that is none`)
      t.match(answer.body.message, new RegExp(`not in the Content-Encoding that it names \\(${encoding}\\)`))
    }
    const half = await fetch(`${server.baseUrl}/v1/pods`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, ...json, 'content-encoding': 'gzip' },
      body: gzipSync('{"name":"x"}').subarray(0, 20),
    })
    t.equal(half.status, 400, 'half of it')
    for (const bytes of [
      Buffer.from('{"name":"Z\xfcrich"}', 'latin1'),
      Buffer.from('{"name":"x"}', 'utf16le'),
    ]) {
      const answer = await fetch(`${server.baseUrl}/v1/pods`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.token}`, ...json },
        body: bytes,
      })
      t.equal(answer.status, 400, 'JSON is in UTF-8')
      const { error } = (await answer.json()) as { error: string }
      t.equal(error, 'invalid_request')
    }
    t.strictSame(await state(), before)
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/merge-patch+json',
    ]) {
      const made = await call('createPod', '{"name":"x"}', { 'content-type': type })
      t.strictSame([made.status, made.body.name], [201, 'x'], type)
    }
  })

  await t.test('bodies that are too large', async t => {
    const before = await state()
    const tooLarge = (answer: Answer, what: string) => isRefused(t, answer, what, 413, 'payload_too_large')
    for (const id of Object.keys(table)) {
      const takesFiles = /^(sendMessage|(create|update)Draft|(reply|replyAll|forward)(To)?Message)$/.test(id)
      tooLarge(await call(id, `{"body": "${long(takesFiles ? 40_000_000 : 2_000_000)}"}`), id)
    }
    t.strictSame(await state(), before)

    const bomb = await fetch(`${server.baseUrl}/v1/pods`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, ...json, 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(20_000_000, ' ')),
    })
    t.equal(bomb.status, 413, 'counted as what it unfolds to')

    // Where the end of the body is known, what follows on the same connection is answered as ever.
    for (const [length, following] of [
      [`Content-Length: 2000000\r\n\r\n${long(2_000_000)}`, /HTTP\/1\.1 200 OK[\s\S]*"ok"/],
      [
        `Transfer-Encoding: chunked\r\n\r\n1e8480\r\n${long(2_000_000)}\r\n0\r\n\r\n`,
        /Connection: close[\s\S]*payload_too_large[^}]*\}\s*$/,
      ],
    ] as const) {
      const socket = connect(server.port, '127.0.0.1')
      const post = `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n`
      socket.write(`${post}${length}`)
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      const answers = await text(socket)
      t.match(answers, /^HTTP\/1\.1 413 /)
      t.match(answers, following)
    }
    // Read in quadratic time it would take minutes, which the time limit of the file ends.
    const millions = `{${Array.from({ length: 500_000 }, (_, i) => `"n${i}":1`).join(',')}}`
    isRefused(t, await call('sendMessage', millions), '500,000 unknown names')
  })
  t.strictSame(server.faults, [], 'no request was a fault of ours')
})
