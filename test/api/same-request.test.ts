import t from 'tap'
import { ForwardRequest, ReplyAllRequest, ReplyRequest, SendRequest } from '../../lib/model/send.ts'
import { startApi } from '../support/api-app.ts'
import { startConversation } from '../support/conversation.ts'

const file = { filename: 'a.txt', content: 'aGk=' }

/** Another value of each field than a request has that leaves it out, or names Bob, `s` and `b`. */
function others(replyTo: string, threadId: string): Record<string, unknown> {
  return {
    to: 'carl@example.net',
    body: 'other',
    subject: 'other',
    bodyHtml: '<p>other</p>',
    bodyFormat: 'html',
    threadId,
    replyAll: true,
    includeQuote: false,
    replyTo,
    cc: 'dora@example.net',
    bcc: 'eva@example.net',
    attachments: [file],
    autoSubmitted: true,
    asAttachment: true,
    includeMalicious: true,
  }
}

t.test('each field of what is sent makes it another request under its key', async t => {
  const { api, id, address, came } = await startConversation(await startApi(t), 'agent')
  const { id: message, threadId } = await came()
  const another = (await came()).threadId
  const letter = { to: 'bob@example.net', subject: 's', body: 'b' }
  for (const [path, { properties }] of [
    [`/v1/inboxes/${id}/send`, SendRequest],
    [`/v1/messages/${message}/reply`, ReplyRequest],
    [`/v1/messages/${message}/reply-all`, ReplyAllRequest],
    [`/v1/messages/${message}/forward`, ForwardRequest],
  ] as const) {
    const headers = { 'idempotency-key': path }
    const body = path.endsWith('/send') ? { ...letter, threadId } : letter
    const first = await api.post(path, body, headers)
    t.equal(first.status, 200, path)
    for (const field of Object.keys(properties)) {
      const value = others(address, another)[field]
      if (value === undefined) throw new Error(`${field} has no other value here`)
      const other = await api.post(path, { ...body, [field]: value }, headers)
      t.strictSame([other.status, other.body.error], [409, 'idempotency_key_conflict'], `${path} ${field}`)
    }
    t.strictSame((await api.post(path, body, headers)).body, first.body, path)
  }
})

t.test('a draft goes out as the same request does, with each field and without', async t => {
  const { api, id, address, came } = await startConversation(await startApi(t), 'agent')
  /** What goes out and to whom; what is of one message alone is left out. */
  const wentOut = async (messageId: string) => {
    const { bytes } = await api.get(`/v1/messages/${messageId}/raw`)
    const { data } = (await api.get(`/v1/messages/${messageId}/deliveries`)).body
    const text = bytes
      .toString()
      .replaceAll(/^(?:Message-ID|Date|References|DKIM-Signature):(?:.*\r\n[ \t])*.*\r\n/gim, '')
      .replaceAll(/=_[\w-]+/g, 'boundary')
      .replaceAll(/^In-Reply-To: .*/gim, 'In-Reply-To: it')
    return { text, recipients: data.map((one: { recipient: string }) => one.recipient).sort() }
  }
  const ways = [
    async (request: object) => api.send(id, request),
    async (request: object, key: string) => {
      const draft = await api.post(`/v1/inboxes/${id}/drafts`, request)
      t.equal(draft.status, 201, key)
      return api.post(`/v1/drafts/${draft.body.id}/send`, undefined, { 'idempotency-key': key })
    },
  ]
  const ofReplies = ['threadId', 'replyAll', 'includeQuote']
  // An explicit `to` is taken as it stands.
  const ofDerived = ['replyAll']
  const values = others(address, '')
  const changes: readonly (readonly [field: string, value: unknown])[] = [
    ['body', 'b'],
    ...Object.keys(SendRequest.properties).map(field => [field, values[field]] as const),
    // As where it is left out.
    ['replyAll', false],
    ['includeQuote', true],
    ['autoSubmitted', false],
  ]
  const seen = new Set<string>()
  for (const [field, value] of changes) {
    const said = `${field} ${value}`
    const answers = []
    for (const way of ways) {
      const { threadId } = await came({ bodyText: 'How much is it?', cc: '["fred@example.net"]' })
      const thread = ofReplies.includes(field) ? { threadId } : {}
      const to = ofDerived.includes(field) ? {} : { to: 'bob@example.net' }
      const request = { ...to, subject: 's', body: 'b', [field]: value, ...thread }
      const sent = await way(request, said)
      t.equal(sent.status, 200, said)
      answers.push(await wentOut(sent.body.messageId))
    }
    t.strictSame(answers[1], answers[0], said)
    seen.add(JSON.stringify(answers[0]))
  }
  t.equal(seen.size, Object.keys(SendRequest.properties).length + 1, 'each field is seen in what goes out')
})
