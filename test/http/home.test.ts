import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { startApi } from '../support/api-app.ts'
import { visit } from '../support/browser.ts'
import { without } from '../support/peers.ts'

const local = { toml: '[delivery]\nmode = "capture"\n' }

t.test('the page at /', async t => {
  const { baseUrl, api, faults } = await startApi(t)
  await api.post('/v1/inboxes', { mailboxName: 'hello' })
  const answer = await fetch(`${baseUrl}/`)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(
    answer.headers.get('content-security-policy'),
    /^default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; style-src 'sha256-[\w+/]{43}='$/,
  )
  const html = await answer.text()
  t.equal(html.match(/<h1>/g)?.length, 1)
  t.match(html, '<html lang="en">')
  t.match(html, '<meta name="viewport" content="width=device-width, initial-scale=1">')
  t.notMatch(html, /<script|\son\w+=|style="|src=/, 'it loads nothing')
  t.match(html, `export API=${baseUrl}/v1`)
  t.notMatch(html, /hello@/, 'a server tells strangers none of its addresses')
  for (const [, path] of html.matchAll(/href="([^"]+)"/g)) {
    const linked = await fetch(new URL(path!, `${baseUrl}/`))
    t.equal(linked.status, 200, path!)
    await linked.arrayBuffer()
  }
  t.strictSame(faults, [])
})

t.test('in local mode the page at / is for the names of this server alone', async t => {
  const { port, api, baseUrl, faults } = await startApi(t, { ...local, name: 'mailboxd.localhost' })
  const askAs = (host: string) =>
    new Promise<{ status: number | undefined; page: string }>((resolve, reject) => {
      const asked = get({ port, host: '127.0.0.1', headers: { Host: host } }, answer =>
        text(answer).then(page => resolve({ status: answer.statusCode, page }), reject),
      )
      asked.once('error', reject)
    })
  await api.post('/v1/inboxes', { mailboxName: 'hello' })
  for (const host of [
    'localhost',
    `127.0.0.1:${port}`,
    '[::1]',
    'mailboxd.localhost',
    new URL(baseUrl).host,
  ]) {
    const { status, page } = await askAs(host)
    t.equal(status, 200, host)
    t.match(page, 'hello@', host)
  }
  for (const host of [
    'rebind.evil.example',
    `rebind.evil.example:${port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ]) {
    const { status, page } = await askAs(host)
    t.equal(status, 421, host)
    t.notMatch(page, 'hello@', host)
    t.match(page, baseUrl)
  }
  t.strictSame(faults, [])
})

t.test('/llms.txt has all of the API in what an agent reads at once', async t => {
  const { baseUrl, faults } = await startApi(t)
  const answer = await fetch(`${baseUrl}/llms.txt`)
  t.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
  const text = await answer.text()
  const lines = text.split('\n')
  t.ok(lines.length <= 210, `${lines.length} lines`)
  t.ok(text.length < 32_000, `${text.length} characters`)
  t.match(text, /^# mailboxd\n\n> /)
  for (const { method, path, summary } of operations) {
    const line = lines.find(
      one =>
        one.startsWith(`- ${method.toUpperCase()} ${path} `) ||
        one.startsWith(`- ${method.toUpperCase()} ${path}?`),
    )
    t.match(line, summary, `${method} ${path}`)
  }
  t.match(text, /^- Message \{id: string, inboxId: string, .*attachments: Attachment\[\].*\}$/m)
  t.match(text, /^- 422: .*recipient_suppressed/m)
  t.match(text, /Body \{to\?: string\|string\[\]\|null, body: string,/)
  t.match(text, baseUrl)
  t.notMatch(text, /undefined|\[object/)
  const defined = new Set(lines.map(line => /^- ([A-Z]\w+) \{/.exec(line)?.[1]).filter(Boolean))
  const named = new Set(
    lines
      .filter(line => line.startsWith('- '))
      .flatMap(line => [...line.matchAll(/(?:→ 20\d |: |\|)([A-Z][a-z]\w+)(?=[\]|,}[]|: [A-Z])/g)])
      .map(([, name]) => name!)
      // Of these it is said once how all of them are made.
      .map(name => name.replace(/(Page|List)$/, '')),
  )
  t.ok(named.has('AttachmentUpload') && named.size > 40, `${named.size} names`)
  t.strictSame(
    [...named].filter(name => !defined.has(name)),
    [],
    'every type that is named is defined',
  )
  t.match(text, /a …List is `\{data: \[…\]\}` alone/)
  t.match(text, /timeout` of wait is in seconds/)
  t.strictSame(faults, [])
})

t.test('in a browser', { skip: without('chromium') }, async t => {
  const { baseUrl, faults } = await startApi(t, local)
  const { dom, console, asked } = await visit(t, `${baseUrl}/`)
  t.match(dom, 'Email inboxes for software agents')
  t.strictSame(console, [], 'the browser has nothing to say against it')
  t.strictSame(
    asked.filter(one => !one.startsWith(`GET ${baseUrl}/`)),
    [],
    'no other host is asked',
  )
  t.strictSame(faults, [])
})
