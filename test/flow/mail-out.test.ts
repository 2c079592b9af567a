import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { openAttachment } from '../../lib/mail/message/read.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { startDns, type TestDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { verifyWithDkimpy, verifyWithOpendkim } from '../support/opendkim.ts'
import { startOpenSmtpd } from '../support/opensmtpd.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** A DNS and a daemon that asks it; the MX hosts of the test share one port. */
async function setUp(t: Test, mxPort: number): Promise<{ dns: TestDns; daemon: TestDaemon }> {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const daemon = await startDaemon(t, { dns: dns.server, mxPort })
  return { dns, daemon }
}

function addMx(dns: TestDns, domain: string, address: string): void {
  dns.set(domain, 'MX', [{ priority: 10, exchange: `mx.${domain}` }])
  dns.set(`mx.${domain}`, 'A', [address])
}

/** The DKIM record as the operator would publish it. */
async function dkimTxt(daemon: TestDaemon): Promise<Record<string, string>> {
  const { data } = (await daemon.ctl('domain', 'records')) as {
    data: { purpose: string; name: string; value: string }[]
  }
  const record = data.find(one => one.purpose === 'dkim')!
  return { [record.name]: record.value }
}

const header = (raw: Buffer, name: string) =>
  new RegExp(`^${name}: ((?:.*\\r\\n[ \\t])*.*)\\r\\n`, 'im')
    .exec(raw.toString())?.[1]
    ?.replaceAll(/\r\n\s+/g, ' ')

t.test(
  'to a real Postfix over TLS, and a reply comes back into the thread',
  { skip: without('postfix') },
  async t => {
    const mxPort = await freePort('127.0.0.3')
    const { dns, daemon } = await setUp(t, mxPort)
    addMx(dns, 'theirs.example', '127.0.0.3')
    const postfix = await startPostfix({
      dir: temporaryDir(t),
      hostname: 'mx.theirs.example',
      address: '127.0.0.3',
      port: mxPort,
      mailboxes: ['bob@theirs.example', 'carol@theirs.example', 'dave@theirs.example'],
      routes: { 'ours.example': `127.0.0.1:${daemon.smtpPort}` },
    })
    t.teardown(() => postfix.stop())
    const ann = await createInbox(daemon, 'ann')

    const sent = await ann.api.send(ann.id, {
      to: 'bob@theirs.example',
      cc: ['carol@theirs.example'],
      bcc: ['dave@theirs.example'],
      subject: 'Grüße – 你好',
      body: 'Is anybody there?',
      bodyHtml: '<p>Is <b>anybody</b> there?</p>',
    })
    t.equal(sent.status, 200, JSON.stringify(sent.body))
    t.match(sent.body, {
      status: 'pending',
      messageId: String,
      threadId: String,
      providerMessageId: /^<.+@ours\.example>$/,
    })
    const message = await ann.settled(sent.body.messageId)
    t.equal(message.status, 'sent')
    const { body: deliveries } = await ann.api.get(`/v1/messages/${message.id}/deliveries`)
    t.strictSame(
      deliveries.data.map((one: Record<string, unknown>) => [
        one.recipient,
        one.state,
        one.replyCode,
        one.remoteHost,
      ]),
      ['bob', 'carol', 'dave'].map(name => [`${name}@theirs.example`, 'delivered', 250, 'mx.theirs.example']),
    )
    const attempted = await until('the attempts in the log', () => {
      const entries = daemon.log().filter(entry => entry.msg === 'delivery attempted')
      return entries.length === 3 ? entries : undefined
    })
    t.match(attempted[0], { messageId: message.id, tls: /^TLSv1\.[23] /, host: 'mx.theirs.example' })

    const [raw] = await postfix.messages('bob@theirs.example')
    t.match(header(raw!, 'From'), /"?ann \(agent\)"? <ann@ours\.example>/)
    t.equal(header(raw!, 'Message-ID'), sent.body.providerMessageId)
    for (const mailbox of ['bob', 'carol', 'dave']) {
      const [copy] = await postfix.messages(`${mailbox}@theirs.example`)
      t.notMatch(copy!.toString(), /^bcc:/im, 'no Bcc leaves the server')
      t.equal(header(copy!, 'Cc'), 'carol@theirs.example')
    }

    // Bob answers from his real server.
    await postfix.send({
      from: 'bob@theirs.example',
      to: [ann.address],
      raw: [
        'From: Bob <bob@theirs.example>',
        `To: ${ann.address}`,
        'Subject: something else altogether',
        'Message-ID: <answer@theirs.example>',
        `In-Reply-To: ${sent.body.providerMessageId}`,
        `References: ${sent.body.providerMessageId}`,
        'Date: Fri, 20 Nov 2026 10:00:00 +0000',
        '',
        'Yes, I am.',
        '',
      ].join('\r\n'),
    })
    const [answer] = await ann.received()
    t.equal(answer!.threadId, sent.body.threadId, 'by its References, whatever its subject')
    const unread = await ann.api.get(`/v1/inboxes/${ann.id}/threads?is_read=false`)
    t.strictSame([unread.body.total, unread.body.data[0].messageCount], [1, 2])

    // Ann replies through the API.
    const reply = await ann.api.send(ann.id, {
      to: 'bob@theirs.example',
      threadId: answer!.threadId,
      body: 'Good.',
    })
    t.equal(reply.status, 200, JSON.stringify(reply.body))
    await ann.settled(reply.body.messageId)
    const [, second] = await postfix.messages('bob@theirs.example', 2)
    t.equal(header(second!, 'In-Reply-To'), '<answer@theirs.example>')
    t.equal(header(second!, 'References'), `${sent.body.providerMessageId} <answer@theirs.example>`)
    t.equal((await ann.api.get(`/v1/messages/${reply.body.messageId}`)).body.subject, 'Re: Grüße – 你好')
    t.match(second!.toString(), /^> Yes, I am\./m, 'it quotes')
    const thread = await ann.api.get(`/v1/threads/${answer!.threadId}/messages`)
    t.equal(thread.body.isRead, true, 'answering marks the thread read')
    t.strictSame(
      thread.body.data.map((one: { direction: string }) => one.direction),
      ['outbound', 'inbound', 'outbound'],
    )

    const log = JSON.stringify(daemon.log())
    for (const secret of ['Is anybody there', 'Yes, I am', 'Grüße', 'mbx_', 'PRIVATE KEY']) {
      t.notOk(log.includes(secret), `the log does not tell "${secret}"`)
    }
  },
)

t.test(
  'opendkim and dkimpy verify what arrived at a real OpenSMTPD',
  { skip: without('opensmtpd', 'opendkim', 'dkimpy') },
  async t => {
    const mxPort = await freePort('127.0.0.4')
    const { dns, daemon } = await setUp(t, mxPort)
    addMx(dns, 'bsd.example', '127.0.0.4')
    const opensmtpd = await startOpenSmtpd({
      dir: temporaryDir(t),
      hostname: 'mx.bsd.example',
      address: '127.0.0.4',
      port: mxPort,
      mailboxes: ['bob@bsd.example'],
    })
    t.teardown(() => opensmtpd.stop())
    const ann = await createInbox(daemon, 'ann')
    const content = randomBytes(14 * 1024 * 1024)
    const sent = await ann.api.send(ann.id, {
      to: 'bob@bsd.example',
      subject: 'signed',
      body: '<p>Hello <b>Bob</b></p>',
      attachments: [
        { filename: 'наука.bin', contentType: 'application/x-data', content: content.toString('base64') },
      ],
    })
    t.equal(sent.status, 200, JSON.stringify(sent.body))
    t.equal((await ann.settled(sent.body.messageId)).status, 'sent')
    const [raw] = await opensmtpd.messages('bob@bsd.example')
    t.ok(raw!.length > 18 * 1024 * 1024, '20 MB on the wire')
    const txt = await dkimTxt(daemon)
    t.match(await verifyWithOpendkim(raw!, txt), { ok: true })
    t.match(await verifyWithDkimpy(raw!, txt), { ok: true })
    const arrived = openAttachment(raw!, 0)
    t.match(arrived, { filename: 'наука.bin', contentType: 'application/x-data' })
    t.ok(arrived!.content.equals(content), 'the attachment that arrived')

    const { body: message } = await ann.api.get(`/v1/messages/${sent.body.messageId}`)
    const attachment = await fetch(message.attachments[0].url)
    t.ok(Buffer.from(await attachment.arrayBuffer()).equals(content), 'the attachment of what was sent')
    t.match(message.bodyText, /^Hello Bob/, 'HTML was recognised and a text part made')

    const refused = await ann.api.send(ann.id, { to: 'nobody@bsd.example', subject: 'x', body: 'x' })
    t.equal((await ann.settled(refused.body.messageId)).status, 'failed')
    const { body: deliveries } = await ann.api.get(`/v1/messages/${refused.body.messageId}/deliveries`)
    t.match(deliveries.data[0], { state: 'failed', attempts: 1, replyCode: 550 })
  },
)

t.test('what is wrong for now is tried again, what is wrong for good fails', async t => {
  const { dns, daemon } = await setUp(t, await freePort('127.0.0.5'))
  dns.fail('flapping.example', 'SERVFAIL')
  dns.set('nomail.example', 'MX', [{ priority: 0, exchange: '' }])
  addMx(dns, 'down.example', '127.0.0.5')
  const ann = await createInbox(daemon, 'ann')
  const deliveryTo = async (to: string) => {
    const { body } = await ann.api.send(ann.id, { to, subject: 'x', body: 'x' })
    return async () => (await ann.api.get(`/v1/messages/${body.messageId}/deliveries`)).body.data[0]
  }
  const ended = async (to: string) => {
    const read = await deliveryTo(to)
    return until(`an attempt to ${to}`, async () => {
      const delivery = await read()
      return delivery.state === 'queued' ? undefined : delivery
    })
  }
  t.match(await ended('a@flapping.example'), { state: 'deferred', attempts: 1, nextAttemptAt: String })
  t.match(await ended('a@down.example'), { state: 'deferred', attempts: 1 })
  t.match(await ended('a@nomail.example'), { state: 'failed', replyEnhanced: '5.1.10', nextAttemptAt: null })
  t.match(await ended('a@nowhere.example'), { state: 'failed', replyEnhanced: '5.1.2' })

  const { data } = (await daemon.ctl('queue', 'list')) as { data: { recipient: string; state: string }[] }
  t.strictSame(data.map(line => [line.recipient, line.state]).sort(), [
    ['a@down.example', 'waiting'],
    ['a@flapping.example', 'waiting'],
  ])
  const waiting = data.find(line => line.recipient === 'a@down.example') as unknown as Record<string, string>
  for (const id of [waiting.deliveryId!, waiting.messageId!]) {
    const why = (await daemon.ctl('queue', 'why', id)) as { data: Record<string, unknown>[] }
    t.match(why.data, [
      {
        recipient: 'a@down.example',
        destination: 'mx:mx.down.example',
        outlook:
          /^Waits for mx:mx\.down\.example, which failed at 20.*Z; next try at 20.*Z; the last one ended with ".*ECONNREFUSED.*"/,
        destinationFailures: 1,
      },
    ])
  }
  t.equal((await daemon.ctlResult('queue', 'why', 'nothing')).code, 1)
})

t.test('between two inboxes here, without a network', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const bea = await createInbox(daemon, 'bea')
  const content = randomBytes(600 * 1024).toString('base64')
  const sent = await ann.api.send(ann.id, {
    to: 'bea+plus@ours.example',
    cc: ['nobody@ours.example'],
    subject: 'Lunch?',
    body: 'At noon.',
    attachments: [{ filename: 'menu.pdf', contentType: 'application/pdf', content }],
  })
  const [received] = await bea.received()
  t.match(received, {
    fromAddr: ann.address,
    subject: 'Lunch?',
    rfcMessageId: sent.body.providerMessageId,
    authentication: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
  })
  t.equal((await ann.settled(sent.body.messageId)).status, 'failed', 'one of the two does not exist')
  const { body } = await ann.api.get(`/v1/messages/${sent.body.messageId}/deliveries`)
  t.strictSame(
    body.data.map((one: Record<string, unknown>) => [one.state, one.replyEnhanced]),
    [
      ['delivered', '2.0.0'],
      ['failed', '5.1.1'],
    ],
  )
  const raws = await Promise.all(
    [sent.body.messageId, received!.id].map(async id => (await ann.api.get(`/v1/messages/${id}/raw`)).bytes),
  )
  t.ok(raws[0]!.equals(raws[1]!), 'both see the same bytes')

  const reply = await bea.api.send(bea.id, { to: ann.address, threadId: received!.threadId, body: 'Yes' })
  t.equal(reply.status, 200)
  const [answer] = await ann.received()
  t.equal(answer!.threadId, sent.body.threadId)
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})
