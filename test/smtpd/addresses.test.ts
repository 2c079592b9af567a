import t from 'tap'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { addVerifiedDomain } from '../support/verified-domain.ts'

t.test('postmaster and abuse are always taken, in any case, with and without a domain', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const paths = [
    'postmaster',
    'Postmaster',
    'POSTMASTER',
    'postmaster@ours.example',
    'PostMaster@OURS.example',
    'abuse@ours.example',
    'ABUSE@OURS.EXAMPLE',
    'abuse+report@ours.example',
  ]
  const dialog = await greetedDialog(port)
  for (const path of paths) {
    await dialog.envelope('', path)
    t.match(await dialog.data('Subject: x\r\n\r\nx'), { code: 250 }, path)
  }
  const stored = await messages()
  t.equal(stored.length, paths.length)
  t.strictSame([...new Set(stored.map(message => message.toAddr))], ['postmaster@ours.example'])
  for (const path of ['abuse', 'ann', 'postmaster@elsewhere.example', 'hostmaster@ours.example']) {
    await dialog.say('MAIL FROM:<>')
    t.equal(String((await dialog.say(`RCPT TO:<${path}>`)).code)[0], '5', path)
    await dialog.say('RSET')
  }
})

t.test('the null reverse-path, +tag, case, quoting and source routes', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const paths = [
    'ann@ours.example',
    'ANN@Ours.Example',
    'ann+tag@ours.example',
    'ann+one+two@ours.example',
    'ann+@ours.example',
    '"ann"@ours.example',
    '@relay.example,@other.example:ann@ours.example',
  ]
  for (const path of paths) {
    await dialog.envelope('', path)
    t.match(await dialog.data('Subject: x\r\n\r\nx'), { code: 250 }, path)
  }
  await dialog.envelope('bob@example.net', 'ann+a@ours.example', 'ann@ours.example', 'ANN+b@ours.example')
  t.equal((await dialog.data('Subject: once\r\n\r\nx')).code, 250)
  const stored = await messages()
  t.equal(stored.length, paths.length + 1, 'three paths that lead to one inbox give one message')
  t.strictSame([...new Set(stored.map(message => message.toAddr))], ['ann@ours.example'])
  t.equal(stored[0]!.mailFrom, '')
  t.match(stored[0]!.trace, /^Return-Path: <>\r\nReceived: from client\.example \(\[127\.0\.0\.1\]\)\r\n/)
  t.match(stored[2]!.trace, /\tfor <ann\+tag@ours\.example>; /)
})

t.test('lengths: at the limit taken or refused for what it is, over it refused, nothing breaks', async t => {
  const { port, inbox } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const domain = `${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(60)}.example`
  const cases: [command: string, code: RegExp][] = [
    [`MAIL FROM:<${'a'.repeat(64)}@example.net>`, /^250 2\.1\.0 /],
    [`MAIL FROM:<${'a'.repeat(65)}@example.net>`, /^553 5\.1\.7 /],
    [`MAIL FROM:<${'a'.repeat(50)}@${domain}>`, /^250 /],
    [`MAIL FROM:<${'a'.repeat(64)}@${domain}>`, /^50?[01]|^553/],
    [`MAIL FROM:<a@${'d'.repeat(64)}.example>`, /^553 5\.1\.7 /],
    [`MAIL FROM:<a@${'d.'.repeat(120)}example>`, /^250 /],
    ['MAIL FROM:<ann@my_host.peer.example>', /^250 /],
    [`MAIL FROM:<a@${'d.'.repeat(140)}example>`, /^553 5\.1\.7 /],
    [`MAIL FROM:<${'a'.repeat(3000)}@example.net>`, /^553 5\.1\.7 /],
    ['MAIL FROM:<.a@example.net>', /^553 /],
    ['MAIL FROM:<a..b@example.net>', /^553 /],
    ['MAIL FROM:<a@-b.example>', /^553 |^501 /],
    ['MAIL FROM:<a@xn--->', /^553 |^501 /],
    ['MAIL FROM:<a@192.0.2.1>', /^553 /],
    ['MAIL FROM:<a@[192.0.2.1]>', /^(250|553) /],
    [`NOOP ${'x'.repeat(507)}`, /^250 /],
    [`NOOP ${'x'.repeat(4091)}`, /^250 /],
  ]
  for (const [command, expected] of cases) {
    const reply = await dialog.say(command)
    t.match(reply.text, expected, command.slice(0, 40))
    await dialog.say('RSET')
  }
  await dialog.say('MAIL FROM:<bob@example.net>')
  t.match((await dialog.say(`RCPT TO:<${'a'.repeat(64)}@ours.example>`)).text, /^550 5\.1\.1 /)
  t.match((await dialog.say(`RCPT TO:<${'a'.repeat(65)}@ours.example>`)).text, /^553 5\.1\.3 /)
  t.match((await dialog.say('RCPT TO:<ann@ours.example>')).text, /^250 /)

  dialog.write(`NOOP ${'x'.repeat(4092)}\r\n`)
  t.match((await dialog.reply()).text, /^421 4\./, 'a command line of more than 4096 bytes ends the session')
  await dialog.closed()
  const endless = await greetedDialog(port)
  endless.write('x'.repeat(100_000))
  t.match((await endless.reply()).text, /^421 4\./, 'also one without an end')
})

t.test('more than 100 recipients: the 101st is 452 4.5.3, and the 100 get the message', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  await inbox('bea')
  const dialog = await greetedDialog(port)
  await dialog.say('MAIL FROM:<bob@example.net>')
  for (let count = 1; count <= 100; count++) dialog.write(`RCPT TO:<ann+${count}@ours.example>\r\n`)
  for (let count = 1; count <= 100; count++) t.equal((await dialog.reply()).code, 250)
  t.match((await dialog.say('RCPT TO:<bea@ours.example>')).text, /^452 4\.5\.3 /)
  t.match((await dialog.say('RCPT TO:<bea@ours.example>')).text, /^452 4\.5\.3 /)
  t.equal((await dialog.say('DATA')).code, 354)
  t.equal((await dialog.data('Subject: many\r\n\r\nx')).code, 250)
  t.strictSame(
    (await messages()).map(message => message.toAddr),
    ['ann@ours.example'],
  )
})

t.test('SIZE, BODY and other parameters', async t => {
  const { port, inbox } = await openDoor(t, { smtp: 'max_size = 100000' })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const from = 'MAIL FROM:<bob@example.net>'
  const cases: [command: string, expected: RegExp][] = [
    [`${from} SIZE=0`, /^250 /],
    [`${from} SIZE=100000`, /^250 /],
    [`${from} SIZE=100001`, /^552 5\.3\.4 /],
    [`${from} SIZE=99999999999999999999`, /^552 5\.3\.4 /],
    [`${from} SIZE=999999999999999999999`, /^501 5\.5\.4 /],
    [`${from} SIZE=-1`, /^501 5\.5\.4 /],
    [`${from} SIZE=ten`, /^501 5\.5\.4 /],
    [`${from} SIZE=`, /^501 5\.5\.4 /],
    [`${from} SIZE`, /^501 5\.5\.4 /],
    [`${from} BODY=7BIT`, /^250 /],
    [`${from} body=8bitmime size=20 SMTPUTF8`, /^250 /],
    [`${from} BODY=BINARYMIME`, /^5\d\d 5\./],
    [`${from} BODY`, /^501 5\.5\.4 /],
    [`${from} RET=FULL`, /^555 5\.5\.4 /],
    [`${from} AUTH=<>`, /^555 5\.5\.4 /],
    [`${from} REQUIRETLS`, /^5\d\d 5\./],
    [`${from} X-UNKNOWN`, /^555 5\.5\.4 /],
    [`${from} constructor=1`, /^555 5\.5\.4 /],
    [`${from} __proto__=1`, /^555 5\.5\.4 /],
  ]
  for (const [command, expected] of cases) {
    t.match((await dialog.say(command)).text, expected, command)
    await dialog.say('RSET')
  }
  await dialog.say(from)
  for (const parameter of ['NOTIFY=NEVER', 'ORCPT=rfc822;ann@ours.example', 'X', 'constructor=1']) {
    t.match((await dialog.say(`RCPT TO:<ann@ours.example> ${parameter}`)).text, /^555 5\.5\.4 /, parameter)
  }
  t.match((await dialog.say('RCPT TO:<ann@ours.example>')).text, /^250 /)
})

t.test('UTF-8 addresses need SMTPUTF8; an IDN domain is its A-label', async t => {
  const { app, port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  await addVerifiedDomain(app, 'xn--bcher-kva.example')
  await inbox('bea', 'xn--bcher-kva.example')
  const dialog = await greetedDialog(port)
  const say = async (...commands: string[]) => {
    await dialog.say('RSET')
    let text = ''
    for (const command of commands) text = (await dialog.say(command)).text
    return text
  }
  t.match(await say('MAIL FROM:<jörg@example.net>'), /^553 5\.6\.7 /)
  t.match(await say('MAIL FROM:<jorg@bücher.example>'), /^553 5\.6\.7 /)
  t.match(await say('MAIL FROM:<bob@example.net>', 'RCPT TO:<änn@ours.example>'), /^553 5\.6\.7 /)
  t.match(await say('MAIL FROM:<bob@example.net>', 'RCPT TO:<bea@bücher.example>'), /^553 5\.6\.7 /)
  t.match(
    await say('MAIL FROM:<jörg@bücher.example> SMTPUTF8', 'RCPT TO:<änn@ours.example>'),
    /^550 5\.1\.1 /,
    'well-formed, and nobody here',
  )
  await dialog.say('RSET')
  const steps: [mail: string, rcpt: string][] = [
    ['MAIL FROM:<jörg@bücher.example> SMTPUTF8', 'RCPT TO:<bea@bücher.example>'],
    ['MAIL FROM:<bob@xn--bcher-kva.example>', 'RCPT TO:<bea@xn--bcher-kva.example>'],
    ['MAIL FROM:<bob@XN--BCHER-KVA.example> SMTPUTF8', 'RCPT TO:<Bea+tag@BÜCHER.example>'],
    ['MAIL FROM:<> SMTPUTF8', 'RCPT TO:<postmaster@bücher.example>'],
  ]
  for (const [mail, rcpt] of steps) {
    t.match((await dialog.say(mail)).text, /^250 /, mail)
    t.match((await dialog.say(rcpt)).text, /^250 /, rcpt)
    t.equal((await dialog.say('DATA')).code, 354)
    t.equal((await dialog.data('Subject: Grüße\r\n\r\nx')).code, 250)
  }
  t.strictSame(
    (await messages()).map(message => [message.mailFrom, message.toAddr, message.subject]),
    [
      ['jörg@bücher.example', 'bea@xn--bcher-kva.example', 'Grüße'],
      ['bob@xn--bcher-kva.example', 'bea@xn--bcher-kva.example', 'Grüße'],
      ['bob@XN--BCHER-KVA.example', 'bea@xn--bcher-kva.example', 'Grüße'],
      ['', 'postmaster@ours.example', 'Grüße'],
    ],
  )
  const [first, second] = await messages()
  t.match(first!.trace, / with UTF8SMTP id /, 'RFC 6531 §4.3')
  t.match(second!.trace, / with ESMTP id /)
  // Bytes that are no UTF-8 at all.
  dialog.write(Buffer.from('MAIL FROM:<j\xf6rg@example.net>\r\n', 'latin1'))
  t.equal(String((await dialog.reply()).code)[0], '5')
})

t.test('a local part in quotes may have spaces and an @, and postmaster is here at our address', async t => {
  const { port, messages, inbox } = await openDoor(t, {
    toml: '[delivery]\npublic_addresses = ["192.0.2.7"]\n',
  })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const mail = 'MAIL FROM:<"a b@c"@example.net> SIZE=100'
  for (const path of ['postmaster@[127.0.0.1]', 'Postmaster@[192.0.2.7]', '"ann"@ours.example']) {
    t.match((await dialog.say(mail)).text, /^250 /)
    t.match((await dialog.say(`RCPT TO:<${path}>`)).text, /^250 /, path)
    t.equal((await dialog.say('DATA')).code, 354)
    t.equal((await dialog.data('Subject: x\r\n\r\nx')).code, 250)
  }
  t.strictSame(
    (await messages()).map(message => [message.mailFrom, message.toAddr]),
    ['postmaster', 'postmaster', 'ann'].map(name => ['"a b@c"@example.net', `${name}@ours.example`]),
  )
  await dialog.say(mail)
  t.match(
    (await dialog.say('RCPT TO:<"a b"@ours.example>')).text,
    /^550 5\.1\.1 /,
    'well-formed, and nobody here',
  )
  t.match((await dialog.say('RCPT TO:<postmaster@[192.0.2.8]>')).text, /^550 5\.7\.1 /, 'not our address')
  t.match((await dialog.say('RCPT TO:<ann@[127.0.0.1]>')).text, /^550 5\.7\.1 /)
  t.match((await dialog.say('RCPT TO:<"a b@ours.example>')).text, /^501 /)
  t.match((await dialog.say('RCPT TO:<"a">b"@ours.example>')).text, /^5/)
})
