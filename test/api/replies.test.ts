import { randomUUID } from 'node:crypto'
import t from 'tap'
import { displayNameLength } from '../../lib/base/lengths.ts'
import { attachmentsBytes } from '../../lib/base/problem.ts'
import { mailboxLength } from '../../lib/model/send.ts'
import { startApi } from '../support/api-app.ts'
import { startConversation } from '../support/conversation.ts'

const letter = { subject: 's', body: 'b' }

t.test('to, cc and bcc take an address or a list, each with a name or without', async t => {
  const server = await startApi(t)
  const { api, id, wentTo } = await startConversation(server, 'agent')
  const sent = async (people: object) => {
    const answer = await api.send(id, { ...letter, ...people })
    t.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.messageId as string
  }
  for (const to of ['Bob@Example.net', ['bob@example.net'], '<bob@example.net>', ' bob@example.net ']) {
    const messageId = await sent({ to })
    t.strictSame(await wentTo(messageId), {
      // To whom it goes the local part is told as it was written (RFC 5321 §2.4).
      to: to === 'Bob@Example.net' ? 'Bob@example.net' : 'bob@example.net',
      cc: '',
      recipients: ['bob@example.net'],
    })
  }
  const messageId = await sent({
    to: ['Bob Bauer <bob@example.net>', '"Löwe, Ann" <ann@example.net>'],
    cc: 'Carl <carl@example.net>',
    bcc: ['Secret <dora@example.net>', 'eva@example.net'],
  })
  const went = await wentTo(messageId)
  t.match(went.to, /^Bob Bauer <bob@example\.net>, .*=\?UTF-8\?.*\?= <ann@example\.net>$/i)
  t.equal(went.cc, 'Carl <carl@example.net>')
  t.strictSame(
    went.recipients,
    ['bob', 'ann', 'carl', 'dora', 'eva'].map(name => `${name}@example.net`),
  )
  const raw = (await api.get(`/v1/messages/${messageId}/raw`)).bytes.toString()
  t.notMatch(raw, /dora|Secret|eva@/)
  // The address fields stay bare, and what is said of inbound mail alone is null.
  t.match((await api.get(`/v1/messages/${messageId}`)).body, {
    toAddr: 'bob@example.net',
    to: ['bob@example.net', 'ann@example.net'],
    cc: ['carl@example.net'],
    bcc: ['dora@example.net', 'eva@example.net'],
    headerTo: null,
    addressNames: null,
    deliveryRole: null,
  })

  const twice = await sent({
    to: ['bob@example.net', 'Bob <BOB@example.net>'],
    cc: ['bob@example.net', 'carl@example.net'],
    bcc: ['carl@example.net'],
  })
  t.strictSame((await wentTo(twice)).recipients, ['bob@example.net', 'carl@example.net'], 'each once')

  for (const wrong of [
    'bob',
    'bob@example.net, ann@example.net',
    'Bob, Ann <bob@example.net>',
    'bob@example.net <ann@example.net>',
    'people: bob@example.net;',
    'Bob <bob@example.net> <ann@example.net>',
    `${'n'.repeat(displayNameLength + 1)} <bob@example.net>`,
    'x'.repeat(mailboxLength + 1),
    'bob@example.net\r\nBcc: ann@example.net',
    '',
  ]) {
    for (const people of [
      { to: wrong },
      { to: 'x@y.example', cc: [wrong] },
      { to: 'x@y.example', bcc: wrong },
    ]) {
      const { status, body } = await api.send(id, { ...letter, ...people })
      t.strictSame([status, body.error], [400, 'invalid_request'], wrong.slice(0, 40))
      t.match(body.message, /^body\/(to|cc\/0|bcc)/)
    }
  }
  const many = Array.from({ length: 60 }, (_, i) => `p${i}@example.net`)
  const tooMany = await api.send(id, { ...letter, to: many, cc: many.map(one => `x${one}`) })
  t.match(tooMany, { status: 400, body: { message: /at most 100 recipients.*120/ } })
  t.match(await api.send(id, letter), { status: 400, body: { message: /body\/to is required/ } })
  t.match(await api.send(id, { ...letter, to: [] }), {
    status: 400,
    body: { message: /body\/to is required/ },
  })
  t.strictSame(server.faults, [])
})

t.test('names change nothing for rules, suppressions and repeats', async t => {
  const { api, faults, ...server } = await startApi(t)
  const { id } = await startConversation({ api, faults, ...server }, 'agent')
  await api.post('/v1/suppressions', { recipient: 'bob@example.net' })
  await api.post('/v1/policy/rules', { type: 'block', value: 'eve@example.net', direction: 'outbound' })
  for (const place of ['to', 'cc', 'bcc']) {
    const others = place === 'to' ? {} : { to: 'x@y.example' }
    t.match(await api.send(id, { ...letter, ...others, [place]: 'Alice <bob@example.net>' }), {
      status: 422,
      body: { error: 'recipient_suppressed', recipient: 'bob@example.net' },
    })
    t.match(await api.send(id, { ...letter, ...others, [place]: ['a@b.example', 'Al <Eve@Example.NET>'] }), {
      status: 403,
      body: { error: 'recipient_not_permitted', recipient: 'eve@example.net' },
    })
  }
  const key = randomUUID()
  const first = await api.send(id, { ...letter, to: 'Ann <ann@example.net>', cc: 'c@d.example' }, key)
  t.equal(first.status, 200)
  for (const to of ['ann@example.net', ['ANN@example.net'], ['Another <ann@example.net>']]) {
    const again = await api.send(id, { ...letter, to, cc: ['Carl <c@d.example>'] }, key)
    t.strictSame([again.status, again.body], [200, first.body])
  }
  const other = await api.send(id, { ...letter, to: 'ann@example.net', cc: 'e@d.example' }, key)
  t.equal(other.body.error, 'idempotency_key_conflict')
})

t.test('a reply without to goes to Reply-To, else From, of the newest message of a participant', async t => {
  const server = await startApi(t)
  const { api, id, address, came, wentTo } = await startConversation(server, 'agent')
  const reply = async (threadId: string, more: object = {}) => {
    const answer = await api.send(id, { threadId, body: 'b', ...more })
    t.equal(answer.status, 200, JSON.stringify(answer.body))
    return wentTo(answer.body.messageId)
  }
  const first = await came({ fromAddr: 'Bob@example.net', addressNames: '{"bob@example.net":"Bob Bauer"}' })
  t.strictSame(await reply(first.threadId), {
    to: 'Bob Bauer <Bob@example.net>',
    cc: '',
    recipients: ['bob@example.net'],
  })
  for (const to of [null, []])
    t.equal((await reply(first.threadId, { to })).to, 'Bob Bauer <Bob@example.net>')
  const asks = { replyTo: 'office@example.net, boss@example.net' }
  await came({ fromAddr: 'ann@example.net', ...asks }, first.threadId)
  t.equal((await reply(first.threadId)).to, 'Bob Bauer <Bob@example.net>', 'a newcomer is no participant')
  await api.send(id, { threadId: first.threadId, to: 'ann@example.net', body: 'b' })
  await came({ fromAddr: 'ann@example.net', ...asks }, first.threadId)
  t.equal((await reply(first.threadId)).to, 'office@example.net, boss@example.net')
  t.equal(
    (await reply(first.threadId, { to: 'x@y.example' })).to,
    'x@y.example',
    'a to that is given is taken',
  )

  await t.test('what is hostile in it leads nowhere', async t => {
    const { threadId } = await came({
      fromAddr: 'bob@example.net',
      replyTo: `${address}, root, Agent+x@ours.example`,
    })
    t.equal((await reply(threadId)).to, 'bob@example.net', 'never to ourselves, nor to what is no address')
    const self = await came({ fromAddr: address, replyTo: null })
    t.match(await api.send(id, { threadId: self.threadId, body: 'b' }), {
      status: 400,
      body: { error: 'invalid_request', message: /body\/to is required.*names nobody else/ },
    })
    await came({ fromAddr: 'eve@evil.example', verdict: 'spam', category: 'spam' }, threadId)
    await came({ fromAddr: 'mailer-daemon@mx.example', category: 'bounce', mailFrom: '' }, threadId)
    t.equal((await reply(threadId)).to, 'bob@example.net', 'nor to who forges, or reports')
    const spam = await came({ fromAddr: 'eve@evil.example', verdict: 'spam', category: 'spam' })
    t.equal((await reply(spam.threadId)).to, 'eve@evil.example', 'where there is nobody else, as it says')
    const name = '"><script>\\'.repeat(100)
    const named = await came({ addressNames: JSON.stringify({ 'bob@example.net': name, __proto__: 'x' }) })
    t.strictSame((await reply(named.threadId)).recipients, ['bob@example.net'])
    const prototype = await came({ fromAddr: 'constructor@example.net', addressNames: '{}' })
    t.equal((await reply(prototype.threadId)).to, 'constructor@example.net')
  })

  await t.test('in a thread of ours alone it goes to the recipients of what we wrote', async t => {
    const { body } = await api.send(id, {
      ...letter,
      to: ['Bob <bob@example.net>', 'carl@example.net'],
      cc: ['dora@example.net'],
      bcc: ['eva@example.net'],
    })
    t.strictSame((await reply(body.threadId)).to, 'Bob <bob@example.net>, carl@example.net')
    const toAll = await reply(body.threadId, { replyAll: true })
    t.match(toAll, { to: 'Bob <bob@example.net>, carl@example.net', cc: '' }, 'the newest has no copies')
    const again = await api.send(id, { ...letter, to: 'bob@example.net', cc: 'dora@example.net' })
    t.match(await reply(again.body.threadId, { replyAll: true }), {
      to: 'bob@example.net',
      cc: 'dora@example.net',
    })
  })
})

t.test('an inbox that was copied answers to whom the message was written, and copies who wrote', async t => {
  const server = await startApi(t)
  const { api, id, address, came, wentTo } = await startConversation(server, 'agent')
  const reply = async (threadId: string, more: object = {}) => {
    const answer = await api.send(id, { threadId, body: 'b', ...more })
    t.equal(answer.status, 200, JSON.stringify(answer.body))
    return wentTo(answer.body.messageId)
  }
  const { threadId } = await came({
    fromAddr: 'ann@example.net',
    headerTo: 'bob@example.net, "a, b"@example.net',
    cc: JSON.stringify([address, 'carl@example.net']),
    deliveryRole: 'cc',
    addressNames: '{"ann@example.net":"Ann","bob@example.net":"Bob"}',
  })
  const all = { to: 'Bob <bob@example.net>, <"a, b"@example.net>', cc: 'Ann <ann@example.net>' }
  t.match(await reply(threadId), all)
  t.match(await reply(threadId, { replyAll: true }), {
    to: all.to,
    cc: 'Ann <ann@example.net>, carl@example.net',
  })
  t.match(
    await reply(threadId, { bcc: 'ann@example.net' }),
    { to: all.to, cc: '' },
    'a blind copy stays blind',
  )
  const named = await came({
    fromAddr: 'ann@example.net',
    headerTo: 'bob@example.net',
    cc: JSON.stringify([address, 'carl@example.net']),
    deliveryRole: 'cc',
  })
  for (const replyAll of [false, true]) {
    for (const to of [
      'ann@example.net',
      'bob@example.net',
      'x@y.example',
      ['ann@example.net', 'x@y.example'],
    ])
      t.match(
        await reply(named.threadId, { to, cc: 'z@y.example', replyAll }),
        { to: [to].flat().join(', '), cc: 'z@y.example' },
        'an explicit to is taken as it stands',
      )
  }

  const other = await came({
    fromAddr: 'ann@example.net',
    replyTo: 'office@example.net',
    headerTo: 'bob@example.net',
    cc: JSON.stringify([address]),
    deliveryRole: 'cc',
  })
  t.match(await reply(other.threadId), { to: 'bob@example.net', cc: 'office@example.net' })
  const undisclosed = await came({ fromAddr: 'ann@example.net', headerTo: null, deliveryRole: 'cc' })
  t.match(await reply(undisclosed.threadId), { to: 'ann@example.net', cc: '' })
  const blind = await came({ fromAddr: 'ann@example.net', headerTo: 'list@example.net', deliveryRole: null })
  t.match(
    await reply(blind.threadId),
    { to: 'ann@example.net', cc: '' },
    'who was named nowhere answers the author',
  )
})

t.test('replyAll copies everybody else of To and Cc, never ourselves', async t => {
  const server = await startApi(t)
  const { api, id, address, came, wentTo } = await startConversation(server, 'agent')
  const { threadId } = await came({
    fromAddr: 'ann@example.net',
    headerTo: `bob@example.net, ${address}, Agent+tag@ours.example, ann@example.net`,
    cc: JSON.stringify(['carl@example.net', 'BOB@example.net', 'no address', address]),
  })
  const reply = async (more: object) =>
    wentTo((await api.send(id, { threadId, body: 'b', ...more })).body.messageId)
  t.strictSame(await reply({ replyAll: true }), {
    to: 'ann@example.net',
    cc: 'bob@example.net, carl@example.net',
    recipients: ['ann@example.net', 'bob@example.net', 'carl@example.net'],
  })
  t.match(await reply({ replyAll: false }), { to: 'ann@example.net', cc: '' })
  t.match(await api.send(id, { ...letter, to: 'x@y.example', replyAll: true }), {
    status: 400,
    body: { error: 'invalid_request', message: /body\/replyAll.*threadId/ },
  })

  const crowd = Array.from({ length: 150 }, (_, i) => `p${i}@example.net`)
  const crowded = await came({ fromAddr: 'ann@example.net', cc: JSON.stringify(crowd) })
  const refused = await api.send(id, { threadId: crowded.threadId, body: 'b', replyAll: true })
  t.match(refused, { status: 422, body: { error: 'too_many_recipients', limit: 50, message: /in `to`/ } })
  t.equal((await api.send(id, { threadId: crowded.threadId, body: 'b' })).status, 200)
})

t.test('drafts follow the same rules', async t => {
  const server = await startApi(t)
  const { api, id, address, came, wentTo } = await startConversation(server, 'agent')
  const { threadId } = await came({
    fromAddr: 'ann@example.net',
    headerTo: 'bob@example.net',
    cc: JSON.stringify([address, 'carl@example.net']),
    deliveryRole: 'cc',
  })
  const draft = await api.post(`/v1/inboxes/${id}/drafts`, { threadId, body: 'b', replyAll: true })
  t.match(draft, {
    status: 201,
    body: { to: ['bob@example.net'], cc: ['ann@example.net', 'carl@example.net'], replyAll: true },
  })
  const send = (draftId: string) =>
    api.post(`/v1/drafts/${draftId}/send`, undefined, { 'idempotency-key': randomUUID() })
  const sent = await send(draft.body.id)
  t.match(await wentTo(sent.body.messageId), {
    to: 'bob@example.net',
    cc: 'ann@example.net, carl@example.net',
  })

  const named = await api.post(`/v1/inboxes/${id}/drafts`, {
    ...letter,
    to: ['"Löwe, Ann" <Ann@example.net>', 'bob@example.net'],
    cc: 'Carl <carl@example.net>',
    bcc: 'dora@example.net',
  })
  t.match(named.body, {
    to: ['"Löwe, Ann" <ann@example.net>', 'bob@example.net'],
    cc: ['Carl <carl@example.net>'],
    bcc: ['dora@example.net'],
    replyAll: null,
  })
  const went = await wentTo((await send(named.body.id)).body.messageId)
  t.match(went.to, /=\?UTF-8\?.*<ann@example\.net>, bob@example\.net$/i)
  t.equal(went.cc, 'Carl <carl@example.net>')
  t.equal(went.recipients.length, 4)

  const empty = await api.post(`/v1/inboxes/${id}/drafts`, letter)
  t.match(await send(empty.body.id), { status: 400, body: { message: /body\/to is required/ } })
  t.equal(
    (await api.patch(`/v1/drafts/${empty.body.id}`, { to: ['x@y.example', 'z@y.example'] })).status,
    200,
  )
  t.strictSame((await wentTo((await send(empty.body.id)).body.messageId)).to, 'x@y.example, z@y.example')
})

t.test('a message is answered and passed on by name', async t => {
  const server = await startApi(t)
  const { api, id, address, came, wentTo } = await startConversation(server, 'agent')
  const post = (path: string, body: object, key: string = randomUUID()) =>
    api.post(path, body, { 'idempotency-key': key })
  const first = await came({
    fromAddr: 'ann@example.net',
    addressNames: '{"ann@example.net":"Ann"}',
    subject: 'The fish',
    bodyText: 'How much is it?',
    headerTo: `${address}, bob@example.net`,
    cc: '["carl@example.net"]',
  })
  await came({ fromAddr: 'last@example.net', subject: 'Re: The fish' }, first.threadId)
  const path = `/v1/messages/${first.id}`
  const header = async (messageId: string) => (await api.get(`/v1/messages/${messageId}`)).body

  await t.test('reply', async t => {
    const { status, body } = await post(`${path}/reply`, { body: 'Three euros.' })
    t.match([status, body], [200, { threadId: first.threadId, status: 'pending' }])
    t.strictSame(await wentTo(body.messageId), {
      to: 'Ann <ann@example.net>',
      cc: '',
      recipients: ['ann@example.net'],
    })
    const sent = await header(body.messageId)
    t.match(sent, { subject: 'Re: Hi', inReplyTo: first.rfcMessageId, direction: 'outbound' })
    t.match(sent.bodyText, /Three euros\.\n\nOn .*, Ann wrote:\n> How much is it\?/)
    const plain = await post(`${path}/reply`, {
      body: 'b',
      includeQuote: false,
      to: 'x@y.example',
      subject: 'New',
    })
    t.match(await header(plain.body.messageId), { subject: 'New', bodyText: 'b', toAddr: 'x@y.example' })
    const all = { to: 'Ann <ann@example.net>', cc: 'bob@example.net, carl@example.net' }
    t.match(await wentTo((await post(`${path}/reply`, { body: 'b', replyAll: true })).body.messageId), all)
    t.match(await wentTo((await post(`${path}/reply-all`, { body: 'b' })).body.messageId), all)
    for (const wrong of [{ body: 'b', threadId: first.threadId }, { body: '' }, {}, { body: 'b', to: 'x' }]) {
      t.match(await post(`${path}/reply`, wrong), { status: 400, body: { error: 'invalid_request' } })
    }
  })

  await t.test('a repeat gets the first answer, also when the thread went on', async t => {
    const key = randomUUID()
    const one = await post(`${path}/reply`, { body: 'b', cc: 'X <x@y.example>' }, key)
    await came({ fromAddr: 'later@example.net' }, first.threadId)
    t.strictSame((await post(`${path}/reply`, { body: 'b', cc: ['x@y.example'] }, key)).body, one.body)
    for (const [other, body] of [
      [`${path}/reply`, { body: 'c', cc: ['x@y.example'] }],
      [`${path}/reply-all`, { body: 'b', cc: ['x@y.example'] }],
      [`${path}/forward`, { to: 'x@y.example', body: 'b' }],
      [`/v1/inboxes/${id}/send`, { threadId: first.threadId, body: 'b', cc: ['x@y.example'] }],
    ] as const) {
      t.equal((await post(other, body, key)).body.error, 'idempotency_key_conflict', other)
    }
    t.equal((await api.post(`${path}/reply`, { body: 'b' })).body.error, 'missing_idempotency_key')
  })

  await t.test('what a scanner found a virus in is passed on by an explicit word alone', async t => {
    const ill = await came({ verdict: 'malicious', category: 'malicious', bodyText: 'X5O' })
    const to = 'e@example.net'
    for (const more of [{}, { asAttachment: true }, { includeMalicious: false }]) {
      const { status, body } = await post(`/v1/messages/${ill.id}/forward`, { to, ...more })
      t.match({ status, error: body.error }, { status: 422, error: 'malicious_message' })
    }
    const passed = await post(`/v1/messages/${ill.id}/forward`, { to, includeMalicious: true })
    t.match((await header(passed.body.messageId)).bodyText, /X5O/)
    const key = randomUUID()
    const refused = await post(`/v1/messages/${ill.id}/forward`, { to }, key)
    const other = await post(`/v1/messages/${ill.id}/forward`, { to, includeMalicious: true }, key)
    t.equal(other.body.error, 'idempotency_key_conflict', 'it is another request')
    t.strictSame((await post(`/v1/messages/${ill.id}/forward`, { to }, key)).body, refused.body)
    const spam = await came({ verdict: 'spam', category: 'spam' })
    t.equal(
      (await post(`/v1/messages/${spam.id}/forward`, { to })).status,
      200,
      'what is spam the agent judges',
    )
  })

  await t.test('forward with as much as fits', async t => {
    const attachments = ['a', 'b', 'c'].map(name => ({ filename: name, content: 'AAAA' }))
    const sent = await post(`${path}/forward`, { to: 'x@y.example', attachments })
    const { messageId } = sent.body
    const { store } = server.app
    const { readingId } = await store.read
      .selectFrom('message')
      .select('readingId')
      .where('id', '=', messageId)
      .executeTakeFirstOrThrow()
    const third = Math.floor(attachmentsBytes / 3)
    for (const [last, status] of [
      [attachmentsBytes - 2 * third, 200],
      [attachmentsBytes - 2 * third + 1, 413],
    ] as const) {
      const stored = [third, third, last].map((sizeBytes, n) => ({
        ...{ filename: attachments[n]!.filename, contentType: 'text/plain', sizeBytes },
      }))
      await store.write(db =>
        db
          .updateTable('reading')
          .set({ attachments: JSON.stringify(stored) })
          .where('id', '=', readingId)
          .execute(),
      )
      const answer = await post(`/v1/messages/${messageId}/forward`, { to: 'x@y.example' })
      t.equal(answer.status, status, JSON.stringify(answer.body))
      if (status === 413) t.equal(answer.body.error, 'attachments_too_large')
    }
  })

  await t.test('forward as text', async t => {
    const { status, body } = await post(`${path}/forward`, {
      to: 'Dora <dora@example.net>',
      body: 'For you.',
    })
    t.equal(status, 200)
    t.not(body.threadId, first.threadId, 'it begins a thread of its own')
    t.match(await wentTo(body.messageId), { to: 'Dora <dora@example.net>', recipients: ['dora@example.net'] })
    const sent = await header(body.messageId)
    t.match(sent, { subject: 'Fwd: The fish', inReplyTo: null, references: [], bodyHtml: '' })
    t.match(
      sent.bodyText,
      /^For you\.\n\n---------- Forwarded message ----------\nFrom: Ann <ann@example\.net>\nDate: .* UTC\nSubject: The fish\nTo: agent@ours\.example, bob@example\.net\nCc: carl@example\.net\n\nHow much is it\?\n$/,
    )
    const again = await post(`/v1/messages/${body.messageId}/forward`, { to: 'e@example.net' })
    const twice = await header(again.body.messageId)
    t.equal(twice.subject, 'Fwd: The fish')
    t.match(twice.bodyText, /^---------- Forwarded message/)

    const html = await came({
      bodyText: 'a b',
      bodyHtml: '<html><body><p onclick="x()">a <b>b</b></p><script>evil()</script></body></html>',
    })
    const passed = await post(`/v1/messages/${html.id}/forward`, { to: 'e@example.net', body: 'See <below>' })
    const shown = (await header(passed.body.messageId)).bodyHtml
    t.match(shown, /See &lt;below&gt;.*Forwarded message.*From: bob@example\.net.*<p>a <b>b<\/b><\/p>/s)
    t.notMatch(shown, /onclick|script/)
    t.match(await post(`${path}/forward`, { body: 'b' }), {
      status: 400,
      body: { message: /body\/to is required/ },
    })
    t.match(await post(`${path}/forward`, { to: 'a@b.example', threadId: first.threadId }), { status: 400 })
    t.equal((await post(`${path}/forward`, { to: address })).body.error, 'recipient_is_sender')
  })

  await t.test('forward with what is attached, and as the message that it is', async t => {
    const { body: sent } = await api.send(id, {
      ...letter,
      to: 'bob@example.net',
      attachments: [{ filename: 'fish.txt', contentType: 'text/plain', content: 'VHdvLgo=' }],
    })
    const withFile = `/v1/messages/${sent.messageId}/forward`
    const text = await post(withFile, { to: 'e@example.net' })
    const own = [{ filename: 'own.bin', content: 'AAA=' }]
    const both = await post(withFile, { to: 'e@example.net', attachments: own })
    const names = async (messageId: string) =>
      (await header(messageId)).attachments.map((one: { filename: string; sizeBytes: number }) => [
        one.filename,
        one.sizeBytes,
      ])
    t.strictSame(await names(text.body.messageId), [['fish.txt', 5]])
    t.strictSame(await names(both.body.messageId), [
      ['own.bin', 2],
      ['fish.txt', 5],
    ])
    const whole = await post(withFile, { to: 'e@example.net', body: 'Look.', asAttachment: true })
    const message = await header(whole.body.messageId)
    t.equal(message.bodyText, 'Look.')
    t.match(message.attachments, [{ filename: 's.eml', contentType: 'message/rfc822' }])
    const attached = await api.get(message.attachments[0].url)
    t.strictSame(attached.bytes, (await api.get(`/v1/messages/${sent.messageId}/raw`)).bytes, 'byte for byte')
    const gone = await post(`${path}/forward`, { to: 'e@example.net', asAttachment: true })
    t.match(gone, { status: 404, body: { message: /original bytes/ } })
  })
  t.strictSame(server.faults, [])
})
