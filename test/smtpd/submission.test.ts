import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { createKey, revokeAnyKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { addPolicyRule } from '../../lib/core/policy/rules.ts'
import { wholeMessages } from '../../lib/store/search/whole-messages.ts'
import { greetedDialog, type SmtpDialog } from '../support/smtp-dialog.ts'
import { openDoor, type TestDoor, type TestDoorSettings } from '../support/smtp-door.ts'
import { openThreadedDoor } from '../support/threaded-door.ts'
import { until } from '../support/until.ts'

const plain = (user: string, password: string) =>
  `AUTH PLAIN ${Buffer.from(`\0${user}\0${password}`).toString('base64')}`

/** A door of submission with an inbox, ann, and a key for it. */
async function openSubmission(t: Test, settings: TestDoorSettings = {}) {
  const door = await (settings.threads === 2 ? openThreadedDoor : openDoor)(t, {
    ...settings,
    toml: `[delivery]\nmode = "capture"\n${settings.toml ?? ''}`,
  })
  const id = await door.inbox('ann')
  const { token, id: keyId } = await createKey(door.app, operator, { inbox: id }, 'smtp')
  const sent = () =>
    wholeMessages(door.app.store.read)
      .where('message.direction', '=', 'outbound')
      .orderBy('message.id')
      .execute()
  return { ...door, inboxId: id, token, keyId, sent, login: () => authenticated(door, token) }
}

/** A session that has TLS and is ann's. */
async function authenticated({ submissionPort }: TestDoor, token: string): Promise<SmtpDialog> {
  const dialog = await encrypted(submissionPort)
  const said = await dialog.say(plain('ann@ours.example', token))
  if (said.code !== 235) throw new Error(said.text)
  return dialog
}

async function encrypted(port: number): Promise<SmtpDialog> {
  const dialog = await greetedDialog(port)
  await dialog.startTls()
  await dialog.say('EHLO client.example')
  return dialog
}

const letter = (more = '') =>
  `${more}From: Ann <ann@ours.example>\r\nTo: Bob <bob@example.net>\r\nSubject: Hi\r\n\r\nHello\r\n`

t.test(
  'a message is sent as it was written, signed, and stands in the thread of what it answers',
  async t => {
    const { login, sent, raw } = await openSubmission(t)
    const dialog = await login()
    await dialog.envelope('ann@ours.example', 'bob@example.net', 'cara@example.net')
    const own =
      'Message-ID: <mine@client.example>\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\nAuthentication-Results: there.example; none\r\n'
    const ours = 'Authentication-Results: mail.ours.example;\r\n\tdmarc=pass header.from=bank.example\r\n'
    const said = await dialog.data(
      `Bcc: cara@example.net\r\n${ours}${own}X-Odd:  spaced   out\r\n${letter('Bcc: dora@example.net,\r\n\terin@example.net\r\n')}`,
    )
    t.equal(said.code, 250)
    const [message] = await sent()
    t.match(said.text, `2.6.0 Queued as ${message!.id}`)
    const bytes = (await raw(message!)).toString('latin1')
    t.match(bytes, /^DKIM-Signature: /)
    t.match(bytes, /\r\nReceived: by mail\.ours\.example \(mailboxd\) with ESMTPSA id [\w-]+;\r\n\t/)
    t.notMatch(bytes, /127\.0\.0\.1|\[client|Bcc|cara|dora|erin/, 'neither whence nor to whom besides')
    // The final CRLF.CRLF of the dialog begins behind the letter.
    t.ok(bytes.endsWith(`${own}X-Odd:  spaced   out\r\n${letter()}\r\n`))
    t.notMatch(bytes, /bank\.example/, 'what only we may say')
    t.match(message, { rfcMessageId: '<mine@client.example>', toAddr: 'bob@example.net', subject: 'Hi' })
    t.same(JSON.parse(message!.bcc), ['cara@example.net'])
    t.match(message!.bodyText, /^Hello/)

    await dialog.envelope('', 'bob@example.net')
    t.equal((await dialog.data(letter('In-Reply-To: <mine@client.example>\r\n'))).code, 250)
    const [first, second] = await sent()
    t.equal(second!.threadId, first!.threadId)
    t.match((await raw(second!)).toString(), /\r\nDate: .*\+0000\r\nMessage-ID: <[\w-]+@ours\.example>\r\n/)
  },
)

t.test('the same through threads, and with TLS from the first byte', async t => {
  const { submissionsPort, token, sent, login } = await openSubmission(t, { threads: 2 })
  const large = `${letter()}${'0123456789abcdef\r\n'.repeat(30_000)}`
  const dialog = await login()
  await dialog.envelope('ann@ours.example', 'bob@example.net')
  t.equal((await dialog.data(large)).code, 250, 'a large one')
  const socket = connectTls({ host: '127.0.0.1', port: submissionsPort, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  let heard = ''
  socket.setEncoding('utf8').on('data', text => {
    heard += text
  })
  const heardThat = (what: RegExp) => until(`${what}`, () => what.test(heard))
  await heardThat(/^220 .*\r\n$/)
  socket.write('EHLO client.example\r\n')
  await heardThat(/^250 SIZE/m)
  t.match(heard, /^250-AUTH PLAIN LOGIN\r$/m)
  t.notMatch(heard, /STARTTLS/)
  socket.write('AUTH LOGIN\r\n')
  await heardThat(/^334 VXNlcm5hbWU6/m)
  socket.write(`${Buffer.from('Ann@OURS.example').toString('base64')}\r\n`)
  await heardThat(/^334 UGFzc3dvcmQ6/m)
  socket.write(`${Buffer.from(token).toString('base64')}\r\n`)
  await heardThat(/^235 /m)
  socket.write('MAIL FROM:<ann@ours.example>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n')
  await heardThat(/^354 /m)
  socket.write(`${letter()}.\r\n`)
  await heardThat(/^250 2\.6\.0 Queued as /m)
  socket.end('QUIT\r\n')
  t.equal((await sent()).length, 2)
})

t.test('nobody is let in without TLS and a key for that inbox', async t => {
  const { submissionPort, port, token, app, inbox } = await openSubmission(t)
  const otherId = await inbox('other')
  const { token: otherToken } = await createKey(app, operator, { inbox: otherId }, null)
  const { token: wide } = await createKey(app, operator, { account: true }, null)
  const clear = await greetedDialog(submissionPort)
  t.notMatch((await clear.say('EHLO client.example')).text, /AUTH/)
  t.match((await clear.say(plain('ann@ours.example', token))).text, /^538 5\.7\.11 .*STARTTLS/)
  t.match((await clear.say('MAIL FROM:<ann@ours.example>')).text, /^530 5\.7\.0 .*STARTTLS/)
  clear.end()
  const dialog = await encrypted(submissionPort)
  t.match((await dialog.say('EHLO client.example')).text, /250-AUTH PLAIN LOGIN/)
  t.match((await dialog.say('MAIL FROM:<ann@ours.example>')).text, /^530 5\.7\.0 /)
  t.match((await dialog.say('AUTH CRAM-MD5')).text, /^504 5\.5\.4 /)
  for (const [user, password] of [
    ['ann@ours.example', 'mbx_wrong'],
    ['ann@ours.example', otherToken],
    ['nobody@ours.example', wide],
    ['', token],
    ['ann@ours.example', ''],
  ] as const)
    t.match((await dialog.say(plain(user, password))).text, /^535 5\.7\.8 /)
  const asOther = Buffer.from(`other@ours.example\0ann@ours.example\0${token}`).toString('base64')
  t.match((await dialog.say(`AUTH PLAIN ${asOther}`)).text, /^535 5\.7\.8 /)
  const asNobody = Buffer.from(`ann@ours.example\0\0${token}`).toString('base64')
  t.match(
    (await dialog.say(`AUTH PLAIN ${asNobody}`)).text,
    /^535 5\.7\.8 /,
    'without an authentication identity',
  )
  t.equal((await dialog.say(plain('ann@ours.example', wide))).code, 235)
  t.equal((await dialog.say(plain('ann@ours.example', wide))).code, 503)
  dialog.end()
  const incoming = await greetedDialog(port)
  await incoming.startTls()
  t.notMatch((await incoming.say('EHLO client.example')).text, /AUTH/, 'the door of strangers takes no keys')
  t.match((await incoming.say(plain('ann@ours.example', token))).text, /^50[02] /)
  incoming.end()
})

t.test('failed authentications are bounded for each address', async t => {
  const { submissionPort } = await openSubmission(t)
  let said = ''
  for (let failures = 0; failures < 100 && !said.startsWith('421'); ) {
    const dialog = await encrypted(submissionPort)
    for (let turn = 0; turn < 40 && !said.startsWith('421'); turn++, failures++)
      said = (await dialog.say(plain('ann@ours.example', 'mbx_wrong'))).text
    if (!said.startsWith('421')) dialog.end()
  }
  t.match(said, /^421 4\.7\.0 Too many failed authentications/)
})

t.test('who may not send is told what to do, and a key that is revoked sends nothing more', async t => {
  const { login, sent, app, keyId, inboxId } = await openSubmission(t)
  const dialog = await login()
  t.match((await dialog.say('MAIL FROM:<eve@example.net>')).text, /^550 5\.7\.1 .*<ann@ours\.example>/)
  t.equal((await dialog.say('MAIL FROM:<ann+tag@ours.example> BODY=8BITMIME SIZE=1000 AUTH=<>')).code, 250)
  t.match((await dialog.say('RCPT TO:<ann@ours.example>')).text, /^550 5\.7\.1 /)
  t.match((await dialog.say('RCPT TO:<postmaster>')).text, /^553 5\.1\.3 /)
  await dialog.say('RSET')
  const refused = async (message: string, expected: RegExp) => {
    await dialog.envelope('ann@ours.example', 'bob@example.net')
    t.match((await dialog.data(message)).text, expected)
  }
  const from = (field: string) => `${field}To: bob@example.net\r\n\r\nHello`
  await refused(from(''), /^550 5\.6\.0 .*no From field/)
  await refused(from('From: eve@example.net\r\n'), /^550 5\.7\.1 From must be ann@ours\.example/)
  await refused(from('From: ann@ours.example, eve@example.net\r\n'), /^550 5\.6\.0 .*several mailboxes/)
  await refused(from('From: ann@ours.example\r\nFrom: eve@example.net\r\n'), /^550 5\.6\.0 .*from.* twice/)
  await refused(from('From: ann@ours.example\r\nSender: eve@example.net\r\n'), /^550 5\.7\.1 Sender/)
  await refused(from('From: ann@ours.example\r\nno field\r\n'), /^550 5\.6\.0 .*no field/)
  await refused('From: ann@ours.example\r\nHello, no empty line', /^550 5\.6\.0 /)
  await addPolicyRule(
    app,
    operator,
    { inbox: inboxId },
    { direction: 'outbound', type: 'block', value: 'trusted.example' },
  )
  for (const field of ['Reply-To', 'X-Confirm-Reading-To', 'Cc', 'To', 'Resent-To', 'List-Post']) {
    await refused(
      `From: ann@ours.example\r\n${field}: <boss@trusted.example>\r\n\r\nHello`,
      /^550 5\.7\.1 .*boss@trusted\.example/,
    )
  }
  const many = Array.from({ length: 120 }, (_, index) => `x${index}@fine.example`).join(',\r\n ')
  await refused(
    `From: ann@ours.example\r\nTo: ${many}, boss@trusted.example\r\n\r\nHello`,
    /^550 5\.7\.1 .*boss@trusted\.example/,
  )
  await app.store.write(async db => {
    await db
      .updateTable('inbox')
      .set({ suspendedAt: '2026-01-01T00:00:00.000Z' })
      .where('id', '=', inboxId)
      .execute()
  })
  await refused(letter(), /^550 5\.7\.1 .*suspended/)
  await app.store.write(async db => {
    await db.updateTable('inbox').set({ suspendedAt: null }).where('id', '=', inboxId).execute()
  })
  await dialog.envelope('ann@ours.example', 'bob@example.net')
  await revokeAnyKey(app, keyId)
  t.match((await dialog.data(letter())).text, /^535 5\.7\.8 /)
  t.same(await sent(), [])
})

t.test('a key has one budget of requests at all doors', async t => {
  const { login, sent } = await openSubmission(t, { toml: '[http]\nrequests_per_minute = 1\n' })
  const dialog = await login()
  await dialog.envelope('ann@ours.example', 'bob@example.net')
  t.equal((await dialog.data(letter())).code, 250)
  await dialog.envelope('ann@ours.example', 'bob@example.net')
  t.match((await dialog.data(letter())).text, /^450 4\.7\.1 .*again in \d+ s/)
  t.equal((await sent()).length, 1)
})
