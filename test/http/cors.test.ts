import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { visit } from '../support/browser.ts'
import { servePage } from '../support/page-server.ts'
import { without } from '../support/peers.ts'

const preflight = (origin: string, method: string, headers = 'authorization,content-type') => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': headers,
  },
})

t.test('every origin may ask, unless said', async t => {
  const { baseUrl, token, faults } = await startApi(t)
  const asked = await fetch(`${baseUrl}/v1/inboxes`, preflight('https://app.example.com', 'POST'))
  t.equal(asked.status, 204)
  t.equal(asked.headers.get('access-control-allow-origin'), '*')
  t.equal(asked.headers.get('access-control-allow-credentials'), null, 'there are no cookies')
  t.match(asked.headers.get('access-control-allow-methods'), /\bPOST\b.*\bPATCH\b.*\bDELETE\b/)
  t.match(asked.headers.get('access-control-allow-headers'), /^Authorization, \*$/)
  t.match(asked.headers.get('access-control-max-age'), /^\d+$/)
  for (const [path, authorization, status] of [
    ['/v1/inboxes', `Bearer ${token}`, 200],
    ['/v1/inboxes', 'Bearer wrong', 401],
    ['/v1/nothing', `Bearer ${token}`, 404],
    ['/health', '', 200],
    ['/openapi.json', '', 200],
  ] as const) {
    const answer = await fetch(baseUrl + path, {
      headers: { authorization, origin: 'https://app.example.com' },
    })
    t.equal(answer.status, status)
    t.equal(
      answer.headers.get('access-control-allow-origin'),
      '*',
      `${path} ${status}: refusals can be read, too`,
    )
    for (const name of ['Retry-After', 'ETag', 'Content-Disposition']) {
      t.match(answer.headers.get('access-control-expose-headers'), name)
    }
    await answer.arrayBuffer()
  }
  const plain = await fetch(`${baseUrl}/v1/inboxes`, { method: 'OPTIONS' })
  t.equal(plain.status, 405, 'what is no preflight is a method like any other')
  t.strictSame(faults, [])
})

t.test('only those that are named', async t => {
  const { baseUrl, token, faults } = await startApi(t, {
    http: 'cors_origins = ["https://app.example.com", "http://localhost:3000"]',
  })
  const ask = (origin: string) =>
    fetch(`${baseUrl}/v1/inboxes`, { headers: { authorization: `Bearer ${token}`, origin } })
  for (const origin of ['https://app.example.com', 'http://localhost:3000']) {
    const answer = await ask(origin)
    t.equal(answer.headers.get('access-control-allow-origin'), origin)
    t.match(answer.headers.get('vary'), /\bOrigin\b/)
    t.equal((await fetch(`${baseUrl}/v1/inboxes`, preflight(origin, 'GET'))).status, 204)
  }
  for (const origin of ['https://app.example.com.evil.example', 'null', 'http://localhost:3001', '*']) {
    const answer = await ask(origin)
    t.equal(answer.status, 200, 'no browser asked: it has a key')
    t.equal(answer.headers.get('access-control-allow-origin'), null, origin)
    t.match(answer.headers.get('vary'), /\bOrigin\b/)
    const refused = await fetch(`${baseUrl}/v1/inboxes`, preflight(origin, 'GET'))
    t.equal(refused.status, 405)
    t.equal(refused.headers.get('access-control-allow-origin'), null)
  }
  t.strictSame(faults, [])
})

t.test('a page of another origin in a browser', { skip: without('chromium') }, async t => {
  const { baseUrl, token, faults, api } = await startApi(t)
  const closed = await startApi(t, { http: 'cors_origins = []' })
  const { address } = (await api.post('/v1/inboxes', {})).body
  const script = `
    const say = text => document.body.append(text + '\\n')
    const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json' }
    const asked = async () => {
      const list = await fetch('${baseUrl}/v1/inboxes', { headers })
      say('listed ' + (await list.json()).data[0].address)
      const made = await fetch('${baseUrl}/v1/pods', { method: 'POST', headers, body: '{"name":"of a page"}' })
      say('made ' + made.status)
      const refused = await fetch('${baseUrl}/v1/me')
      say('refused ' + (await refused.json()).error + ' ' + refused.headers.get('www-authenticate'))
      const kept = await fetch('${baseUrl}/v1/openapi.json')
      say('tagged ' + kept.headers.get('etag'))
      await fetch('${closed.baseUrl}/health').then(() => say('read'), () => say('kept from it'))
    }
    asked().catch(error => say('failed ' + error)).finally(() => say('over'))`
  const page = await servePage(t, `<!doctype html><title>x</title><body><script>${script}</script>`)
  const { dom } = await visit(t, page)
  t.match(dom, `listed ${address}`)
  t.match(dom, /made 201/)
  t.match(dom, /refused unauthorized Bearer/)
  t.match(dom, /tagged (W\/)?"[^"]+"/)
  t.match(dom, /kept from it\s+over/)

  t.strictSame([...faults, ...closed.faults], [])
})
