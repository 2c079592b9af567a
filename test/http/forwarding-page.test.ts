import t, { type Test } from 'tap'
import { confirmPageRequestsPerMinute } from '../../lib/core/account/throttles.ts'
import { startApi } from '../support/api-app.ts'
import { openBrowser } from '../support/browser-session.ts'
import { mailedLink } from '../support/confirmation.ts'
import { without } from '../support/peers.ts'

async function setUp(t: Test, forwardTo: string) {
  const server = await startApi(t)
  const inbox = (await server.api.post('/v1/inboxes', { mailboxName: 'agent', forwardTo })).body
  const link = await mailedLink(server.app, inbox.forwardTo)
  const status = async () => (await server.api.get(`/v1/inboxes/${inbox.id}`)).body.forwardStatus
  return { ...server, inbox, link, status }
}

t.test('the page and its headers', async t => {
  const { link, baseUrl, status, faults } = await setUp(t, '"<b>&\'x"@elsewhere.example')
  t.ok(link.startsWith(`${baseUrl}/forwarding/confirm?token=`))
  for (const [url, method, code] of [
    [link, 'GET', 200],
    [`${link}x`, 'GET', 404],
    [`${baseUrl}/forwarding/confirm`, 'GET', 404],
    [`${link}x`, 'POST', 404],
    [link, 'POST', 200],
    [link, 'POST', 410],
    [link, 'GET', 410],
  ] as const) {
    const answer = await fetch(url, { method })
    const what = `${method} ${code}`
    t.equal(answer.status, code, what)
    t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(
      answer.headers.get('content-security-policy'),
      /^default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; style-src 'sha256-[\w+/]{43}='$/,
    )
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.equal(answer.headers.get('referrer-policy'), 'no-referrer')
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    const html = await answer.text()
    t.match(html, /^<!doctype html>\n<html lang="en">/)
    t.match(html, /<title>([^<]+)<\/title>[\s\S]*<h1>\1<\/h1>/, 'its heading is its title')
    t.equal(html.match(/<h1>/g)?.length, 1)
    t.match(html, 'mail.ours.example', 'who runs it')
    t.notMatch(html, /<script|\son\w+=|style="|token=/)
    t.equal(html.includes('<button'), what === 'GET 200')
    if (code === 200) {
      t.match(html, '<strong>agent@ours.example</strong>')
      t.match(html, '<strong>&quot;&lt;b&gt;&amp;&#39;x&quot;@elsewhere.example</strong>', 'text, not markup')
    }
  }
  t.equal(await status(), 'active')
  const put = await fetch(link, { method: 'PUT' })
  t.strictSame([put.status, put.headers.get('allow')], [405, 'GET, HEAD, POST'])
  t.equal((await fetch(link.replace('confirm?', 'confirm/?'))).status, 404)
  t.strictSame(faults, [])
})

t.test('two people press at once: one link, one consent', async t => {
  const { link } = await setUp(t, 'ann@elsewhere.example')
  const answers = await Promise.all([1, 2, 3].map(() => fetch(link, { method: 'POST', body: 'x=1' })))
  t.strictSame(answers.map(answer => answer.status).sort(), [200, 410, 410])
})

t.test('who guesses is slowed down, by a page', async t => {
  const { link, clock, status } = await setUp(t, 'ann@elsewhere.example')
  const asked = Array.from({ length: confirmPageRequestsPerMinute + 1 }, () =>
    fetch(`${link}x`, { method: 'POST' }),
  )
  const refused = (await Promise.all(asked)).filter(answer => answer.status === 429)
  t.equal(refused.length, 1)
  t.match(refused[0]!.headers.get('retry-after'), /^[1-9]$/)
  t.match(await refused[0]!.text(), '<h1>Too many requests</h1>')
  t.equal((await fetch(link, { method: 'POST' })).status, 429)
  t.equal(await status(), 'pending')
  clock.advance(10_000)
  t.equal((await fetch(link, { method: 'POST' })).status, 200)
})

t.test('in a browser, by keyboard, without scripts', { skip: without('chromium') }, async t => {
  const { link, status, faults } = await setUp(
    t,
    `${'long.'.repeat(11)}name@${'very-'.repeat(10)}long.example`,
  )
  const reader = await openBrowser(t, true)
  await reader.open(link)
  t.equal(await reader.read('document.title'), 'Do you want copies of this mail?')
  t.equal(await reader.read('document.documentElement.lang'), 'en')
  t.equal(
    await reader.read('getComputedStyle(document.querySelector("button")).backgroundColor'),
    'rgb(11, 92, 173)',
  )
  await reader.picture(320, 640)
  t.ok(await reader.read('document.documentElement.scrollWidth <= 320'), 'fits the smallest screens')
  t.ok(await reader.read('document.querySelector("button").getBoundingClientRect().height >= 44'))
  t.equal(await status(), 'pending')

  const presser = await openBrowser(t, false)
  await presser.open(link)
  await presser.press('Tab', false)
  const outline = await presser.read<string>(
    '(style => style.outlineStyle + " " + style.outlineColor)(getComputedStyle(document.activeElement))',
  )
  t.equal(outline, 'solid rgb(0, 0, 0)', 'what has the focus is seen')
  await presser.press('Enter', true)
  t.equal(await status(), 'active')
  t.equal(await presser.read('document.querySelector("h1").textContent'), 'Copies are forwarded from now on')
  await presser.open(link)
  t.equal(await presser.read('document.title'), 'This link was used already')
  t.strictSame(reader.complaints, [], 'the browser has nothing to say against it')
  t.strictSame(faults, [])
})
