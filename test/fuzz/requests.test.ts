import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { conversation, fuzz } from '../support/fuzz.ts'

t.test('whatever a client writes, the answer is HTTP and no fault of ours', async t => {
  const { port, token, faults, api } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
  const body = JSON.stringify({
    to: ['Bob <bob@theirs.example>'],
    subject: 's',
    body: 'b',
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'eA==' }],
  })
  const head = (line: string, length: number) =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
  await fuzz(
    t,
    {
      seeds: [
        head(`POST /v1/inboxes/${id}/send`, body.length) + body,
        head(`POST /v1/inboxes/${id}/drafts`, body.length) + body,
        head(`GET /v1/inboxes/${id}/messages?limit=10&offset=0&q=a%20b&from=x`, 0),
        `${head('PATCH /v1/inboxes/ann%40ours.example', 20)}{"displayName":"Ann"}`,
        head('GET /v1/events?after=0&types=message.received', 0),
      ],
      words: [
        '\r\n',
        '\r\n\r\n',
        'Transfer-Encoding: chunked\r\n',
        '5\r\nhello\r\n0\r\n\r\n',
        'Content-Length: 5\r\n',
        'Expect: 100-continue\r\n',
        'Upgrade: websocket\r\nConnection: Upgrade\r\n',
        'Content-Encoding: gzip\r\n',
        'GET / HTTP/1.0\r\n\r\n',
        '{',
        '[',
        '"',
        '\\',
        '\\ud800',
        'null',
        '1e999',
        '-',
        '__proto__',
        '%00',
        '%ff',
        '%',
        '..',
        '/',
        '?',
        '&',
        '=',
        '\0',
        '"autoSubmitted":true,',
        '"threadId":"x",',
        '"sendAt":"2030-01-01T00:00:00Z",',
      ],
      most: 8192,
    },
    async input => {
      const answer = await conversation(port, [input])
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]
      if (answer !== '' && status === undefined)
        throw new Error(`no HTTP: ${JSON.stringify(answer.slice(0, 300))}`)
      if (status !== undefined && Number(status) >= 500) throw new Error(answer.slice(0, 600))
      if (faults.length > 0) throw new Error(`logged: ${faults[0]}`)
    },
  )
})
