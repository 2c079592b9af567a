import t from 'tap'
import { startDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { startRecipients } from '../support/recipients.ts'
import { fieldOf, startSpecified } from '../support/specified.ts'
import { until } from '../support/until.ts'

const address = '127.0.0.32'
const port = await freePort(address)
const people = await startRecipients(t, address, port)
const dns = await startDns({
  'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
  'mx.theirs.example': { A: [address] },
})
t.teardown(() => dns.close())
const it = await startSpecified(t, { dns: dns.server, mxPort: port })
const { api } = it
const inbox = await it.inbox({ mailboxName: 'sender' })

const send = async (to: string, more: object = {}) =>
  (await api.send(inbox.id, { to, subject: 'Fish', body: 'How much?', ...more })).body
const settled = (messageId: string) =>
  until('an end', async () => {
    const { body } = await api.get(`/v1/messages/${messageId}`)
    return body.status === 'pending' ? undefined : body
  })
const deliveriesOf = async (messageId: string) =>
  (await api.get(`/v1/messages/${messageId}/deliveries`)).body.data
const eventsOf = async (messageId: string) =>
  (await api.get(`/v1/events?inboxId=${inbox.id}&limit=100`)).body.data.filter(
    (one: { message: { id: string } | null }) => one.message?.id === messageId,
  )
/** The event of this type, which a server of the database may show a moment after the change itself. */
const eventOf = (messageId: string, type: string) =>
  until(`the event ${type}`, async () =>
    (await eventsOf(messageId)).find((one: { event: string }) => one.event === type),
  )
const suppressionOf = async (recipient: string) =>
  (await api.get('/v1/suppressions?limit=100')).body.data.find(
    (one: { recipient: string }) => one.recipient === recipient,
  )

/** A notification of another server about a mail of ours (RFC 3464). */
const notification = (recipient: string, status: string, diagnostic: string, original: string) => ({
  headers: [
    'From: MAILER-DAEMON@theirs.example',
    'MIME-Version: 1.0',
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
  ],
  text: [
    '--r',
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    '--r',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.theirs.example',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '',
    '--r',
    'Content-Type: message/rfc822',
    '',
    original,
    '--r--',
  ].join('\r\n'),
})

t.test('how a message ends', async t => {
  const two = await send('ann@theirs.example', { cc: ['bob@theirs.example'] })
  t.match(
    two,
    { status: 'pending', providerMessageId: /^<.+@.+>$/ },
    '`providerMessageId` is the Message-ID header (with angle brackets); `status` is `pending` once the message is durably queued',
  )
  t.match(await settled(two.messageId), { status: 'sent' }, '`sent` if all were accepted by their server')
  t.strictSame(
    (await deliveriesOf(two.messageId))
      .map((one: { recipient: string; state: string }) => `${one.recipient} ${one.state}`)
      .sort(),
    ['ann@theirs.example delivered', 'bob@theirs.example delivered'],
    'one per recipient, with state',
  )
  const [mail] = await people.mails('ann@theirs.example')
  t.equal(fieldOf(mail!.raw, 'Message-ID'), two.providerMessageId)
  t.equal(fieldOf(mail!.raw, 'Feedback-ID'), undefined, '`Feedback-ID`-free minimal headers')
  t.equal(fieldOf(mail!.raw, 'Auto-Submitted'), undefined)
  t.match(fieldOf(mail!.raw, 'Date'), /\d{4}/, 'All outbound mail carries `Date`')
  t.match(
    (await eventsOf(two.messageId)).map((one: { event: string }) => one.event).sort(),
    ['message.delivered', 'message.delivered', 'message.sent'],
    '`message.sent`, `message.delivered`',
  )
  const auto = await send('ann@theirs.example', { autoSubmitted: true })
  await settled(auto.messageId)
  t.equal(
    fieldOf((await people.mails('ann@theirs.example', 2))[1]!.raw, 'Auto-Submitted'),
    'auto-generated',
    '`Auto-Submitted: auto-generated` when the request sets `autoSubmitted: true`',
  )

  people.refuse('half@theirs.example', '550 5.7.1 not for you')
  const half = await send('ann@theirs.example', { cc: ['half@theirs.example'] })
  t.match(await settled(half.messageId), { status: 'failed' }, '`failed` if any failed for good')
  t.match(
    (await deliveriesOf(half.messageId)).find(
      (one: { recipient: string }) => one.recipient === 'half@theirs.example',
    ),
    { state: 'failed', attempts: 1, replyCode: 550, replyEnhanced: '5.7.1', replyText: /not for you/ },
    'with state, attempts, remote reply',
  )

  people.refuse('later@theirs.example', '450 4.2.1 try again')
  const later = await send('later@theirs.example')
  const deferred = await eventOf(later.messageId, 'message.deferred')
  t.match(
    deferred,
    { data: { recipient: 'later@theirs.example', status: '4.2.1', diagnostic: /try again/ } },
    '`message.deferred`',
  )
  t.match(
    (await api.get(`/v1/messages/${later.messageId}`)).body,
    { status: 'pending' },
    'outbound `pending` until every recipient has an end',
  )
})

t.test('what a hard bounce does', async t => {
  const speakOfRecipient = [
    '550 5.1.1 no such user',
    '550 5.1.2 bad host',
    '550 5.1.3 bad address',
    '550 5.1.6 moved',
    '556 5.1.10 null MX',
    '550 5.2.1 disabled',
    '550 no such user here',
  ]
  for (const [index, reply] of speakOfRecipient.entries()) {
    const recipient = `gone${index}@theirs.example`
    people.refuse(recipient, reply)
    const { messageId } = await send(recipient)
    t.match(await settled(messageId), { status: 'failed' })
    t.match(
      await suppressionOf(recipient),
      {
        reason: 'bounce',
        evidence: new RegExp(reply.split(' ').at(-1)!),
        messageId,
        createdAt: /Z$/,
        expiresAt: null,
      },
      `Added by a hard bounce that speaks of the recipient: ${reply}`,
    )
    t.match(await eventOf(messageId, 'message.bounced'), { data: { recipient } }, '`message.bounced`')
  }
  const speakOfUs = [
    '550 5.1.7 bad sender',
    '550 5.1.8 bad sender system',
    '550 5.7.1 blocked',
    '554 5.7.26 unauthenticated',
    '550 sender address rejected',
    '550 blocked by a block list',
    '554 message rejected because of its content',
  ]
  for (const [index, reply] of speakOfUs.entries()) {
    const recipient = `there${index}@theirs.example`
    people.refuse(recipient, reply)
    const { messageId } = await send(recipient)
    // Some of them it tries again later.
    await until('what came of it', async () =>
      (await eventsOf(messageId)).some((one: { event: string }) =>
        ['message.bounced', 'message.deferred'].includes(one.event),
      ),
    )
    t.equal(
      await suppressionOf(recipient),
      undefined,
      `never by one that speaks of us or of the message: ${reply}`,
    )
  }
  t.match(
    await api.send(inbox.id, { to: 'Gone0@theirs.example', subject: 's', body: 'b' }),
    {
      status: 422,
      body: { error: 'recipient_suppressed', recipient: 'gone0@theirs.example', type: 'bounce' },
    },
    'Send → 422 `recipient_suppressed` with `recipient` and `type`; recipient address (lower-cased)',
  )
})

t.test('what comes back later', async t => {
  const { messageId, threadId } = await send('dora@theirs.example')
  t.match(await settled(messageId), { status: 'sent' })
  const [mail] = await people.mails('dora@theirs.example')
  t.match(mail!.mailFrom, /@bounce\.ours\.example$/, '`bounce.<domain>`: the reverse-path domain')
  const report = notification('dora@theirs.example', '5.1.1', '550 5.1.1 no such user', mail!.raw)
  await it.handIn({ from: '', to: mail!.mailFrom, ...report })
  await until('failed', async () => (await api.get(`/v1/messages/${messageId}`)).body.status === 'failed')
  t.ok(true, 'A later bounce (DSN) turns `sent` into `failed`')
  t.match(await suppressionOf('dora@theirs.example'), { reason: 'bounce', messageId })
  t.match(
    await eventOf(messageId, 'message.bounced'),
    { data: { recipient: 'dora@theirs.example', status: '5.1.1' } },
    '`message.bounced`',
  )
  const notice = (await api.get(`/v1/threads/${threadId}/messages`)).body.data.at(-1)
  t.match(
    notice,
    { category: 'bounce', autoReplyable: false, direction: 'inbound', status: 'received' },
    '`bounce`; false for multipart/report and a null reverse-path',
  )

  const forged = await send('erik@theirs.example')
  await settled(forged.messageId)
  await it.arrive(inbox.id, {
    from: 'evil@theirs.example',
    to: inbox.address,
    ...notification(
      'erik@theirs.example',
      '5.1.1',
      '550 no such user',
      (await people.mails('erik@theirs.example'))[0]!.raw,
    ),
  })
  t.match(
    (await api.get(`/v1/messages/${forged.messageId}`)).body,
    { status: 'sent' },
    'who does not know the reverse-path says nothing about it',
  )

  const complained = await send('fred@theirs.example')
  await settled(complained.messageId)
  const [unwanted] = await people.mails('fred@theirs.example')
  await it.handIn({
    from: 'fbl@theirs.example',
    to: unwanted!.mailFrom,
    headers: [
      'MIME-Version: 1.0',
      'Subject: Complaint',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=r',
    ],
    text: [
      '--r',
      'Content-Type: text/plain',
      '',
      'Unwanted',
      '--r',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: T/1',
      'Version: 1',
      'Original-Rcpt-To: <fred@theirs.example>',
      '',
      '--r',
      'Content-Type: message/rfc822',
      '',
      unwanted!.raw,
      '--r--',
    ].join('\r\n'),
  })
  const told = await eventOf(complained.messageId, 'message.complained')
  t.match(told, { data: { recipient: 'fred@theirs.example' } }, '`message.complained`')
  t.match(await suppressionOf('fred@theirs.example'), { reason: 'complaint' })
  t.match(await api.send(inbox.id, { to: 'fred@theirs.example', subject: 's', body: 'b' }), {
    status: 422,
    body: { error: 'recipient_suppressed', type: 'complaint' },
  })
})
