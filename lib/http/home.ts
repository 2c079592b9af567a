import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import { escapeHtml } from '../base/text.ts'
import { findFirstInbox } from '../core/account/first-inbox.ts'
import type { App } from '../core/app/app.ts'
import type { Page, PageAnswer } from './page.ts'
import { plainPage } from './plain-page.ts'

/** Contrast of every text against what it stands on is 7:1 or more, in light and dark. */
const style = `
:root { color-scheme: light dark; --ground: #fbfaf7; --card: #fff; --text: #1d1c1a; --soft: #55524c; --line: #dcd8cf; --accent: #8a2f0c; --code: #f3f0e9; }
@media (prefers-color-scheme: dark) { :root { --ground: #171614; --card: #201f1c; --text: #f2efe9; --soft: #bbb6ab; --line: #3b3934; --accent: #ffb08a; --code: #131210; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
header, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3.5rem; padding-bottom: 1rem; }
h1 { margin: 0; font-size: clamp(2rem, 6vw, 3.25rem); line-height: 1.1; letter-spacing: -0.02em; }
h1 span { display: block; margin-bottom: 0.75rem; color: var(--accent); font: 600 1rem/1.2 ui-monospace, monospace; letter-spacing: 0; }
h2 { margin: 0 0 0.5rem; font-size: 1.25rem; line-height: 1.3; }
.lead { max-width: 44rem; font-size: 1.1875rem; color: var(--soft); }
section { margin: 1.5rem 0; padding: 1.25rem 1.5rem 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; }
section p { margin: 0.5rem 0; max-width: 46rem; }
.inbox strong { display: block; margin: 0.25rem 0; font: 600 clamp(1.125rem, 4.5vw, 1.625rem)/1.3 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { margin: 0.75rem 0 0; padding: 1rem; overflow-x: auto; background: var(--code); border: 1px solid var(--line); border-radius: 0.5rem; font: 0.875rem/1.6 ui-monospace, monospace; }
code { font: 0.9375em ui-monospace, monospace; }
pre code { font: inherit; }
.ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1rem; margin: 0; padding: 0; list-style: none; }
.ways li { padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; color: var(--soft); }
.ways a { display: inline-block; padding: 0.25rem 0; font-weight: 600; font-size: 1.0625rem; }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:focus-visible, pre:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 0.25rem; }
footer { padding-top: 1.5rem; padding-bottom: 3rem; color: var(--soft); font-size: 0.9375rem; }
`

const allows = `style-src 'sha256-${hash('sha256', style, 'base64')}'`

/** What somebody sees who opens the server's address in a browser. Addresses are relative, for proxies with a prefix. */
export const homePage: Page = {
  method: 'get',
  path: '/',
  async handle({ app, host }) {
    const inbox = (await findFirstInbox(app))?.address
    return inbox === undefined || isOwnName(app, host) ? page(app, inbox) : wrongName(app)
  },
}

/** A page of another site whose name leads to this machine (DNS rebinding) must not read the inbox. An address is no such name. */
function isOwnName({ baseUrl, config }: App, host: string): boolean {
  const names = ['localhost', config.hostname, config.account_domain, new URL(baseUrl).hostname]
  return names.includes(host) || isIP(host.replace(/^\[|\]$/g, '')) > 0
}

function wrongName({ baseUrl, config }: App): PageAnswer {
  const url = escapeHtml(baseUrl)
  return plainPage({
    status: 421,
    title: 'This server does not have that name',
    body: `<p>The Host header of the request names another server. Open <a href="${url}">${url}</a>.</p>`,
    footer: `<p>${escapeHtml(config.hostname)} runs mailboxd.</p>`,
  })
}

function page(app: App, inbox: string | undefined): PageAnswer {
  const base = escapeHtml(app.baseUrl)
  const name = escapeHtml(inbox ?? `agent@${app.config.account_domain}`)
  return {
    allows,
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mailboxd: email inboxes for software agents</title>
<style>${style}</style>
</head>
<body>
<header>
<h1><span>mailboxd</span>Email inboxes for software agents</h1>
<p class="lead">This server gives programs real email addresses. Make one with a request, send from it, and read what comes as JSON: in threads, with the new part of a reply, one-time codes and links already found.</p>
</header>
<main>
${inbox === undefined ? keyOfServer : inboxOfLocalMode(name)}
<section aria-labelledby="call">
<h2 id="call">Call it</h2>
<p>Every request carries a key in its header, and refusals say what to do.</p>
<pre tabindex="0" role="region" aria-label="Commands for a shell"><code># ${inbox === undefined ? 'A key: mailboxctl key create' : 'The key of the first start; mailboxd prints at each start how another is made'}
export API=${base}/v1 INBOX=${name} KEY=mbx_…

# Make an inbox; its address is in the answer
curl -sS $API/inboxes -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -d '{"displayName":"Agent"}'

# Wait for mail to an inbox, by its id or address
curl -sS "$API/inboxes/$INBOX/messages/wait?timeout=60" \\
  -H "Authorization: Bearer $KEY"

# Send; repeated with the same Idempotency-Key it is sent once
curl -sS $API/inboxes/$INBOX/send -H "Authorization: Bearer $KEY" \\
  -H 'Idempotency-Key: first' -H 'Content-Type: application/json' \\
  -d '{"to":"ann@example.com","subject":"Hello","body":"Are you there?"}'</code></pre>
</section>
<nav aria-label="Read on">
<ul class="ways">
<li><a href="docs">Reference</a><br>Every operation, to read and to try.</li>
<li><a href="llms.txt">llms.txt</a><br>The whole API in one short text; give it to your agent.</li>
<li><a href="openapi.json">OpenAPI 3.1</a><br>For generated clients in any language.</li>
<li><a href="health">Health</a><br>Whether the server can do its work.</li>
</ul>
</nav>
</main>
<footer>
<p>${escapeHtml(app.config.hostname)} runs mailboxd.</p>
</footer>
</body>
</html>
`,
  }
}

const keyOfServer = `<section aria-labelledby="begin">
<h2 id="begin">Begin</h2>
<p>You need a key. Who runs this server makes one with <code>mailboxctl key create</code>; it reaches the account, or one tenant or inbox of it.</p>
</section>`

function inboxOfLocalMode(address: string): string {
  return `<section class="inbox" aria-labelledby="inbox">
<h2 id="inbox">Your inbox</h2>
<strong>${address}</strong>
<p>This is local mode: the server answers on this machine alone. Mail to other domains is captured, shown as sent, and never leaves it. The key was printed when mailboxd started for the first time.</p>
</section>`
}
