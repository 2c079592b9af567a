import { readFileSync } from 'node:fs'
import t from 'tap'
import { startDns } from '../support/dns.ts'
import { without } from '../support/peers.ts'
import { startClamav, virusText } from '../support/scanners.ts'
import { startSpecified } from '../support/specified.ts'

const dns = await startDns({
  'theirs.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  '_dmarc.theirs.example': { TXT: ['v=DMARC1; p=quarantine'] },
  'elsewhere.example': { TXT: ['v=spf1 ip4:192.0.2.1 ?all'] },
  '_dmarc.elsewhere.example': { TXT: ['v=DMARC1; p=quarantine'] },
  '_dmarc.strict.example': { TXT: ['v=DMARC1; p=reject'] },
})
t.teardown(() => dns.close())
const withoutClamav = without('clamd')
const clamav = withoutClamav ? undefined : await startClamav(t)
const it = await startSpecified(t, {
  dns: dns.server,
  ...(clamav && { toml: `[scanner]\nclamav = "${clamav.path}"\n` }),
})
const { api } = it
const inbox = await it.inbox({ mailboxName: 'reader' })
const arrive = (from: string, headers: readonly string[] = [], text = 'Hello') =>
  it.arrive(inbox.id, { from, to: inbox.address, headers, text })

t.test('what a message proves', async t => {
  const proven = await arrive('ann@theirs.example')
  t.match(
    proven,
    {
      authentication: { spf: 'pass', dkim: 'none', dmarc: 'pass' },
      verdict: 'clean',
      category: 'personal',
      autoReplyable: true,
    },
    '`authentication` `{spf, dkim, dmarc}` (each `pass|fail|none|…`)',
  )
  const unproven = await arrive('ann@elsewhere.example')
  t.match(
    unproven,
    { authentication: { spf: 'neutral', dkim: 'none', dmarc: 'fail' }, verdict: 'spam', category: 'spam' },
    '`verdict`: `spam`; `category`: `spam`',
  )
  const nothing = await arrive('ann@unknown.example')
  t.match(
    nothing,
    { authentication: { spf: 'none', dkim: 'none', dmarc: 'none' }, verdict: 'clean' },
    '`none`',
  )
  await t.rejects(
    it.handIn({ from: 'ann@strict.example', to: inbox.address }),
    /5\.7\.26/,
    'a domain that wants it refused: not taken',
  )
})

t.test('what a scanner finds', { skip: withoutClamav }, async t => {
  const virus = await arrive('ann@theirs.example', [], virusText)
  t.match(
    virus,
    { verdict: 'malicious', category: 'malicious', autoReplyable: false },
    '`verdict`: `malicious`; `category`: `malicious`',
  )
})

t.test('machine mail', async t => {
  const machines: readonly [string, readonly string[], from?: string, text?: string][] = [
    ['Auto-Submitted other than no', ['Auto-Submitted: auto-replied']],
    ['Precedence bulk', ['Precedence: bulk']],
    ['Precedence list', ['Precedence: list']],
    ['Precedence junk', ['Precedence: junk']],
    ['List-* headers', ['List-Id: <news.theirs.example>']],
    ['List-* headers: List-Unsubscribe', ['List-Unsubscribe: <https://theirs.example/u>']],
    ['X-Auto-Response-Suppress', ['X-Auto-Response-Suppress: All']],
    ['a null reverse-path', ['From: ann@theirs.example'], ''],
    ['no-reply senders', ['From: no-reply@theirs.example'], 'no-reply@theirs.example'],
    ['one-time codes', ['From: login@theirs.example', 'Subject: Your verification code is 481516']],
    [
      'a one-time code in the text alone',
      ['Subject: Welcome'],
      'ann@theirs.example',
      'Your verification code is 481516. If you did not request this code, ignore this message.',
    ],
    ['receipts', ['From: billing@theirs.example', 'Subject: Your receipt for order 1234']],
    [
      'multipart/report',
      ['MIME-Version: 1.0', 'Content-Type: multipart/report; report-type=delivery-status; boundary=b'],
      'ann@theirs.example',
      '--b\r\n\r\nIt failed\r\n--b--',
    ],
  ]
  for (const [what, headers, from = 'ann@theirs.example', text = 'Hello'] of machines) {
    t.equal(
      (await arrive(from, headers, text)).autoReplyable,
      false,
      `autoReplyable is false for machine mail: ${what}`,
    )
  }
  for (const headers of [['Auto-Submitted: no'], ['Precedence: first-class'], []]) {
    t.equal((await arrive('ann@theirs.example', headers)).autoReplyable, true, 'true when a person wrote it')
  }
})

t.test('what could not be read, and what has no room', async t => {
  const whole = await arrive('ann@theirs.example')
  t.strictSame(whole.parseProblems, [], '`parseProblems: string[]`')
  const depth = 120
  const open = Array.from(
    { length: depth },
    (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}`,
  ).join('\r\n')
  const deep = await arrive(
    'ann@theirs.example',
    ['MIME-Version: 1.0', ...open.split('\r\n\r\n')[0]!.split('\r\n')],
    `${open.split('\r\n\r\n').slice(1).join('\r\n\r\n')}\r\n\r\nDeep inside`,
  )
  t.ok(
    deep.parseProblems.length > 0 && deep.parseProblems.every((one: unknown) => typeof one === 'string'),
    'A message at which reading failed or that was cut carries `parseProblems`',
  )
  t.match(
    (await api.get(`/v1/messages/${deep.id}/raw`)).bytes.toString(),
    'Deep inside',
    '… and the original has all of it',
  )

  const text = `${'Many words in a line of text, and more of them.\r\n'.repeat(18_000)}The end.`
  const long = await arrive('ann@theirs.example', ['Subject: Long'], text)
  for (const _ of [1, 2, 3]) await arrive('ann@theirs.example', ['Subject: Long'], text)
  const list = (await api.get(`/v1/inboxes/${inbox.id}/messages?limit=100`)).body.data
  const cut = list.filter((one: { bodyTruncated?: true }) => one.bodyTruncated === true)
  t.ok(cut.length > 0, 'long texts in lists are cut to a budget and say `bodyTruncated: true`')
  t.ok(
    list.every((one: { bodyTruncated?: boolean }) => one.bodyTruncated !== false),
    'absent where nothing is cut',
  )
  const all = (await api.get(`/v1/messages/${long.id}`)).body
  t.match(all.bodyText, /The end\.\s*$/, 'the message itself has all')
  t.notOk('bodyTruncated' in all)
})

t.test('what attachments say', async t => {
  const file = (name: string) => readFileSync(new URL(`../reading/attachment/data/${name}`, import.meta.url))
  const openXml = 'application/vnd.openxmlformats-officedocument'
  const files: readonly [name: string, type: string, content: Buffer, method: string, text: RegExp | null][] =
    [
      ['invoice.pdf', 'application/pdf', file('invoice.pdf'), 'pdf', /Seventy-two tons of fish/],
      ['report.docx', `${openXml}.wordprocessingml.document`, file('report.docx'), 'office', /\w/],
      ['prices.xlsx', `${openXml}.spreadsheetml.sheet`, file('prices.xlsx'), 'office', /\w/],
      ['talk.pptx', `${openXml}.presentationml.presentation`, file('talk.pptx'), 'office', /\w/],
      ['page.html', 'text/html', Buffer.from('<h1>A page</h1><script>no()</script>'), 'html', /A page/i],
      ['table.csv', 'text/csv', Buffer.from('fish,price\nherring,3\n'), 'csv', /herring/],
      ['note.txt', 'text/plain', Buffer.from('Grüße'), 'text', /^Grüße/],
      ['photo.png', 'image/png', Buffer.from('89504e470d0a1a0a', 'hex'), 'unsupported', null],
      ['broken.pdf', 'application/pdf', Buffer.from('%PDF-1.7\nnothing'), 'error', null],
    ]
  const parts = files.map(
    ([name, type, content]) =>
      `--b\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString('base64').replaceAll(/(.{76})/g, '$1\r\n')}`,
  )
  const message = await arrive(
    'ann@theirs.example',
    ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'],
    `${parts.join('\r\n')}\r\n--b--`,
  )
  t.equal(message.attachments.length, files.length)
  for (const [name, type, content, method, text] of files) {
    const path = `/v1/attachments/${message.id}/${name}`
    t.strictSame(
      (await api.get(path)).bytes,
      content,
      `GET /v1/attachments/{messageId}/{filename}: ${name}: gives the bytes with 200`,
    )
    t.match(
      message.attachments.find((one: { filename: string }) => one.filename === name),
      { parsedText: null, sizeBytes: content.length, contentType: type },
    )
    const answer = await api.get(`${path}/text`)
    t.equal(answer.status, 200)
    t.match(
      answer.body,
      { filename: name, contentType: type, extractionMethod: method, inboxId: inbox.id },
      '→ `{filename, contentType, extractionMethod, text, inboxId}`',
    )
    if (text) t.match(answer.body.text, text, `${method}: its text`)
    else t.equal(answer.body.text, null, `${method}: none`)
    const known = (await api.get(`/v1/messages/${message.id}`)).body.attachments.find(
      (one: { filename: string }) => one.filename === name,
    )
    t.equal(known.extractionMethod, method, 'attachments carry `extractionMethod`')
    t.equal(known.parsedText, answer.body.text, '… and, once it was made, `parsedText` (bounded)')
  }
  const url = `/v1/attachments/${message.id}/note.txt`
  const redirect = await fetch(new URL(url, it.daemon.baseUrl), {
    redirect: 'manual',
    headers: { authorization: `Bearer ${it.token}`, accept: 'application/json' },
  })
  t.equal(redirect.status, 302, '302 to the signed URL where `Accept` names `application/json` and not `*/*`')
  const signed = await fetch(redirect.headers.get('location')!)
  t.equal(await signed.text(), 'Grüße')
  t.match(
    signed.headers.get('content-disposition'),
    /^attachment/,
    'Served with `Content-Disposition: attachment`',
  )
  t.equal(signed.headers.get('x-content-type-options'), 'nosniff', '`X-Content-Type-Options: nosniff`')
  t.ok(signed.headers.get('content-security-policy'), 'a restrictive `Content-Security-Policy`')
  t.equal((await it.as(undefined).get(url)).status, 401)
  t.equal((await api.get(`/v1/attachments/${message.id}/absent.txt`)).status, 404)
})
