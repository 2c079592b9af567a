import t from 'tap'
import { fieldOf, startSpecified, unlike } from '../support/specified.ts'

const it = await startSpecified(t)
const { api } = it
const agent = await it.inbox({ mailboxName: 'agent' })
const me = agent.address
const answer = async (body: object) => {
  const sent = await api.send(agent.id, body)
  if (sent.status !== 200) throw new Error(JSON.stringify(sent.body))
  const raw = await it.raw(sent.body.messageId)
  const { body: message } = await api.get(`/v1/messages/${sent.body.messageId}`)
  return {
    raw,
    message,
    To: fieldOf(raw, 'To'),
    Cc: fieldOf(raw, 'Cc'),
    Subject: fieldOf(raw, 'Subject'),
  }
}

t.test('a thread', async t => {
  const first = await it.arrive(agent.id, {
    to: me,
    headers: ['Subject: The fish', 'Message-ID: <root@theirs.example>'],
    text: 'How much is it?',
  })
  const { body: thread } = await api.get(`/v1/threads/${first.threadId}`)
  t.strictSame(
    unlike(thread, ['id', 'inboxId', 'subject', 'isRead', 'lastMessageAt', 'createdAt', 'messageCount']),
    [],
    'Thread: id, subject, isRead, lastMessageAt, createdAt, messageCount, inboxId',
  )
  t.match(
    thread,
    { id: first.threadId, inboxId: agent.id, subject: 'The fish', isRead: false, messageCount: 1 },
    'isRead: default false for new inbound threads',
  )
  t.match(
    thread.lastMessageAt,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    'ISO 8601 with milliseconds and Z',
  )
  const { body: list } = await api.get(`/v1/inboxes/${agent.id}/threads`)
  t.match(list, { total: 1, data: [{ id: first.threadId }] }, 'GET /v1/inboxes/{id}/threads → {data, total}')

  const reply = await answer({ threadId: first.threadId, body: 'Three euros.' })
  t.equal(reply.Subject, 'Re: The fish', 'the thread subject is used with a `Re:` prefix')
  t.equal(reply.To, 'bob@theirs.example', 'else its From')
  t.equal(reply.Cc, undefined, 'and nobody else')
  t.equal(
    fieldOf(reply.raw, 'In-Reply-To'),
    '<root@theirs.example>',
    'A reply sets In-Reply-To to the last message',
  )
  t.equal(fieldOf(reply.raw, 'References'), '<root@theirs.example>', "References to the thread's chain")
  t.match(
    reply.message.bodyText,
    /^Three euros\.\s+On .*wrote:\s+> How much is it\?/s,
    'the text part ends with `On <date>, <name> wrote:` and `> ` lines',
  )
  t.equal(
    (await api.get(`/v1/threads/${first.threadId}`)).body.isRead,
    true,
    'isRead is true once a reply is sent',
  )
  const short = await answer({ threadId: first.threadId, body: 'Four.', includeQuote: false })
  t.equal(short.message.bodyText.trim(), 'Four.', 'includeQuote false sends only the reply text')
  t.match(
    fieldOf(short.raw, 'References'),
    /^<root@theirs\.example> <.+@ours\.example>$/,
    'References: the chain of the thread',
  )
  t.equal(fieldOf(short.raw, 'Subject'), 'Re: The fish', 'one `Re:` only')
  const html = await answer({ threadId: first.threadId, body: '<p>Five</p>' })
  t.match(html.message.bodyHtml, /<blockquote/, 'the HTML part with a blockquote')
  const own = await answer({ threadId: first.threadId, body: 'Six', subject: 'Bones' })
  t.equal(own.Subject, 'Bones', 'a subject that is given stands')

  const second = await it.arrive(agent.id, {
    to: me,
    headers: ['Subject: else', `In-Reply-To: ${reply.message.rfcMessageId}`],
  })
  t.equal(second.threadId, first.threadId, 'In-Reply-To matched on stored Message-IDs')
  const third = await it.arrive(agent.id, {
    to: me,
    headers: ['Subject: else', 'References: <root@theirs.example> <unknown@theirs.example>'],
  })
  t.equal(third.threadId, first.threadId, 'else References from the last to the first')
  const fourth = await it.arrive(agent.id, { to: me, headers: ['Subject: The fish'] })
  t.not(fourth.threadId, first.threadId, 'never by subject')
  const { body: newest } = await api.get(`/v1/inboxes/${agent.id}/threads?limit=1`)
  t.match([newest.total, newest.data[0].id], [2, fourth.threadId], 'threads are listed newest first')

  const { body: messages } = await api.get(`/v1/threads/${first.threadId}/messages`)
  t.strictSame(
    unlike(messages, ['threadId', 'subject', 'isRead', 'data', 'inboxId']),
    [],
    '{threadId, subject, isRead, data} and `inboxId`',
  )
  t.match(messages, { threadId: first.threadId, subject: 'The fish', inboxId: agent.id }, 'whose they are')
  t.equal(messages.data.length, 7, 'all of the thread')
  t.equal(messages.data[0].id, first.id, 'messages in a thread are listed oldest first')
  t.equal(messages.data.at(-1).id, third.id, 'the newest last')

  for (const name of ['is_read', 'isRead']) {
    for (const isRead of [true, false]) {
      const patched = await api.patch(`/v1/threads/${first.threadId}`, { [name]: isRead })
      t.match([patched.status, patched.body], [200, { ok: true }], `PATCH thread ${name} → 200 {ok: true}`)
      const now = (await api.get(`/v1/threads/${first.threadId}`)).body.isRead
      t.equal(now, isRead, `PATCH thread with ${name} ${isRead}`)
    }
  }
  await api.patch(`/v1/threads/${fourth.threadId}`, { is_read: true })
  for (const name of ['is_read', 'isRead']) {
    const { body } = await api.get(`/v1/inboxes/${agent.id}/threads?${name}=true`)
    t.match(
      body,
      { total: 1, data: [{ id: fourth.threadId }] },
      `the filter for read state is accepted as ${name}`,
    )
  }
  const wrong = await api.patch(`/v1/threads/${first.threadId}`, { is_read: 'yes' })
  t.match([wrong.status, wrong.body.error], [400, 'invalid_request'], 'a wrong type gets 400')
  const absent = await api.get('/v1/threads/0193e2a4-0000-7000-8000-000000000000/messages')
  t.match([absent.status, absent.body.error], [404, 'not_found'], '404 not_found')
  t.equal((await api.get('/v1/threads/nonsense')).status, 404, 'an id that is no UUID gives 404')

  const inboxKey = (await api.post(`/v1/inboxes/${agent.id}/api-keys`, { name: 'k' })).body.token
  t.equal(
    (await it.as(inboxKey).get(`/v1/threads/${first.threadId}`)).status,
    200,
    'an inbox key reads its threads',
  )
  t.equal(
    (await it.as(inboxKey).delete(`/v1/threads/${fourth.threadId}`)).status,
    403,
    'DELETE thread: inbox key 403',
  )
  t.equal((await api.delete(`/v1/threads/${fourth.threadId}`)).status, 204, 'DELETE /v1/threads/{id} → 204')
  t.equal((await api.get(`/v1/threads/${fourth.threadId}`)).status, 404, 'and it is gone')
})

t.test('whom a reply goes to', async t => {
  const copied = await it.arrive(agent.id, {
    from: 'ann@theirs.example',
    to: me,
    headers: [
      'From: Ann <ann@theirs.example>',
      'To: Bob <bob@theirs.example>, dora@theirs.example',
      `Cc: Agent <${me}>, carol@theirs.example`,
      'Subject: Copied',
    ],
  })
  t.match(
    copied,
    { deliveryRole: 'cc', headerTo: 'bob@theirs.example, dora@theirs.example' },
    'deliveryRole `cc`; headerTo comma-separated if several',
  )
  t.strictSame(copied.cc, [me, 'carol@theirs.example'], 'cc: copied addresses')
  t.match(
    copied.addressNames,
    { 'ann@theirs.example': 'Ann', 'bob@theirs.example': 'Bob', [me]: 'Agent' },
    'addressNames: from address to display name',
  )
  t.equal(copied.toAddr, me, 'toAddr is for inbound the service inbox address')
  const { threadId } = copied
  const toCopy = await answer({ threadId, body: 'b' })
  t.match(
    toCopy.To,
    /bob@theirs\.example.*dora@theirs\.example/,
    'when deliveryRole is cc, it goes to the headerTo addresses',
  )
  t.match(toCopy.Cc, /^(Ann )?<?ann@theirs\.example>?$/, 'and copies who wrote')
  for (const to of ['ann@theirs.example', 'bob@theirs.example']) {
    const explicit = await answer({ threadId, body: 'b', to })
    t.match([explicit.To, explicit.Cc], [to, undefined], `an explicit \`to\` is taken as it stands: ${to}`)
  }
  const fresh = await it.arrive(agent.id, {
    from: 'ann@theirs.example',
    to: me,
    headers: ['To: bob@theirs.example', `Cc: ${me}`, 'Subject: c'],
  })
  const somebody = await answer({ threadId: fresh.threadId, body: 'b', to: 'zoe@theirs.example' })
  t.match(
    [somebody.To, somebody.Cc],
    ['zoe@theirs.example', undefined],
    'a `to` that is somebody else is taken as it is',
  )

  const all = await it.arrive(agent.id, {
    from: 'ann@theirs.example',
    to: me,
    headers: [
      `To: ${me}, bob@theirs.example`,
      'Cc: carol@theirs.example',
      'Reply-To: Desk <desk@theirs.example>',
      'Subject: All',
    ],
  })
  t.equal(all.deliveryRole, 'to', 'deliveryRole is `to` when the inbox is named in To')
  t.equal(all.headerTo, `${me}, bob@theirs.example`, 'headerTo: the address the sender wrote to')
  const toDesk = await answer({ threadId: all.threadId, body: 'b' })
  t.match([toDesk.To, toDesk.Cc], [/desk@theirs\.example/, undefined], 'goes to its Reply-To, else its From')
  const everybody = await answer({ threadId: all.threadId, body: 'b', replyAll: true })
  t.match(everybody.To, /^(Desk )?<?desk@theirs\.example>?$/, 'replyAll: the reply goes where a reply goes')
  t.strictSame(
    everybody.message.cc.toSorted(),
    ['bob@theirs.example', 'carol@theirs.example'],
    '`replyAll: true` copies everybody else of To and Cc, never ourselves',
  )
  const blind = await it.arrive(agent.id, { to: me, headers: ['To: list@theirs.example', 'Subject: B'] })
  t.equal(blind.deliveryRole, null, 'deliveryRole is null when in neither (Bcc, lists)')
  const onlyOut = await api.send(agent.id, { to: 'yan@theirs.example', subject: 'Out', body: 'b' })
  const followUp = await answer({ threadId: onlyOut.body.threadId, body: 'Hello?' })
  t.equal(followUp.To, 'yan@theirs.example', "else the newest outbound's recipients")

  const named = async (name: string, body: object, key: string) =>
    api.post(`/v1/messages/${all.id}/${name}`, body, { 'idempotency-key': key })
  const reply = await named('reply', { body: 'b' }, 'r1')
  t.strictSame(
    [
      reply.status,
      unlike(reply.body, [
        'messageId',
        'threadId',
        'providerMessageId',
        'status',
        'to',
        'cc',
        'bcc',
        'notIncluded',
      ]),
    ],
    [200, []],
    '/reply → the send result',
  )
  t.equal(reply.body.threadId, all.threadId, 'in its thread')
  t.match(fieldOf(await it.raw(reply.body.messageId), 'To'), /desk@/, '/reply goes to Reply-To')
  t.equal(
    fieldOf(await it.raw(reply.body.messageId), 'In-Reply-To'),
    all.rfcMessageId,
    '/reply answers this message',
  )
  t.match((await named('reply', { body: 'b' }, 'r1')).body, reply.body, 'a repeat gives the original answer')
  t.equal((await named('reply', { body: 'c' }, 'r1')).status, 409, 'another body gets 409')
  const missing = await api.post(`/v1/messages/${all.id}/reply`, { body: 'b' })
  t.match(missing.body.error, 'missing_idempotency_key', '/reply without Idempotency-Key')
  const replyAll = await named('reply-all', { body: 'b' }, 'r2')
  t.match(
    fieldOf(await it.raw(replyAll.body.messageId), 'Cc'),
    /bob@.*carol@/,
    '/reply-all copies the others',
  )
  const withThread = await named('reply', { body: 'b', threadId: all.threadId }, 'r3')
  t.match(
    [withThread.status, withThread.body.error],
    [400, 'invalid_request'],
    'body as send without `threadId`',
  )
  const forward = await named('forward', { to: 'zoe@theirs.example' }, 'r4')
  t.equal(forward.status, 200, `/forward → the send result ${JSON.stringify(forward.body)}`)
  const copy = await it.raw(forward.body.messageId)
  t.equal(fieldOf(copy, 'To'), 'zoe@theirs.example', '/forward goes to whom it names')
  t.match(copy, /ann@theirs\.example[\s\S]*Hello/, 'forward carries the original as text')
  const attached = await named('forward', { to: 'zoe@theirs.example', asAttachment: true }, 'r5')
  t.match(
    await it.raw(attached.body.messageId),
    /Content-Type: message\/rfc822/i,
    'or, with `asAttachment: true`, as message/rfc822',
  )
  const toNobody = await named('forward', { body: 'b' }, 'r6')
  t.match([toNobody.status, toNobody.body.error], [400, 'invalid_request'], '/forward needs a `to`')
  const foreign = await api.post(
    '/v1/messages/0193e2a4-0000-7000-8000-000000000000/reply',
    { body: 'b' },
    { 'idempotency-key': 'r7' },
  )
  t.match([foreign.status, foreign.body.error], [404, 'not_found'], 'a message that is not there')
})
