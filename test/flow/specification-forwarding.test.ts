import t from 'tap'
import { linkIn } from '../support/confirmation.ts'
import { startDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { startRecipients } from '../support/recipients.ts'
import { openSocket } from '../support/socket-client.ts'
import { type Arrival, fieldOf, startSpecified } from '../support/specified.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const address = '127.0.0.31'
const port = await freePort(address)
const people = await startRecipients(t, address, port)
const dns = await startDns({
  'theirs.example': {
    MX: [{ priority: 1, exchange: 'mx.theirs.example' }],
    TXT: ['v=spf1 ip4:127.0.0.0/8 -all'],
  },
  'mx.theirs.example': { A: [address] },
  'strict.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
  '_dmarc.strict.example': { TXT: ['v=DMARC1; p=quarantine'] },
})
t.teardown(() => dns.close())
const receiver = await startWebhookReceiver(t, call => ({ status: call.path.includes('broken') ? 500 : 200 }))
const it = await startSpecified(t, {
  dns: dns.server,
  mxPort: port,
  toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]\nretry = ["10ms"]\n',
})
const { api } = it
for (const name of ['ann', 'gone', 'angry'])
  await api.post('/v1/members', { address: `${name}@theirs.example` })
await api.post('/v1/members', { address: 'cold@theirs.example' })

const deliveriesOf = async (messageId: string) =>
  (await api.get(`/v1/messages/${messageId}/deliveries`)).body.data
/** Waits until nothing more becomes of what was forwarded of a message. */
const ended = (messageId: string) =>
  until('the end of the copy', async () => {
    const [delivery] = await deliveriesOf(messageId)
    return ['delivered', 'failed'].includes(delivery?.state) ? delivery : undefined
  })
const automated = ['Auto-Submitted: auto-generated']

t.test('who is forwarded to', async t => {
  const inbox = await it.inbox({ mailboxName: 'members', forwardTo: 'Ann@theirs.example' })
  t.match(
    inbox,
    { forwardTo: 'ann@theirs.example', forwardStatus: 'active', forwardWhen: 'always' },
    "unset → `active`: address belongs to a member of the caller's organisation; `always` (default)",
  )
  const letter: Arrival = {
    from: 'bob@theirs.example',
    to: inbox.address,
    headers: ['Subject: Fish', 'X-Own: Kept  as it is'],
    text: 'How much?',
  }
  const message = await it.arrive(inbox.id, letter)
  const [copy] = await people.mails('ann@theirs.example')
  t.ok(true, '`active`: copies flow')
  const original = await it.raw(message.id)
  t.equal(copy!.raw.slice(-original.length), original, 'Forwarded copies keep the original bytes')
  t.equal(fieldOf(copy!.raw, 'From'), 'bob@theirs.example', '… and From')
  t.match(
    copy!.mailFrom,
    /^[^@]+@bounce\.ours\.example$/,
    'reverse-path is rewritten, so that SPF passes and bounces return',
  )
  t.match(
    fieldOf(copy!.raw, 'X-Forwarded-For') ?? fieldOf(copy!.raw, 'Delivered-To'),
    inbox.address,
    '`X-Forwarded-For`/`Delivered-To` trace headers',
  )
  t.equal(
    fieldOf(copy!.raw, 'Reply-To'),
    undefined,
    'the copy carries no Reply-To of ours: replies go to the original sender',
  )
  t.match(await ended(message.id), {
    state: 'delivered',
    purpose: 'forward',
    recipient: 'ann@theirs.example',
  })

  const looped = await it.arrive(inbox.id, {
    ...letter,
    headers: [`Delivered-To: ${inbox.address}`, `X-Forwarded-For: ${inbox.address}`],
  })
  const after = await it.arrive(inbox.id, letter)
  await ended(after.id)
  t.match(await deliveriesOf(looped.id), [{ state: 'failed', remoteHost: null }], 'trace headers stop loops')
  t.equal(people.count('ann@theirs.example'), 2)

  const marketing = await it.arrive(inbox.id, {
    ...letter,
    headers: [
      'List-Unsubscribe: <https://theirs.example/u>',
      'List-Id: <news.theirs.example>',
      'Precedence: bulk',
    ],
  })
  t.equal(marketing.category, 'marketing')
  const spam = await it.arrive(inbox.id, { ...letter, from: 'ann@strict.example' })
  t.match(spam, { verdict: 'spam', category: 'spam' })
  await ended((await it.arrive(inbox.id, letter)).id)
  t.strictSame(await deliveriesOf(marketing.id), [], 'Bulk mail is never forwarded')
  t.strictSame(await deliveriesOf(spam.id), [], 'Spam is never forwarded')

  t.match(
    (await api.patch(`/v1/inboxes/${inbox.id}`, { forwardTo: null })).body,
    { forwardTo: null, forwardWhen: null, forwardStatus: null },
    'update inbox with forwardTo null: forwardTo, forwardWhen and forwardStatus null',
  )
  const unforwarded = await it.arrive(inbox.id, letter)
  t.strictSame(await deliveriesOf(unforwarded.id), [], 'Forwarding stops')
})

t.test('an address that is asked first', async t => {
  const inbox = await it.inbox({ mailboxName: 'asks' })
  const path = `/v1/inboxes/${inbox.id}`
  const stranger = 'carol@theirs.example'
  t.match(
    (await api.patch(path, { forwardTo: stranger })).body,
    { forwardStatus: 'pending', forwardTo: stranger },
    'Any other address: `pending`',
  )
  const [question] = await people.mails(stranger)
  const link = linkIn(Buffer.from(question!.raw))
  t.match(
    link,
    /^http.*\/forwarding\/confirm\?token=/,
    'A confirmation link is emailed: `GET {base_url}/forwarding/confirm?token=…`',
  )
  const early = await it.arrive(inbox.id, { to: inbox.address })
  t.strictSame(await deliveriesOf(early.id), [], 'nothing is forwarded until it is used')
  t.match(
    await api.patch(path, { forwardTo: stranger }),
    { status: 422, body: { error: 'forward_verification_cooldown' } },
    'the same address can be asked again after 60 s (422 `forward_verification_cooldown`)',
  )
  const page = await fetch(link)
  t.equal(page.status, 200)
  t.match(await page.text(), /<button/, '`GET` shows a page with a button')
  t.equal(
    (await api.get(path)).body.forwardStatus,
    'pending',
    'mail scanners follow links: a GET confirms nothing',
  )
  const token = new URL(link).searchParams.get('token')!
  const use = (text: string) => fetch(link.replace(token, text), { method: 'POST' })
  t.not((await use(`${token.slice(0, -3)}abc`)).status, 200, 'The token is signed')
  t.equal((await api.get(path)).body.forwardStatus, 'pending')
  t.equal((await use(token)).status, 200, '`POST` confirms')
  t.equal(
    (await api.get(path)).body.forwardStatus,
    'active',
    '`pending` → `active`: Recipient uses the emailed link',
  )
  t.not((await use(token)).status, 200, 'single-use')
  await it.arrive(inbox.id, { to: inbox.address, text: 'Now' })
  t.match((await people.mails(stranger, 2))[1]!.raw, 'Now', 'Copies flow')
})

t.test('which mail is forwarded', async t => {
  const human = await it.inbox({
    mailboxName: 'human',
    forwardTo: 'cold@theirs.example',
    forwardWhen: 'needs_human',
  })
  t.equal(human.forwardWhen, 'needs_human')
  const personal = await it.arrive(human.id, { to: human.address, text: 'From a person' })
  const machine = await it.arrive(human.id, { to: human.address, headers: automated, text: 'From a machine' })
  t.strictSame([personal.autoReplyable, machine.autoReplyable], [true, false])
  await ended(machine.id)
  t.strictSame(
    await deliveriesOf(personal.id),
    [],
    '`needs_human`: only mail the agent should not auto-handle, autoReplyable false',
  )

  const failed = { forwardTo: 'ann@theirs.example', forwardWhen: 'webhook_failed' }
  const told = await it.inbox({ mailboxName: 'told', webhookUrl: receiver.url, ...failed })
  const taken = await it.arrive(told.id, { to: told.address })
  await until('the call', () => receiver.calls.some(call => call.json.message?.id === taken.id))
  const broken = await it.inbox({ mailboxName: 'broken', webhookUrl: `${receiver.url}/broken`, ...failed })
  const untold = await it.arrive(broken.id, { to: broken.address })
  t.match(
    await ended(untold.id),
    { state: 'delivered' },
    '`webhook_failed`: only once webhook delivery exhausted its retries',
  )
  t.equal(
    receiver.calls.filter(call => call.json.message?.id === untold.id).length,
    2,
    'A delivery that exhausts its retries counts as webhook failure',
  )
  t.strictSame(await deliveriesOf(taken.id), [], '… and not when the webhook took it')

  const alone = await it.inbox({ mailboxName: 'alone', ...failed })
  const unread = await it.arrive(alone.id, { to: alone.address })
  t.match(await ended(unread.id), { state: 'delivered' }, 'or no webhook or WebSocket existed to deliver to')
  const socket = await openSocket(t, it.daemon.baseUrl, it.token)
  await socket.ask({ type: 'subscribe', inbox_ids: [alone.id] })
  const streamed = await it.arrive(alone.id, { to: alone.address })
  await until('the event', () => socket.events.some(event => event.message?.id === streamed.id))
  t.strictSame(await deliveriesOf(streamed.id), [], 'a WebSocket existed to deliver to')
})

t.test('an address that does not want copies', async t => {
  const inbox = await it.inbox({ mailboxName: 'returns', forwardTo: 'gone@theirs.example' })
  const path = `/v1/inboxes/${inbox.id}`
  const status = async () => (await api.get(path)).body.forwardStatus
  const suppressed = async () =>
    (await api.get('/v1/suppressions')).body.data.map((one: { recipient: string }) => one.recipient)
  people.refuse('gone@theirs.example', '550 5.1.1 no such user')
  for (const count of [1, 2]) {
    t.match(await ended((await it.arrive(inbox.id, { to: inbox.address })).id), { state: 'failed' })
    t.equal(await status(), 'active', `after ${count} hard bounces`)
    t.notOk(
      (await suppressed()).includes('gone@theirs.example'),
      'the address is put on the suppression list then, and not before',
    )
  }
  await ended((await it.arrive(inbox.id, { to: inbox.address })).id)
  await until('disabled', async () => (await status()) === 'disabled')
  t.ok(true, '`active` → `disabled`: 3 hard bounces in a row')
  t.ok(
    (await suppressed()).includes('gone@theirs.example'),
    'the address is put on the suppression list then',
  )
  const paused = await it.arrive(inbox.id, { to: inbox.address })
  t.strictSame(await deliveriesOf(paused.id), [], '`disabled`: Forwarding paused')
  people.refuse('gone@theirs.example', undefined)
  t.match(
    (await api.patch(path, { forwardTo: 'gone@theirs.example' })).body,
    { forwardStatus: 'active' },
    '`disabled`: update inbox setting forwardTo again resumes forwarding',
  )
  t.match(
    await ended((await it.arrive(inbox.id, { to: inbox.address })).id),
    { state: 'delivered' },
    'resumes forwarding',
  )

  const other = await it.inbox({ mailboxName: 'complains', forwardTo: 'angry@theirs.example' })
  await it.arrive(other.id, { to: other.address })
  const [copy] = await people.mails('angry@theirs.example')
  const report = [
    'MIME-Version: 1.0',
    'Subject: Complaint',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=r',
  ]
  const parts = [
    '--r',
    'Content-Type: text/plain',
    '',
    'Unwanted',
    '--r',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'User-Agent: Theirs/1',
    'Version: 1',
    `Original-Mail-From: <${copy!.mailFrom}>`,
    'Original-Rcpt-To: <angry@theirs.example>',
    '',
    '--r',
    'Content-Type: message/rfc822',
    '',
    copy!.raw,
    '--r--',
  ].join('\r\n')
  await it.handIn({ from: 'fbl@theirs.example', to: copy!.mailFrom, headers: report, text: parts })
  await until(
    'disabled',
    async () => (await api.get(`/v1/inboxes/${other.id}`)).body.forwardStatus === 'disabled',
  )
  t.ok(true, '… or one complaint')
  t.ok((await suppressed()).includes('angry@theirs.example'))
})
