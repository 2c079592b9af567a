import { readFileSync } from 'node:fs'
import t from 'tap'
import { startApi } from '../support/api-app.ts'

const pdf = readFileSync(new URL('../reading/attachment/data/invoice.pdf', import.meta.url))
const file = (filename: string, content: Buffer | string, contentType?: string) => ({
  filename,
  content: Buffer.from(content as Buffer).toString('base64'),
  ...(contentType !== undefined && { contentType }),
})

t.test('attachments by message and name', async t => {
  const server = await startApi(t)
  const { api, apiWith, baseUrl, token } = server
  const { id } = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
  const attachments = [
    file('a b.txt', 'first', 'text/plain'),
    file('twice.csv', 'one', 'text/csv'),
    file('twice.csv', 'two', 'text/csv'),
    file('invoice.pdf', pdf, 'application/pdf'),
    file('text', 'named text', 'text/plain'),
    file('pic.png', 'x', 'image/png'),
    file('broken.pdf', 'no', 'application/pdf'),
  ]
  const sent = await api.send(id, { to: 'bob@example.net', subject: 's', body: 'b', attachments })
  t.equal(sent.status, 200, JSON.stringify([sent.body, server.faults]))
  const message = sent.body.messageId
  const path = (name: string) => `/v1/attachments/${message}/${encodeURIComponent(name)}`
  const fetched = (url: string, accept: string) =>
    fetch(new URL(url, baseUrl), {
      headers: { accept, authorization: `Bearer ${token}` },
      redirect: 'manual',
    })

  t.equal((await api.get(path('a b.txt'))).bytes.toString(), 'first')
  for (const accept of ['*/*', 'application/json, text/plain, */*', 'text/plain']) {
    const answer = await fetched(path('a b.txt'), accept)
    t.strictSame([answer.status, await answer.text()], [200, 'first'], accept)
    t.match(answer.headers.get('content-disposition'), /^attachment/)
  }
  const redirect = await fetched(path('a b.txt'), 'application/json')
  t.equal(redirect.status, 302)
  const signed = redirect.headers.get('location')!
  t.match(
    signed,
    new RegExp(`^${baseUrl}/v1/attachments/${message}/0/a%20b.txt\\?expires=\\d+&key=[\\w-]{36}&signature=`),
  )
  t.equal(await (await fetch(signed)).text(), 'first', 'it needs no key')

  t.equal((await api.get(path('twice.csv'))).bytes.toString(), 'one', 'the first of that name')
  t.equal((await api.get(`${path('twice.csv')}?index=2`)).bytes.toString(), 'two')
  t.equal((await api.get(`${path('twice.csv')}/text?index=2`)).body.text, 'two')
  for (const absent of [
    path('none'),
    `${path('twice.csv')}?index=0`,
    `${path('none')}/text`,
    '/v1/attachments/x/y',
  ]) {
    t.equal((await api.get(absent)).body.error, 'not_found', absent)
  }
  t.equal((await api.get(`${path('twice.csv')}?index=-1`)).status, 400)
  for (const url of [path('a b.txt'), `${path('a b.txt')}/text`]) {
    t.equal((await apiWith(undefined).get(url)).status, 401)
  }

  const listed = async () => (await api.get(`/v1/messages/${message}`)).body.attachments
  t.strictSame(
    (await listed()).map((one: { extractionMethod: string }) => one.extractionMethod),
    ['text', 'csv', 'csv', 'pdf', 'text', 'unsupported', 'pdf'],
  )
  t.equal((await listed())[3].parsedText, null, 'not made before it is asked for')
  const expected = {
    messageId: message,
    inboxId: id,
    filename: 'invoice.pdf',
    contentType: 'application/pdf',
  }
  const text = (await api.get(`${path('invoice.pdf')}/text`)).body
  t.match(text, { ...expected, extractionMethod: 'pdf', text: /Seventy-two tons of fish/ })
  t.equal((await listed())[3].parsedText, text.text)
  const thread = (await api.get(`/v1/threads/${sent.body.threadId}/messages`)).body.data[0]
  t.equal(thread.attachments[3].parsedText, text.text)
  t.match((await api.get(`${path('pic.png')}/text`)).body, { extractionMethod: 'unsupported', text: null })
  t.match((await api.get(`${path('broken.pdf')}/text`)).body, { extractionMethod: 'error', text: null })
  t.equal((await listed())[6].extractionMethod, 'error')
  t.equal((await api.get(`${path('text')}/text`)).body.text, 'named text')
  const [ofText] = (await listed()).filter((one: { filename: string }) => one.filename === 'text')
  t.equal(await (await fetch(ofText.url)).text(), 'named text', 'its URL is not taken for that of a text')

  await server.app.textReader.stop()
  t.equal((await api.get(`${path('invoice.pdf')}/text`)).body.text, text.text, 'it was kept')
  t.equal((await api.get(`${path('a b.txt')}/text`)).status, 503, 'and the others are not')
  t.equal((await api.delete(`/v1/messages/${message}`)).status, 204)
  t.equal((await api.get(`${path('invoice.pdf')}/text`)).status, 404)
  t.strictSame(await server.app.store.read.selectFrom('attachmentText').selectAll().execute(), [])
  t.strictSame(server.faults, [])
})

t.test('a signed URL ends with the key that fetched it', async t => {
  const { api, apiWith, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const key = (await api.post(`/v1/inboxes/${id}/api-keys`, {})).body
  const agent = apiWith(key.token)
  const attachments = [file('a.txt', 'one', 'text/plain')]
  const { messageId } = (
    await agent.send(id, { to: 'bob@example.net', subject: 's', body: 'b', attachments })
  ).body
  const draft = await agent.post(`/v1/inboxes/${id}/drafts`, { attachments })
  const message = (await agent.get(`/v1/messages/${messageId}`)).body
  const urls: string[] = [message, draft.body].map(({ attachments: [one] }) => one.url)
  const others: string[] = [(await api.get(`/v1/messages/${messageId}`)).body.attachments[0].url]
  const statuses = (all: readonly string[]) => Promise.all(all.map(async url => (await fetch(url)).status))
  t.strictSame(await statuses([...urls, ...others]), [200, 200, 200])
  t.equal((await api.delete(`/v1/inboxes/${id}/api-keys/${key.id}`)).status, 204)
  t.strictSame(await statuses(urls), [401, 401])
  t.strictSame(
    await statuses(urls.map(url => url.replace(/&key=[^&]*/, ''))),
    [401, 401],
    'nor without its name',
  )
  t.strictSame(await statuses(others), [200], 'the URL of another key stays')
  t.strictSame(faults, [])
})

t.test('attachments of a draft have signed URLs, before and after it is sent', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const { id } = (await api.post('/v1/inboxes', {})).body
  const other = (await api.post('/v1/inboxes', {})).body.id
  const large = Buffer.alloc(300_000, 'x')
  const draft = {
    to: 'bob@example.net',
    subject: 's',
    body: 'b',
    attachments: [file('a.txt', 'one'), file('b.txt', large)],
  }
  const made = (await api.post(`/v1/inboxes/${id}/drafts`, draft)).body
  const get = async (url: string) => {
    const answer = await fetch(url)
    return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : answer.status
  }
  const urls = made.attachments.map((one: { url: string }) => one.url)
  t.strictSame([await get(urls[0]), await get(urls[1])], [Buffer.from('one'), large])
  const bare = new URL(urls[0]).pathname
  t.equal((await api.get(bare)).bytes.toString(), 'one', 'with a key')
  t.equal((await apiWith(undefined).get(bare)).status, 401)
  const stranger = apiWith((await api.post(`/v1/inboxes/${other}/api-keys`, {})).body.token)
  const absent = bare.replace(/[^/]+(?=\/0\/)/, '01890000-0000-7000-8000-000000000000')
  const [hidden, none] = [await stranger.get(bare), await stranger.get(absent)]
  t.strictSame([hidden.status, hidden.body], [404, none.body], 'a foreign one is told as none')

  const changed = (await api.patch(`/v1/drafts/${made.id}`, { attachments: [file('c.txt', 'two')] })).body
  t.equal(await get(urls[0]), 404, 'an old URL never leads to another file')
  t.strictSame(await get(changed.attachments[0].url), Buffer.from('two'))
  await api.call('POST', `/v1/drafts/${made.id}/send`, undefined, { 'idempotency-key': 'k' })
  const sent = (await api.get(`/v1/drafts/${made.id}`)).body
  t.equal(sent.status, 'sent')
  t.strictSame(await get(sent.attachments[0].url), Buffer.from('two'), 'the bytes are in the message')
  t.strictSame(server.faults, [])
})
