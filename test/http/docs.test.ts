import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { pages } from '../../lib/http/pages.ts'
import { startApi } from '../support/api-app.ts'
import { visit } from '../support/browser.ts'
import { without } from '../support/peers.ts'

/** As a browser asks; fetch would say no-cache. */
const conditional = (etag: string) => ({
  headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
})

t.test('the page and its files', async t => {
  const { baseUrl, faults, port } = await startApi(t)
  const types: Record<string, RegExp> = {
    '/docs': /^text\/html/,
    '/docs/page.css': /^text\/css/,
    '/docs/start.js': /^text\/javascript/,
    '/docs/swagger-ui.css': /^text\/css/,
    '/docs/swagger-ui-bundle.js': /^text\/javascript/,
    '/docs/favicon-32x32.png': /^image\/png$/,
  }
  for (const [path, type] of Object.entries(types)) {
    const answer = await fetch(baseUrl + path)
    const body = Buffer.from(await answer.arrayBuffer())
    t.equal(answer.status, 200, path)
    t.match(answer.headers.get('content-type'), type)
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    t.equal(answer.headers.get('referrer-policy'), 'no-referrer')
    t.match(answer.headers.get('content-security-policy'), /^default-src 'none'; .*frame-ancestors 'none'/)
    t.notMatch(answer.headers.get('content-security-policy'), /unsafe|https?:|\*/)
    t.equal(answer.headers.get('cache-control'), 'no-cache')
    t.ok(body.length > 50)

    const etag = answer.headers.get('etag')!
    const again = await fetch(baseUrl + path, conditional(etag))
    t.equal(again.status, 304, 'what the browser has is still so')
    t.equal((await again.arrayBuffer()).byteLength, 0)
    t.equal((await fetch(baseUrl + path, conditional('"other"'))).status, 200)

    const head = await fetch(baseUrl + path, { method: 'HEAD' })
    t.strictSame([head.status, head.headers.get('etag')], [200, etag])
    t.equal(head.headers.get('content-length'), answer.headers.get('content-length'))
    const post = await fetch(baseUrl + path, { method: 'POST' })
    t.strictSame([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  }
  t.strictSame(
    pages.map(page => page.path).filter(path => path.startsWith('/docs')),
    Object.keys(types),
    'and no other',
  )
  for (const path of [
    '/docs/',
    '/docs/index.html',
    '/docs/package.json',
    '/docs/swagger-ui.css.map',
    '/docs/%2e%2e/package.json',
    '/docs/swagger-ui.css/',
    '/Docs',
  ]) {
    t.equal((await fetch(baseUrl + path)).status, 404, path)
  }
  t.strictSame(
    await (await fetch(`${baseUrl}/openapi.json`)).json(),
    await (await fetch(`${baseUrl}/v1/openapi.json`)).json(),
  )
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /docs/../../package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.match(await text(socket), /^HTTP\/1\.1 404 /, 'dots lead nowhere')

  const html = await (await fetch(`${baseUrl}/docs`)).text()
  t.notMatch(html, /https?:|\/\/|<script>|\son\w+=|style=/, 'nothing from elsewhere, and nothing inline')
  t.strictSame(faults, [])
})

t.test('what stays the same is compressed once, and asked for again in a few bytes', async t => {
  const { baseUrl, port, faults } = await startApi(t)
  const ask = async (path: string, header: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}\r\n`)
    const answer = await buffer(socket)
    const end = answer.indexOf('\r\n\r\n')
    return { head: answer.toString('latin1', 0, end), body: answer.subarray(end + 4) }
  }
  for (const path of ['/v1/openapi.json', '/openapi.json', '/docs/swagger-ui-bundle.js', '/docs']) {
    const plain = Buffer.from(await (await fetch(baseUrl + path)).arrayBuffer())
    const etags = new Set<string>()
    for (const [accepted, form] of [
      ['', undefined],
      ['Accept-Encoding: gzip, deflate, br\r\n', 'br'],
      ['Accept-Encoding: gzip;q=1.0, br;q=0\r\n', 'gzip'],
      ['Accept-Encoding: identity\r\n', undefined],
      ['Accept-Encoding: *;q=0, of-mine\r\n', undefined],
    ] as const) {
      const what = `${path} ${accepted}`
      const { head, body } = await ask(path, accepted)
      t.match(head, /^HTTP\/1\.1 200 /, what)
      t.match(head, /^Vary: Accept-Encoding\r$/m, what)
      t.equal(/^Content-Encoding: (.*)\r$/m.exec(head)?.[1], form, what)
      const unfold =
        form === 'br' ? brotliDecompressSync : form === 'gzip' ? gunzipSync : (same: Buffer) => same
      t.ok(unfold(body).equals(plain), what)
      if (form) t.ok(body.length < plain.length, what)
      const etag = /^ETag: (.*)\r$/m.exec(head)![1]!
      etags.add(etag)
      const again = await ask(path, `${accepted}If-None-Match: ${etag}\r\n`)
      t.match(again.head, /^HTTP\/1\.1 304 /, what)
      t.equal(again.body.length, 0)
    }
    t.equal(etags.size, 3, 'one for each form')
  }
  t.strictSame(faults, [])
})

t.test('in a browser', { skip: without('chromium') }, async t => {
  const { baseUrl, faults } = await startApi(t)
  const { dom, console, asked } = await visit(t, `${baseUrl}/docs#/Messages/sendMessage`)
  for (const one of operations) {
    t.match(dom, `id="operations-${one.tag.replaceAll(' ', '_')}-${one.id}"`, `${one.id} is shown`)
  }
  t.match(dom, /how much is the fish\?/, 'the operation that the address names is open, with its example')
  t.strictSame(
    asked.filter(request => !request.startsWith(`GET ${baseUrl}/`)),
    [],
    'no other host was asked',
  )
  t.ok(asked.includes(`GET ${baseUrl}/v1/openapi.json`))
  t.strictSame(console, [], 'the browser has nothing to say against it')
  t.strictSame(faults, [])
})
