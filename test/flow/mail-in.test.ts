import { randomBytes } from 'node:crypto'
import t from 'tap'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { submit } from '../support/smtp-client.ts'
import { swaks } from '../support/swaks.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const crlf = (text: string) => text.replaceAll(/\r?\n/g, '\r\n')

t.test('swaks sends, over TLS and in the clear', { skip: without('swaks') }, async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const base = [
    '--server',
    `127.0.0.1:${daemon.smtpPort}`,
    '--from',
    'bob@example.net',
    '--ehlo',
    'client.example',
  ]

  const plain = await swaks([
    ...base,
    '--to',
    ann.address,
    '--header',
    'Subject: in the clear',
    '--body',
    'One',
  ])
  t.equal(plain.code, 0, plain.transcript)
  for (const word of [
    'SIZE 26214400',
    'PIPELINING',
    '8BITMIME',
    'SMTPUTF8',
    'ENHANCEDSTATUSCODES',
    'STARTTLS',
  ]) {
    t.match(plain.transcript, new RegExp(`250[- ]${word}`), `EHLO says ${word}`)
  }
  t.notMatch(plain.transcript, /250[- ](AUTH|DSN|XCLIENT)/)

  const tls = await swaks([
    ...base,
    '--tls',
    '--to',
    ann.address,
    '--header',
    'Subject: over TLS',
    '--body',
    'Two',
  ])
  t.equal(tls.code, 0, tls.transcript)
  t.match(tls.transcript, /TLS started with cipher TLSv1\.3/)

  const unknown = await swaks([...base, '--to', 'nobody@ours.example'])
  t.equal(unknown.code, 24)
  t.match(unknown.transcript, /550 5\.1\.1 /)
  const foreign = await swaks([...base, '--to', 'someone@elsewhere.example'])
  t.equal(foreign.code, 24)
  t.match(foreign.transcript, /550 5\.7\.1 /)

  const messages = await ann.received(2)
  t.strictSame(
    messages.map(message => [
      message.subject,
      message.fromAddr,
      message.toAddr,
      message.status,
      message.direction,
    ]),
    [
      ['in the clear', 'bob@example.net', ann.address, 'received', 'inbound'],
      ['over TLS', 'bob@example.net', ann.address, 'received', 'inbound'],
    ],
  )
  t.match(messages[0]!.bodyText, /^One/)
})

t.test('a real Postfix relays a message with several recipients', { skip: without('postfix') }, async t => {
  const daemon = await startDaemon(t)
  const [ann, bea, cat] = [
    await createInbox(daemon, 'ann'),
    await createInbox(daemon, 'bea'),
    await createInbox(daemon, 'cat'),
  ]
  const postfix = await startPostfix({
    dir: temporaryDir(t),
    hostname: 'mx.theirs.example',
    address: '127.0.0.3',
    port: await freePort('127.0.0.3'),
    mailboxes: ['bob@theirs.example'],
    routes: { 'ours.example': `127.0.0.1:${daemon.smtpPort}` },
  })
  t.teardown(() => postfix.stop())
  const raw = crlf(`From: "Bob Builder" <bob@theirs.example>
To: Ann <${ann.address}>, Someone Else <else@elsewhere.example>
Cc: bea+tagged@ours.example
Subject: for all of you
Message-ID: <one@theirs.example>
Date: Fri, 20 Nov 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

Hello
..a line that begins with dots
.
and one that is a dot
`)
  await postfix.send({
    from: 'bob@theirs.example',
    to: [ann.address, 'bea+tagged@ours.example', cat.address],
    raw,
  })

  const [toAnn] = await ann.received()
  const [toBea] = await bea.received()
  const [toCat] = await cat.received()
  t.match(toAnn, {
    deliveryRole: 'to',
    headerTo: `${ann.address}, else@elsewhere.example`,
    cc: ['bea+tagged@ours.example'],
    addressNames: {
      'bob@theirs.example': 'Bob Builder',
      [ann.address]: 'Ann',
      'else@elsewhere.example': 'Someone Else',
    },
    rfcMessageId: '<one@theirs.example>',
    category: 'personal',
    autoReplyable: true,
    verdict: 'clean',
  })
  t.match(toBea, { deliveryRole: 'cc', toAddr: bea.address })
  t.match(toCat, { deliveryRole: null, toAddr: cat.address }, 'a blind copy')

  const raws = await Promise.all(
    [toAnn, toBea, toCat].map(async message =>
      (await ann.api.get(`/v1/messages/${message!.id}/raw`)).bytes.toString(),
    ),
  )
  t.equal(new Set(raws).size, 1, 'one raw for all')
  t.ok(raws[0]!.endsWith(raw.slice(raw.indexOf('From:'))), 'the bytes are those that were sent, dots and all')
  t.match(raws[0]!, /^Received: /, 'Postfix put its Received before them')
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})

t.test('a message of 20 MB comes out byte for byte, and so does its attachment', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const bytes = randomBytes(14 * 1024 * 1024)
  const raw = Buffer.concat([
    Buffer.from(
      crlf(`From: bob@example.net
To: ${ann.address}
Subject: big
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain

See the file.
--b
Content-Type: application/octet-stream
Content-Disposition: attachment; filename="=?utf-8?Q?gro=C3=9F.bin?="
Content-Transfer-Encoding: base64

`),
    ),
    Buffer.from(bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n')),
    Buffer.from('\r\n--b--\r\n'),
  ])
  t.ok(raw.length > 19 * 1024 * 1024)
  t.match(
    await submit('127.0.0.1', daemon.smtpPort, { from: 'bob@example.net', to: [ann.address], raw }),
    /^250 2\./,
  )
  const [message] = await ann.received()
  const back = await ann.api.get(`/v1/messages/${message!.id}/raw`)
  t.ok(back.bytes.equals(raw), 'the raw')
  const [attachment] = message!.attachments
  t.match(attachment, { filename: 'groß.bin', sizeBytes: bytes.length })
  const response = await fetch(attachment!.url)
  t.equal(response.status, 200, 'by its signed URL alone')
  t.ok(Buffer.from(await response.arrayBuffer()).equals(bytes), 'the attachment')
  t.match(response.headers.get('content-disposition')!, /^attachment/)
  t.equal(response.headers.get('x-content-type-options'), 'nosniff')
  t.equal(
    (
      await fetch(
        attachment!.url.replace(/signature=(.)/, (_, first) => `signature=${first === '_' ? '-' : '_'}`),
      )
    ).status,
    401,
  )
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})

t.test('old charsets are read right', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const submitRaw = (raw: Buffer) =>
    submit('127.0.0.1', daemon.smtpPort, { from: 'bob@example.net', to: [ann.address], raw })
  const head = (charset: string, subject: string) =>
    Buffer.from(
      crlf(`From: bob@example.net
To: ${ann.address}
Subject: ${subject}
MIME-Version: 1.0
Content-Type: text/plain; charset=${charset}
Content-Transfer-Encoding: 8bit

`),
    )
  // 日本語のメール, in ISO-2022-JP
  const japanese = Buffer.from('1b2442467c4b5c386c244e255 1213c25 6b1b2842'.replaceAll(' ', ''), 'hex')
  await submitRaw(
    Buffer.concat([head('iso-2022-jp', '=?iso-2022-jp?B?GyRCRnxLXDhsGyhC?='), japanese, Buffer.from('\r\n')]),
  )
  // Привет, мир, in windows-1251
  const russian = Buffer.from('cff0e8e2e5f22c20ece8f0', 'hex')
  await submitRaw(
    Buffer.concat([
      head('windows-1251', '=?windows-1251?Q?=CF=F0=E8=E2=E5=F2?='),
      russian,
      Buffer.from('\r\n'),
    ]),
  )
  const [first, second] = await ann.received(2)
  t.equal(first!.subject, '日本語')
  t.match(first!.bodyText, /^日本語の/)
  t.equal(second!.subject, 'Привет')
  t.match(second!.bodyText, /^Привет, мир/)
})
