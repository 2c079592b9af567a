import { connect } from 'node:net'
import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'
import { namesOfChance } from '../support/names-of-chance.ts'

/** Sends bytes on a connection of their own, and gives all that comes until it ends. */
function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    // Of what is refused before it was read to its end.
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.write(bytes)
  })
}

/** What is made once for all who ask is another at each change of a document; of it is shown what it is. */
const longest = 1500

/** What nearly all of them have. */
const toAnyPage =
  'Access-Control-Allow-Origin: * | Access-Control-Expose-Headers: Retry-After, ETag, Content-Disposition, Allow, WWW-Authenticate'

/** The lines of an answer, or of several behind each other: its first one with its fields, and its body. */
function answersIn(bytes: Buffer, names: (text: string) => string): string[] {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return [bytes.toString('latin1')]
  const head = bytes.toString('latin1', 0, end)
  const rest = bytes.subarray(end + 4)
  if (/^HTTP\S+ 1\d\d /.test(head)) return [head, ...answersIn(rest, names)]
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? rest.length)
  const body = rest.subarray(0, length)
  const isLong = length > longest
  const hidden = isLong ? /^(content-length|etag): .*/i : /^(etag): .*/i
  const fields = head.split('\r\n').filter(line => !/^date:/i.test(line))
  const said = /^content-encoding:/im.test(head)
    ? `encoded: ${body.length > 0}`
    : body.toString('utf8', 0, isLong ? 60 : longest)
  const shown = fields
    .map(line => line.replace(hidden, '$1: …'))
    .join(' | ')
    .replace(toAnyPage, 'to any page')
  return [
    names(shown),
    ...(body.length === 0 ? [] : [names(said)]),
    ...(rest.length > length ? answersIn(rest.subarray(length), names) : []),
  ]
}

const crlf = (lines: readonly string[]) => lines.join('\r\n')

t.test('what each kind of request is answered', async t => {
  const { port, token, faults, api } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body.id
  const key = `Authorization: Bearer ${token}`
  const requests: [string, string | Buffer][] = []
  const ask = (title: string, line: string, fields: readonly string[] = [], body: string | Buffer = '') => {
    const bytes = Buffer.from(body)
    const hasLength = fields.some(field => /^(content-length|transfer-encoding):/i.test(field))
    const length = bytes.length > 0 && !hasLength ? [`Content-Length: ${bytes.length}`] : []
    const head = crlf([`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...fields, ...length, '', ''])
    requests.push([title, Buffer.concat([Buffer.from(head, 'latin1'), bytes])])
  }
  const raw = (title: string, text: string) => requests.push([title, Buffer.from(text, 'latin1')])

  for (const path of [
    ...[
      '/',
      '/docs',
      '/docs/',
      '/docs/none',
      '/openapi.json',
      '/llms.txt',
      '/health',
      '/robots.txt',
      '/favicon.ico',
      '/nothing',
    ],
    ...[
      '/v1',
      '/v1/',
      '/v1/me',
      '/v1/me/',
      '/v1//me',
      '/V1/me',
      '/v1/nothing',
      '/v1/inboxes/%',
      '/v1/inboxes/%ff',
    ],
    ...[
      '/v1/inboxes/a%00b',
      '/v1/inboxes/none',
      `/v1/inboxes/${inbox}`,
      `/v1/inboxes/${inbox.toUpperCase()}`,
      '/v1/../v1/me',
    ],
    ...[
      '/v1/inboxes?limit=0',
      '/v1/inboxes?limit=abc',
      '/v1/inboxes?limit=1&limit=2',
      '/v1/inboxes?limits=1',
      '/v1/inboxes?limit=1&offset=-1',
    ],
    ...[
      '/v1/me?x=1',
      '/health?x=1',
      '/v1/messages?q=%ff',
      `/v1/messages?q=${'a'.repeat(501)}`,
      '//evil.example/v1/me',
      'http://y/v1/me',
      '*',
    ],
  ])
    ask(
      `GET ${path.replace(inbox, 'ID').replace(inbox.toUpperCase(), 'ID IN CAPITALS').slice(0, 60)}`,
      `GET ${path}`,
      [key],
    )
  for (const method of [
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'CONNECT',
    'PROPFIND',
    'get',
  ])
    for (const path of ['/openapi.json', '/v1/inboxes', '/nothing'])
      ask(`${method} ${path}`, `${method} ${path}`, [key])

  for (const [title, ...fields] of [
    ['no key'],
    ['a wrong key', 'Authorization: Bearer mb_wrong'],
    ['no word before it', `Authorization: ${token}`],
    ['Basic', 'Authorization: Basic YTpi'],
    ['bearer', `authorization: bearer ${token}`],
    ['nothing behind it', 'Authorization: Bearer '],
    ['two', key, 'Authorization: Bearer mb_other'],
    ['an origin', key, 'Origin: https://agent.example'],
    ['an origin without a key', 'Origin: https://agent.example'],
    ['null as an origin', key, 'Origin: null'],
    [
      'a forwarded address',
      key,
      'X-Forwarded-For: 192.0.2.1',
      'X-Forwarded-Proto: https',
      'Forwarded: for=192.0.2.1',
    ],
    ['what it would rather have', key, 'Accept: text/html', 'Accept-Language: de'],
    ['an upgrade', key, 'Connection: Upgrade', 'Upgrade: h2c'],
  ] as const)
    ask(`with ${title}`, 'GET /v1/me', fields)
  for (const [title, ...fields] of [
    ['of a page', 'Origin: https://agent.example', 'Access-Control-Request-Method: POST'],
    [
      'with fields',
      'Origin: https://agent.example',
      'Access-Control-Request-Method: PATCH',
      'Access-Control-Request-Headers: authorization, x-mine',
    ],
    [
      'of a private network',
      'Origin: https://agent.example',
      'Access-Control-Request-Method: GET',
      'Access-Control-Request-Private-Network: true',
    ],
    ['without a method', 'Origin: https://agent.example'],
  ] as const)
    ask(`a question before ${title}`, 'OPTIONS /v1/inboxes', fields)
  for (const encoding of ['gzip', 'br', 'gzip;q=0', 'identity', '*', 'deflate', 'gzip, br'])
    for (const path of ['/openapi.json', '/health'])
      ask(`${path} as ${encoding}`, `GET ${path}`, [`Accept-Encoding: ${encoding}`])
  for (const [field, value] of [
    ['If-None-Match', '*'],
    ['If-None-Match', '"other"'],
    ['If-Modified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
    ['Range', 'bytes=0-9'],
  ])
    ask(`/openapi.json with ${field}: ${value}`, 'GET /openapi.json', [`${field}: ${value}`])

  const json = 'Content-Type: application/json'
  for (const [title, body, ...fields] of [
    ['nothing', ''],
    ['nothing as JSON', '', json],
    ['no type', '{}'],
    ['text', '{}', 'Content-Type: text/plain'],
    ['JSON of another charset', '{}', 'Content-Type: application/json; charset=iso-8859-1'],
    ['JSON in capitals', '{}', 'Content-Type: APPLICATION/JSON; charset="UTF-8"'],
    ['JSON of a kind', '{}', 'Content-Type: application/problem+json'],
    ['a type that is none', '{}', 'Content-Type: json'],
    ['a byte order mark', '\ufeff{}', json],
    ['a list', '[]', json],
    ['null', 'null', json],
    ['a number', '1', json],
    ['a text', '"a"', json],
    ['an open brace', '{', json],
    ['more behind it', '{} {}', json],
    ['a comma too many', '{"displayName":"a",}', json],
    ['a name twice', '{"displayName":"a","displayName":"b"}', json],
    ['a name without quotes', '{displayName:"a"}', json],
    ['a number that is none', '{"displayName":01}', json],
    ['a NUL', '{"displayName":"a\\u0000"}', json],
    ['half a character', '{"displayName":"\\ud83d"}', json],
    ['a line in a text', '{"displayName":"a\nb"}', json],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), json],
    ['its own prototype', '{"__proto__":{"mailboxName":"a"}}', json],
    ['unknown names', '{"mailboxname":"a","x":1}', json],
    ['wrong types', '{"mailboxName":1,"displayName":{},"podId":[]}', json],
    ['what it may not be', '{"mailboxName":"a b"}', json],
    ['nulls', '{"mailboxName":null,"displayName":null}', json],
    ['deep', `${'['.repeat(200)}${']'.repeat(200)}`, json],
    ['an encoded body', '{}', json, 'Content-Encoding: gzip'],
    ['a form', 'displayName=a', 'Content-Type: application/x-www-form-urlencoded'],
    ['a form of parts', '--b\r\n\r\na\r\n--b--\r\n', 'Content-Type: multipart/form-data; boundary=b'],
    ['a length that is none', '{}', json, 'Content-Length: two'],
    ['a negative length', '{}', json, 'Content-Length: -2'],
    ['two lengths', '{}', json, 'Content-Length: 2', 'Content-Length: 3'],
    ['a length and chunks', '2\r\n{}\r\n0\r\n\r\n', json, 'Content-Length: 2', 'Transfer-Encoding: chunked'],
    ['chunks', '2\r\n[]\r\n0\r\n\r\n', json, 'Transfer-Encoding: chunked'],
    ['chunks that are none', 'x\r\n[]\r\n0\r\n\r\n', json, 'Transfer-Encoding: chunked'],
    ['another coding', '[]', json, 'Transfer-Encoding: gzip'],
    ['a length beyond all bounds', '[]', json, 'Content-Length: 99999999999'],
    ['an expectation', '[]', json, 'Expect: 100-continue'],
    ['another expectation', '[]', json, 'Expect: 200-ok'],
  ] as const)
    ask(`a body: ${title}`, 'POST /v1/inboxes', [key, ...fields], body)
  ask('a body without a key', 'POST /v1/inboxes', [json], '[]')
  ask('a body where none is read', 'GET /v1/me', [key, json], '{}')
  ask('a send without its key', `POST /v1/inboxes/${inbox}/send`, [key, json], '{"to":"a@b.example"}')
  ask('a send with nothing', `POST /v1/inboxes/${inbox}/send`, [key, json, 'Idempotency-Key: k'], '{}')
  ask(
    'a send whose key is too long',
    `POST /v1/inboxes/${inbox}/send`,
    [key, json, `Idempotency-Key: ${'k'.repeat(300)}`],
    '{"to":"a@b.example"}',
  )

  raw('no Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n')
  raw('two Hosts', 'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n')
  raw('an empty Host', 'GET /health HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')
  raw('HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n')
  raw('HTTP/3', 'GET /health HTTP/3.0\r\nHost: x\r\n\r\n')
  raw('HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  raw('TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')
  raw('SMTP', 'EHLO a\r\nMAIL FROM:<a@b>\r\n')
  raw('bare LF', 'GET /health HTTP/1.1\nHost: x\nConnection: close\n\n')
  raw('a field without a colon', 'GET /health HTTP/1.1\r\nHost: x\r\nwrong\r\n\r\n')
  raw('a space before the colon', 'GET /health HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n')
  raw('a folded field', 'GET /health HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\nConnection: close\r\n\r\n')
  raw('a NUL in a field', 'GET /health HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n')
  raw('large fields', `GET /health HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`)
  raw('a long target', `GET /${'a'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  raw(
    'two requests',
    'GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  )

  const named = namesOfChance()
  const names = (text: string) =>
    named(text)
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
      .replaceAll(/\b[a-z0-9]{8}@ours/g, '<name>@ours')
  const facts: Facts[] = []
  for (const [title, bytes] of requests)
    facts.push([title, answersIn(await exchange(port, Buffer.from(bytes)), names)])
  sameFacts(t, 'answers', facts)
  t.strictSame(faults, [], 'nobody can have it log an error')
})
