import { request } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { startSpecified } from '../support/specified.ts'

const it = await startSpecified(t)
const { api } = it
const base = it.daemon.baseUrl
const agent = await it.inbox({ mailboxName: 'agent' })

/** What a server says to these bytes, until it hangs up. */
function rawly(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(Number(new URL(base).port), '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8').on('data', text => {
      said += text
    })
    socket.on('error', reject).on('close', () => resolve(said))
  })
}

t.test('errors', async t => {
  for (const [who, token] of [
    ['missing', undefined],
    ['invalid', 'mbx_nonsense'],
  ] as const) {
    const answer = await it.as(token).get('/v1/inboxes')
    t.match(
      [answer.status, answer.body],
      [401, { error: 'unauthorized', message: String }],
      `${who} key: 401 \`unauthorized\``,
    )
  }
  for (const path of ['/v1/nonsense', '/v1/inboxes/a/b/c', '/nonsense']) {
    const answer = await api.get(path)
    t.match(
      [answer.status, answer.body],
      [404, { error: 'not_found', message: String }],
      `an unknown path gets 404: ${path}`,
    )
  }
  const method = await api.call('PUT', '/v1/inboxes', {})
  t.match(
    [method.status, method.body],
    [405, { error: 'method_not_allowed', message: String }],
    '405 `method_not_allowed`',
  )
  t.match(method.headers.get('allow'), /GET.*POST|POST.*GET/, 'with `Allow`')
  for (const path of ['inboxes', 'pods', 'messages', 'threads', 'drafts', 'domains']) {
    const answer = await api.get(`/v1/${path}/no-uuid`)
    t.match(
      [answer.status, answer.body.error],
      [404, 'not_found'],
      `ids that are not UUIDs give 404, never 500: ${path}`,
    )
  }
  const large = await api.post('/v1/pods', { name: 'a'.repeat(2_000_000) })
  t.ok(
    [400, 413].includes(large.status) && large.body.error,
    'a body that is too large is refused in the error form',
  )
  const many = await api.post('/v1/inboxes', { a1: 1, a2: 2, a3: 3, a4: 4, a5: 5 })
  t.equal(many.body.details.length, 5, '`details` has them all')
  t.match(many.body.message, /a1[\s\S]*a2[\s\S]*a3/, '`message` up to three')
  t.match(JSON.stringify(many.body.details[0]), /a1/, 'the path of the fault stands in `details`')
  const three = await api.post('/v1/inboxes', { a1: 1, a2: 2, a3: 3 })
  t.notMatch(three.body.message, /and \d more/, 'not "and 2 more"')
  for (const [sentence, bytes] of [
    ['HTTP/1.1 without Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a request that is none', 'NONSENSE\r\n\r\n'],
    ['a header that is none', 'GET / HTTP/1.1\r\nHost: a\r\nBad header\r\n\r\n'],
    ['two lengths', 'POST /v1/pods HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a header without end', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`],
  ] as const) {
    const said = await rawly(bytes)
    const [head = '', body = ''] = said.split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 4\d\d /, `the parser refuses: ${sentence}`)
    t.match(JSON.parse(body), { error: String, message: String }, `in the error form: ${sentence}`)
  }
})

t.test('CORS', async t => {
  const preflight = await fetch(new URL('/v1/inboxes', base), {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    },
  })
  t.ok(preflight.ok, 'preflight is answered')
  t.equal(preflight.headers.get('access-control-allow-origin'), '*', '`http.cors_origins`, default `*`')
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/, 'the method')
  t.match(preflight.headers.get('access-control-allow-headers'), /authorization/i, 'keys travel in a header')
  t.match(preflight.headers.get('access-control-allow-headers'), /idempotency-key|\*/i, 'and Idempotency-Key')
  t.equal(preflight.headers.get('access-control-allow-credentials'), null, 'there are no cookies')
  for (const token of [it.token, 'mbx_nonsense']) {
    const answer = await fetch(new URL('/v1/inboxes', base), {
      headers: { origin: 'https://app.example', authorization: `Bearer ${token}` },
    })
    t.equal(answer.headers.get('access-control-allow-origin'), '*', `on ${answer.status}`)
    const exposed = answer.headers.get('access-control-expose-headers')
    t.match(exposed, /retry-after/i, `\`Retry-After\` is exposed on ${answer.status}`)
    t.match(exposed, /etag/i, `\`ETag\` is exposed on ${answer.status}`)
  }
})

t.test('account, usage, feedback', async t => {
  const anyone = it.as(undefined)
  t.match((await anyone.get('/health')).body, { status: 'ok' }, '`GET /health` (no auth): 200 {status: "ok"}')
  const first = await anyone.get('/v1/openapi.json')
  t.match(first.body.openapi, /^3\.1/, '`GET /v1/openapi.json` (no auth) is the OpenAPI 3.1 document')
  t.strictSame((await anyone.get('/openapi.json')).body, first.body, '`GET /openapi.json` is the same')
  t.match(
    (await api.get('/v1/me')).body,
    { plan: 'pro', accountId: String, apiKeyScope: 'account' },
    '`GET /v1/me`: {plan, apiKeyScope}, `accountId`',
  )
  const friend = await it.inbox({})
  await api.send(agent.id, { to: friend.address, subject: 's', body: 'b' })
  await it.arrive(agent.id, { to: agent.address })
  const day = new Date().toISOString().slice(0, 10)
  const year = Number(day.slice(0, 4))
  for (const group of ['day', 'inbox', 'pod', 'account']) {
    const { status, body } = await api.get(`/v1/usage?from=${day}&to=${day}&group_by=${group}`)
    t.match([status, body.groupBy], [200, group], `/v1/usage group_by=${group}`)
    for (const name of ['from', 'to', 'rows', 'inboxes', 'totals', 'limits'])
      t.ok(name in body, `usage: ${name} by ${group}`)
    for (const name of ['inbound', 'outbound', 'delivered', 'bounced', 'attachmentBytes', 'storedBytes'])
      t.ok(name in body.rows[0], `rows: ${name} by ${group}`)
  }
  const usage = (await api.get(`/v1/usage?from=${day}&to=${day}&group_by=inbox`)).body
  t.match(
    usage.inboxes.find((one: { inboxId: string }) => one.inboxId === agent.id),
    { address: agent.address, inbound: 1, outbound: 1 },
    'inboxes: [{inboxId, address, inbound, outbound, …}]',
  )
  t.equal((await api.get('/v1/usage')).status, 200, 'without a query, too')
  for (const query of [
    `from=${year - 1}-01-01&to=${day}`,
    'from=nonsense',
    `from=${day}&to=2001-01-01`,
    'group_by=nonsense',
  ]) {
    t.equal((await api.get(`/v1/usage?${query}`)).status, 400, `400 (at most 92 days): ${query}`)
  }
  for (const type of ['bug', 'friction', 'feature_request']) {
    const answer = await api.post('/v1/feedback', { type, message: `A ${type}` })
    t.equal(answer.status, 201, `POST /v1/feedback {type: ${type}, message} → 201`)
  }
  t.equal(
    (await api.post('/v1/feedback', { type: 'bug', message: 'm', context: null })).status,
    201,
    'context null: not given',
  )
  t.equal((await api.post('/v1/feedback', { type: 'praise', message: 'm' })).status, 400, 'type: an enum')
  t.equal((await api.post('/v1/feedback', { type: 'bug' })).status, 400, 'message is required')
  t.match(
    JSON.stringify(await it.daemon.ctl('feedback', 'list')),
    /A friction/,
    'kept for the operator (`mailboxctl feedback list`)',
  )
  const page = await fetch(base, { headers: { accept: 'text/html' } })
  t.match(
    [page.status, page.headers.get('content-type')],
    [200, /^text\/html/],
    '`/` answers a browser with a page',
  )
  t.equal((await fetch(new URL('/llms.txt', base))).status, 200, '`/llms.txt` tells an agent the API')
})

t.test('a rate limit', async t => {
  const token = (await api.post(`/v1/inboxes/${agent.id}/api-keys`, {})).body.token
  const agentOf = {
    hostname: '127.0.0.1',
    port: new URL(base).port,
    path: '/v1/me',
    headers: { authorization: `Bearer ${token}` },
  }
  const ask = () =>
    new Promise<{ status: number | undefined; after: string | undefined }>((resolve, reject) => {
      request(agentOf, response => {
        response.resume()
        response.on('end', () =>
          resolve({ status: response.statusCode, after: response.headers['retry-after'] }),
        )
      })
        .on('error', reject)
        .end()
    })
  let limited: { status: number | undefined; after: string | undefined } | undefined
  for (let round = 0; round < 60 && !limited; round++) {
    const answers = await Promise.all(Array.from({ length: 40 }, ask))
    limited = answers.find(one => one.status === 429)
  }
  t.match(limited?.after, /^\d+$/, 'default 1,000 requests a minute; 429 with `Retry-After` in whole seconds')
  t.equal((await api.get('/v1/me')).status, 200, 'per key')
})

t.test('creations', async t => {
  const made = []
  for (let n = 0; n < 101; n++) made.push(await api.post('/v1/inboxes', {}))
  const { status, body } = made.at(-1)!
  t.match([status, body.error], [429, 'inbox_creation_limit'], 'create inbox: 100 creations per day exceeded')
})
