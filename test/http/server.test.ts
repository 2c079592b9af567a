import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createHttpDoor } from '../../lib/http/server.ts'
import { apiOf } from '../support/api.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

/** Writes to a connection of its own and gives all that comes back until it is closed. */
async function talk({ port }: ApiApp, ...lines: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(lines.join('\r\n'))
  return text(socket)
}

function bodyOf(answer: string): { error: string; message: string } {
  return JSON.parse(answer.slice(answer.lastIndexOf('\r\n\r\n')))
}

t.test('what is no operation', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  for (const path of [
    '/v1',
    '/v2/pods',
    '/v1/podss',
    '/V1/pods',
    '/v1/Pods',
    '/v1//pods',
    '/v1/pods/x/y',
    '/v1/%70ods/x/api-keys/y/z',
    '/%',
    '/%00',
    '/v1/attachments/x',
    '/favicon.ico',
    `/${'x'.repeat(8000)}`,
  ]) {
    for (const client of [api, apiWith(undefined)]) {
      const { status, body } = await client.get(path)
      t.strictSame([status, body.error], [404, 'not_found'], path.slice(0, 60))
    }
  }
  for (const [method, path, allow] of [
    ['DELETE', '/v1/pods', 'POST, GET, HEAD'],
    ['PUT', '/v1/pods/x', 'GET, HEAD, PATCH, DELETE'],
    ['OPTIONS', '/v1/pods', 'POST, GET, HEAD'],
    ['GET', '/v1/inboxes/x/send', 'POST'],
    ['HEAD', '/v1/inboxes/x/send', 'POST'],
    ['POST', '/health', 'GET, HEAD'],
    ['PROPFIND', '/health', 'GET, HEAD'],
    ['DELETE', '/v1/pods/x/api-keys', 'POST, GET, HEAD'],
    ['GET', '/v1/pods/x/api-keys/y', 'DELETE'],
  ] as const) {
    const { status, headers, body } = await apiWith(undefined).call(method, path)
    t.strictSame([status, headers.get('allow')], [405, allow], `${method} ${path}`)
    if (method === 'HEAD') continue
    t.strictSame(body, {
      error: 'method_not_allowed',
      message: `${path} does not take ${method}; it takes ${allow}.`,
    })
  }
  t.strictSame(server.faults, [])
})

t.test('HEAD is GET without its body', async t => {
  const server = await startApi(t)
  for (const path of ['/health', '/v1/pods', '/v1/inboxes', '/v1/pods/nobodys', '/v1/openapi.json']) {
    const [get, head] = [await server.api.get(path), await server.api.call('HEAD', path)]
    t.equal(head.status, get.status, path)
    t.equal(head.bytes.length, 0)
    for (const name of ['content-type', 'content-length'])
      t.equal(head.headers.get(name), get.headers.get(name))
  }
  t.equal((await server.apiWith(undefined).call('HEAD', '/v1/pods')).status, 401)
})

t.test('requests of a strange form', async t => {
  const server = await startApi(t)
  const key = `Authorization: Bearer ${server.token}`
  const close = 'Connection: close'

  await t.test('malformed percent-encoding', async t => {
    for (const path of [
      '/v1/pods/%',
      '/v1/pods/%zz',
      '/v1/pods/%ff',
      '/v1/pods/%c0%af',
      '/v1/inboxes/%/send',
      '/v1/pods/%/api-keys/%',
    ]) {
      const method = path.includes('send') ? 'POST' : path.includes('keys') ? 'DELETE' : 'GET'
      const answer = await talk(
        server,
        `${method} ${path} HTTP/1.1`,
        'Host: x',
        key,
        'Idempotency-Key: k',
        'Content-Type: application/json',
        'Content-Length: 44',
        close,
        '',
        '{"to":"b@c.example","subject":"s","body":"b"}'.slice(0, 44),
        '',
      )
      t.match(answer, /^HTTP\/1\.1 40[04] /, path)
      t.match(bodyOf(answer), { error: String, message: String })
    }
    // What has a name that is none of its parameters is refused for that.
    const unknown = ['%=%', '&&==&', 'podId[]=x']
    for (const query of ['podId=%', 'podId=%zz', 'podId=%ff%fe', '?', 'limit=%31', ...unknown]) {
      const answer = await talk(server, `GET /v1/inboxes?${query} HTTP/1.1`, 'Host: x', key, close, '', '')
      t.match(answer, unknown.includes(query) ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 200 /, query)
    }
  })

  await t.test('Host, and the form of the target', async t => {
    for (const host of ['[', 'a b', '%', 'x:99999', '', '\u00e9', '../..', 'x/y?z#']) {
      const answer = await talk(
        server,
        'GET /v1/inboxes?limit=1 HTTP/1.1',
        `Host: ${host}`,
        key,
        close,
        '',
        '',
      )
      t.match(answer, /^HTTP\/1\.1 200 [\s\S]*"total":0\}\n?$/, `Host: ${host}`)
    }
    for (const [line, status] of [
      ['GET http://elsewhere.example/v1/inboxes?limit=0 HTTP/1.1', 200],
      ['GET /v1/inboxes?limit=0 HTTP/1.0', 200],
      ['GET /v1/inboxes?limit=0 HTTP/1.1\r\nExpect: a-miracle', 200],
      ['GET *?limit=0 HTTP/1.1', 404],
      ['OPTIONS * HTTP/1.1', 404],
      ['GET //v1/inboxes HTTP/1.1', 404],
      ['GET //[#x HTTP/1.1', 404],
      ['GET http://[/v1/inboxes HTTP/1.1', 404],
    ] as const) {
      const answer = await talk(server, line, 'Host: x', key, close, '', '')
      t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), line)
      if (status === 404) t.equal(bodyOf(answer).error, 'not_found')
    }
  })

  await t.test('HEAD without Host has no body, and pages may read every refusal', async t => {
    const head = await talk(server, 'HEAD /health HTTP/1.1', '', '')
    t.match(head, /^HTTP\/1\.1 400 [\s\S]*Access-Control-Allow-Origin: \*\r\n[\s\S]*\r\n\r\n$/)
    t.match(await talk(server, 'nonsense', '', ''), /\r\nAccess-Control-Allow-Origin: \*\r\n/)
  })

  await t.test('what is no HTTP', async t => {
    for (const lines of [
      ['nonsense', '', ''],
      ['GET /health HTTP/1.1', 'Host x', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', 'X: a\u0000b', '', ''],
      ['GET /he\u0001alth HTTP/1.1', 'Host: x', '', ''],
      [`GET /${'x'.repeat(100_000)} HTTP/1.1`, 'Host: x', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', `X: ${'x'.repeat(100_000)}`, '', ''],
      [
        'POST /v1/pods HTTP/1.1',
        'Host: x',
        'Content-Length: 5',
        'Transfer-Encoding: chunked',
        '',
        '0\r\n\r\n',
      ],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Content-Length: x', '', ''],
      ['EHLO client.example', ''],
      ['GET /health HTTP/1.1', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', 'host: y', '', ''],
      ['GET /health HTTP/1.0', 'Host: x', 'Host: x', '', ''],
      ['GET /v1/ws HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', '', ''],
      ['CONNECT elsewhere.example:443 HTTP/1.1', 'Host: x', '', ''],
      ['BREW /health HTTP/1.1', 'Host: x', '', ''],
      ['GET /health HTTP/9.9', 'Host: x', '', ''],
      ['GET /health XTTP/1.1', 'Host: x', '', ''],
      ['GET  HTTP/1.1', 'Host: x', '', ''],
      ['PRI * HTTP/2.0', '', 'SM', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', 'X : y', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', '\u00e9: y', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', 'X: y\rZ: z', '', ''],
      ['GET /health HTTP/1.1', 'Host: x', ' folded', '', ''],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2', '', ''],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Content-Length: -1', '', ''],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Content-Length: 99999999999999999999999', '', ''],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked, chunked, x', '', ''],
      ['POST /v1/pods HTTP/1.1', 'Host: x', 'Transfer-Encoding: gzip', '', ''],
      ['\u0016\u0003\u0001', ''],
    ]) {
      const answer = await talk(server, ...lines)
      t.match(
        answer,
        /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json/,
        lines[0]!.slice(0, 40),
      )
      t.match(bodyOf(answer), { error: 'invalid_request', message: /./ })
    }
  })

  await t.test('a body that can not be framed, and what comes after a whole request', async t => {
    const post = ['POST /v1/pods HTTP/1.1', 'Host: x', key, 'Content-Type: application/json']
    const broken = await talk(server, ...post, 'Transfer-Encoding: chunked', '', 'zz', '{}', '')
    t.match(broken, /^HTTP\/1\.1 400 /)
    t.equal(bodyOf(broken).error, 'invalid_request')
    const after = await talk(server, 'GET /v1/pods HTTP/1.1', 'Host: x', key, '', 'nonsense', '', '')
    t.notMatch(
      after,
      /^HTTP\/1\.1 400 /,
      'a refusal of the second is never taken for the answer to the first',
    )
  })

  await t.test('two requests in one packet', async t => {
    const get = (path: string) => [`GET ${path} HTTP/1.1`, 'Host: x', key]
    const answers = await talk(server, ...get('/v1/pods'), '', ...get('/health'), close, '', '')
    t.match(answers, /^HTTP\/1\.1 200 OK[\s\S]*"total":1\}\n?HTTP\/1\.1 200 OK[\s\S]*"status":"ok"\}\n?$/)
  })

  await t.test('one that goes away', async t => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `POST /v1/pods HTTP/1.1\r\nHost: x\r\n${key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"na`,
    )
    await until('it to be read', () => socket.bytesWritten > 100)
    socket.destroy()
    t.equal((await server.api.get('/health')).status, 200)
    t.equal((await server.api.get('/v1/pods')).body.total, 1)
  })
  t.strictSame(server.faults, [])
})

t.test('limits of requests', async t => {
  const server = await startApi(t, { requestsPerMinute: 5 })
  const { api, apiWith, clock } = server
  // On a slow machine seconds pass between two requests, and there are more.
  clock.stand()

  await t.test('of a key', async t => {
    const { token } = (await api.post(`/v1/pods/${(await api.post('/v1/pods', {})).body.id}/api-keys`, {}))
      .body
    const other = apiWith(token)
    for (let i = 0; i < 5; i++) t.equal((await other.get('/v1/pods')).status, 200)
    const { status, headers, body } = await other.get('/v1/pods')
    t.strictSame([status, body.error, headers.get('retry-after')], [429, 'rate_limit_exceeded', '12'])
    t.notOk('retryAfterSeconds' in body)
    t.equal((await api.get('/v1/pods')).status, 200, 'another key has its own')
    clock.advance(12_000)
    t.equal((await other.get('/v1/pods')).status, 200)
    t.equal((await other.get('/v1/pods')).status, 429)
    t.equal((await apiWith(undefined).get('/health')).status, 200, 'no key, no limit of a key')
  })

  await t.test('of failures, for each address', async t => {
    clock.advance(60_000)
    const wrong = [apiWith(undefined), apiWith('mbx_wrong'), apiWith('x y'), apiWith('mbx_wrong')]
    const paths = ['/v1/pods', '/v1/attachments/x/0/y']
    for (let i = 0; i < 60; i++) {
      const { status } = await wrong[i % 4]!.get(paths[i % 2]!)
      if (status !== 401) t.fail(`${i}: ${status}`)
    }
    for (const path of paths) {
      const { status, headers, body } = await wrong[1]!.get(path)
      t.strictSame([status, body.error], [429, 'rate_limit_exceeded'])
      t.ok(Number(headers.get('retry-after')) >= 1)
    }
    t.equal((await api.get('/v1/pods')).status, 200, 'who has a key is let in all the same')
    clock.advance(1_000)
    t.equal((await wrong[0]!.get('/v1/pods')).status, 401)
  })
})

t.test('failures are counted for a /64 of IPv6, whose owner has all of its addresses', async t => {
  const { app, clock } = await startApi(t)
  clock.stand()
  const http = { ...app.config.http, trusted_proxies: ['127.0.0.0/8'] }
  const behindProxy: typeof app = Object.create(app, { config: { value: { ...app.config, http } } })
  const door = createHttpDoor(behindProxy)
  const { port } = await door.listen('127.0.0.1', 0)
  t.teardown(() => door.stop())
  const from = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await fetch(`http://127.0.0.1:${port}/v1/pods`, { headers })).status
  }
  for (let host = 1; host <= 60; host++) t.equal(await from(`2001:db8:1:2::${host}`), 401)
  t.equal(await from('2001:db8:1:2:ffff::1'), 429)
  t.equal(await from('2001:db8:1:3::1'), 401, 'its neighbour')
})

t.test('the health of it', async t => {
  await t.test('200, and 503 when the database can not be written', async t => {
    const server = await startApi(t)
    const health = async () => (await server.apiWith(undefined).get('/health')).status
    t.strictSame((await server.apiWith(undefined).get('/health')).body, { status: 'ok' })
    await server.closeStore()
    const { status, body, headers } = await server.apiWith(undefined).get('/health')
    t.strictSame([status, body.error, headers.get('retry-after')], [503, 'unavailable', '10'])
    t.equal(await health(), 503)
    t.match(server.faults[0], /the health can not be noted/)
  })

  await t.test('a request under way is answered before it stops, and a new one is not taken', async t => {
    const server = await startApi(t)
    const body = '{"name":"last"}'
    const head = `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const slow = connect(server.port, '127.0.0.1')
    const answer = text(slow)
    slow.write(head + body.slice(0, 5))
    // Its key was used: the request is past the door.
    await until('the request to be under way', async () => {
      const row = await server.app.store.read.selectFrom('apiKey').select('lastUsedAt').executeTakeFirst()
      return row?.lastUsedAt != null
    })
    const idle = connect(server.port, '127.0.0.1')
    idle.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    const rest = text(idle)
    await until('an answer', () => idle.bytesRead > 50)
    const late = connect(server.port, '127.0.0.1')
    late.write('GET /v1/pods HTTP/1.1\r\nHost: x\r\n')
    const refused = text(late)
    await until('all three are connected', () => server.door.count() === 3)
    const stopped = server.door.stop()
    late.write('\r\n')
    t.match(
      await refused,
      /^HTTP\/1\.1 503 [\s\S]*Retry-After: 10\r\n[\s\S]*"error":"unavailable"/,
      'one that comes after that',
    )
    slow.write(body.slice(5))
    t.match(await answer, /^HTTP\/1\.1 201 /)
    t.match(await rest, /^HTTP\/1\.1 200 /, 'an idle connection is closed')
    await stopped
    await t.rejects(apiOf(server.baseUrl, undefined).get('/health'), 'nobody listens')
  })
})

t.test('a fault is told as one, without what it was about', async t => {
  const server = await startApi(t)
  await server.app.store.write(db => db.schema.dropTable('policyAudit').execute())
  for (const method of ['GET', 'HEAD']) {
    const { status, body, headers } = await server.api.call(method, '/v1/policy/audit')
    t.equal(status, 500)
    t.equal(headers.get('content-type')?.split(';')[0], 'application/json')
    if (method === 'HEAD') continue
    t.equal(body.error, 'internal_error')
    t.notMatch(JSON.stringify(body), /sqlite|table|policyAudit|\.ts/i)
  }
  t.equal(server.faults.length, 2, 'and logged')
})
