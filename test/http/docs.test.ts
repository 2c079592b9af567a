import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
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
    t.strictSame([head.status, head.headers.get('content-length')], [200, String(body.length)])
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
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /docs/../../package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.match(await text(socket), /^HTTP\/1\.1 404 /, 'dots lead nowhere')

  const html = await (await fetch(`${baseUrl}/docs`)).text()
  t.notMatch(html, /https?:|\/\/|<script>|\son\w+=|style=/, 'nothing from elsewhere, and nothing inline')
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
