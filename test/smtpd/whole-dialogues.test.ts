import t, { type Test } from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'
import { openDialog, type SmtpDialog } from '../support/smtp-dialog.ts'
import { openDoor, type TestDoor, type TestDoorSettings } from '../support/smtp-door.ts'

/** Ids are others at each run. */
const bare = (line: string) =>
  line.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '<id>').replace(/\b[a-z0-9]{16}\b/g, '<session>')

/** Says line after line and gives what was said with all replies; a letter is what follows 354. */
async function transcript(
  dialog: SmtpDialog,
  lines: readonly string[],
  letter = 'From: bob@example.net\r\nSubject: x\r\n\r\nHello',
) {
  const said: string[] = []
  const note = (line: string, reply: { readonly lines: readonly string[] }) =>
    said.push(
      `C ${JSON.stringify(line).slice(1, -1).slice(0, 120)}`,
      ...reply.lines.map(one => `S ${bare(one)}`),
    )
  try {
    for (const line of lines) {
      if (line === 'STARTTLS!') {
        await dialog.startTls()
        said.push('C STARTTLS, handshake')
        continue
      }
      const reply = await dialog.say(line)
      note(line, reply)
      if (reply.code === 354) note('the letter and its end', await dialog.data(letter))
    }
  } catch (error) {
    said.push(`over: ${error}`)
  }
  if (said.at(-1)?.startsWith('S 221') || said.at(-1)?.startsWith('S 421'))
    said.push(`then ${bare(await dialog.closed())}.`)
  else dialog.end()
  return said
}

/** Each script in a session of its own, greeting first. */
async function sessions(
  port: number,
  scripts: Readonly<Record<string, readonly string[]>>,
  setting: string,
): Promise<Facts[]> {
  const facts: Facts[] = []
  for (const [title, lines] of Object.entries(scripts)) {
    const dialog = await openDialog(port)
    const greeting = await dialog.reply()
    facts.push([
      `${setting}: ${title}`,
      [...greeting.lines.map(line => `S ${bare(line)}`), ...(await transcript(dialog, lines))],
    ])
  }
  return facts
}

const hello = 'EHLO client.example'
const from = 'MAIL FROM:<bob@example.net>'
const to = 'RCPT TO:<ann@ours.example>'

const scripts: Readonly<Record<string, readonly string[]>> = {
  'a letter': [hello, from, to, 'DATA', 'QUIT'],
  'two letters': [hello, from, to, 'DATA', from, to, 'DATA', 'RSET', 'QUIT'],
  HELO: ['HELO client.example', from, to, 'DATA', 'QUIT'],
  'before a greeting': [
    from,
    to,
    'DATA',
    'RSET',
    'NOOP',
    'VRFY ann',
    'EXPN ann',
    'HELP',
    'STARTTLS x',
    'AUTH PLAIN',
    'nothing',
    'QUIT',
  ],
  'names of clients': [
    'HELO',
    'EHLO',
    'HELO  ',
    'EHLO a b',
    'EHLO [192.0.2.1]',
    'EHLO [IPv6:2001:db8::1]',
    'EHLO [nonsense]',
    'EHLO -x',
    `EHLO ${'a'.repeat(300)}`,
    'EHLO ü.example',
    'HELO x_y',
    'ehlo lower.example',
    'QUIT now',
  ],
  'out of order': [
    hello,
    to,
    'DATA',
    from,
    from,
    'DATA',
    'RCPT TO:<nobody@ours.example>',
    'DATA',
    to,
    to,
    'RSET',
    'DATA',
    from,
    hello,
    to,
    'QUIT',
  ],
  'commands that are none': [
    hello,
    '',
    ' ',
    'FOO',
    'MAILFROM:<a@b>',
    'MAIL',
    'MAIL FROM',
    'MAIL FROM:',
    'MAIL TO:<a@b.example>',
    'QUIT',
  ],
  'more of them': [
    hello,
    'RCPT FROM:<a@b>',
    'DATA now',
    'RSET now',
    'NOOP now',
    'VRFY',
    'VRFY <ann@ours.example>',
    'EXPN',
    'HELP MAIL',
    'TURN',
    'QUIT',
  ],
  'reverse-paths': [
    hello,
    ...[
      '<>',
      ' <bob@example.net>',
      '<bob@example.net',
      'bob@example.net',
      '<bob>',
      '<bob@>',
      '<@example.net>',
      '<bob@exa mple.net>',
      '<@relay.example:bob@example.net>',
    ].flatMap(path => [`MAIL FROM:${path}`, 'RSET']),
    'QUIT',
  ],
  'more reverse-paths': [
    hello,
    ...[
      '<"bob ross"@example.net>',
      '<bob@[192.0.2.1]>',
      '<bob@[192.0.2]>',
      '<jürgen@example.net>',
      '<bob@bücher.example>',
      `<${'a'.repeat(65)}@example.net>`,
      `<bob@${'a.'.repeat(130)}example>`,
    ].flatMap(path => [`MAIL FROM:${path}`, 'RSET']),
    'QUIT',
  ],
  'parameters of MAIL': [
    hello,
    ...[
      'SIZE=1',
      'SIZE=26214400',
      'SIZE=26214401',
      'SIZE=99999999999999999999',
      'SIZE=x',
      'SIZE',
      'SIZE=1 SIZE=2',
      'BODY=7BIT',
      'BODY=8BITMIME',
    ].flatMap(one => [`${from} ${one}`, 'RSET']),
    'QUIT',
  ],
  'more parameters of MAIL': [
    hello,
    ...[
      'BODY=BINARYMIME',
      'BODY=x',
      'SMTPUTF8',
      'SMTPUTF8=x',
      'AUTH=<>',
      'RET=HDRS',
      'ENVID=x',
      'X=Y',
      'size=5 body=8bitmime smtputf8',
    ].flatMap(one => [`${from} ${one}`, 'RSET']),
    'QUIT',
  ],
  recipients: [
    hello,
    from,
    ...[
      '<ann@OURS.example>',
      '<ANN@ours.example>',
      '<ann+tag@ours.example>',
      '<ann@elsewhere.example>',
      '<postmaster>',
      '<Postmaster@ours.example>',
      '<abuse@ours.example>',
    ].map(path => `RCPT TO:${path}`),
    'DATA',
    'QUIT',
  ],
  'recipients that are none': [
    hello,
    from,
    ...[
      '<>',
      '<ann>',
      'ann@ours.example',
      '<ann@ours.example',
      '<ann@ours.example> NOTIFY=NEVER',
      '<ann@ours.example> X',
      '<b-abcdefghijklmnopqrstuvwx@bounce.ours.example>',
      '<ann@bounce.ours.example>',
    ].map(path => `RCPT TO:${path}`),
    'QUIT',
  ],
  'a bounce': [hello, 'MAIL FROM:<>', to, 'DATA', 'QUIT'],
  'a bounce to two': [hello, 'MAIL FROM:<>', to, 'RCPT TO:<bea@ours.example>', 'DATA', 'QUIT'],
  'refused again and again': [hello, ...Array.from({ length: 14 }, () => 'FOO'), 'QUIT'],
  'a long line': [hello, `NOOP ${'x'.repeat(2100)}`, 'NOOP', 'QUIT'],
  'bytes that are no text': [hello, 'NOOP \0', 'NO\0OP', '\xff\xfe', 'QUIT'],
  STARTTLS: [hello, 'STARTTLS!', from, hello, 'STARTTLS', from, to, 'DATA', 'QUIT'],
}

const letters: Readonly<Record<string, string>> = {
  empty: '',
  'a body alone': '\r\nHello',
  'no From': 'Subject: x\r\n\r\nHello',
  'two Froms': 'From: a@example.net\r\nFrom: b@example.net\r\n\r\nx',
  dots: 'From: bob@example.net\r\n\r\n..\r\n...\r\n. x\r\n.x',
  'a bare CR': 'From: bob@example.net\r\n\r\na\rb',
  'a bare LF': 'From: bob@example.net\n\nx',
  'LF.LF': 'From: bob@example.net\r\n\r\na\n.\nMAIL FROM:<eve@example.net>',
  'LF.CRLF': 'From: bob@example.net\r\n\r\na\n.\r\nNOOP',
  NUL: 'From: bob@example.net\r\n\r\na\0b',
  '8-bit': 'From: bob@example.net\r\nSubject: Grüße\r\n\r\nä',
  'a loop': `${'Received: from a by b; Mon, 2 Nov 2026 09:41:05 +0000\r\n'.repeat(101)}From: bob@example.net\r\n\r\nx`,
  'a long header': `${`X: ${'x'.repeat(900)}\r\n`.repeat(400)}From: bob@example.net\r\n\r\nx`,
  'many fields': `${'X: y\r\n'.repeat(3000)}From: bob@example.net\r\n\r\nx`,
  'a long line': `From: bob@example.net\r\n\r\n${'x'.repeat(5000)}`,
}

async function inboxes(door: TestDoor): Promise<string> {
  await door.inbox('bea')
  return door.inbox('ann')
}

async function open(t: Test, settings: TestDoorSettings = {}) {
  const door = await openDoor(t, settings)
  return { ...door, annId: await inboxes(door) }
}

/** What came in, without what is of one run alone. */
async function received({ messages }: TestDoor): Promise<string[]> {
  return (await messages()).map(
    ({ mailFrom, toAddr, fromAddr, subject, bodyText, verdict, category, headerTo }) =>
      JSON.stringify([
        mailFrom,
        toAddr,
        fromAddr,
        headerTo,
        subject,
        bodyText.slice(0, 40),
        verdict,
        category,
      ]),
  )
}

t.test('dialogues at the door for mail from outside', async t => {
  const door = await open(t)
  const facts = await sessions(door.port, scripts, 'outside')
  for (const [title, letter] of Object.entries(letters)) {
    const dialog = await openDialog(door.port)
    await dialog.reply()
    facts.push([
      `letter: ${title}`,
      (await transcript(dialog, [hello, `${from} BODY=8BITMIME`, to, 'DATA', 'NOOP', 'QUIT'], letter)).slice(
        8,
      ),
    ])
  }
  facts.push(['what came in', await received(door)])
  sameFacts(t, 'smtp-dialogues', facts)
})

t.test('dialogues where little is allowed', async t => {
  const door = await open(t, { smtp: 'max_size = 65536\nmax_recipients = 2\n', maxMessages: 2 })
  const large = `From: bob@example.net\r\n\r\n${'0123456789abcdef\r\n'.repeat(4000)}`
  const dialog = await openDialog(door.port)
  await dialog.reply()
  sameFacts(t, 'smtp-dialogues-little', [
    ...(await sessions(
      door.port,
      {
        sizes: [hello, `${from} SIZE=65536`, 'RSET', `${from} SIZE=65537`, 'QUIT'],
        recipients: [
          hello,
          from,
          to,
          'RCPT TO:<bea@ours.example>',
          'RCPT TO:<postmaster@ours.example>',
          'DATA',
          'QUIT',
        ],
        messages: [hello, from, to, 'DATA', from, to, 'DATA', from, 'QUIT'],
      },
      'little',
    )),
    [
      'a letter that is too large',
      await transcript(dialog, [hello, from, to, 'DATA', 'NOOP', 'QUIT'], large),
    ],
    ['what came in', await received(door)],
  ])
})

t.test('dialogues at the doors of submission', async t => {
  const door = await open(t, { toml: '[delivery]\nmode = "capture"\n' })
  const { token } = await createKey(door.app, operator, { inbox: door.annId }, 'smtp')
  const plain = (user: string, password: string) => Buffer.from(`\0${user}\0${password}`).toString('base64')
  const word = (text: string) => Buffer.from(text).toString('base64')
  const mine = `AUTH PLAIN ${plain('ann@ours.example', token)}`
  const start = [hello, 'STARTTLS!', hello]
  const letter = 'From: Ann <ann@ours.example>\r\nTo: bob@example.net\r\nSubject: x\r\n\r\nHello'
  const own = 'MAIL FROM:<ann@ours.example>'
  const bob = 'RCPT TO:<bob@example.net>'
  const dialogues: Readonly<Record<string, readonly string[]>> = {
    'in the clear': [hello, mine.replace(/ \S+$/, ' x'), own, bob, 'QUIT'],
    'without authentication': [...start, own, bob, 'DATA', 'QUIT'],
    'AUTH that is none': [
      ...start,
      'AUTH',
      'AUTH FOO',
      'AUTH PLAIN =',
      'AUTH PLAIN !!',
      `AUTH PLAIN ${word('x')}`,
      'QUIT',
    ],
    'a wrong password': [
      ...start,
      `AUTH PLAIN ${plain('ann@ours.example', 'wrong')}`,
      `AUTH PLAIN ${plain('bea@ours.example', token)}`,
      'QUIT',
    ],
    'AUTH LOGIN': [...start, 'AUTH LOGIN', word('ann@ours.example'), word(token), own, bob, 'QUIT'],
    'AUTH LOGIN, at once': [
      ...start,
      `AUTH LOGIN ${word('ann@ours.example')}`,
      word(token),
      'AUTH PLAIN',
      'QUIT',
    ],
    'AUTH that is given up': [...start, 'AUTH PLAIN', '*', 'AUTH LOGIN', '*', 'NOOP', 'QUIT'],
    'AUTH PLAIN in two steps': [...start, 'AUTH PLAIN', plain('ann@ours.example', token), 'QUIT'],
    'a letter': [...start, mine, own, bob, 'DATA', 'QUIT'],
    'as somebody else': [
      ...start,
      mine,
      'MAIL FROM:<bea@ours.example>',
      'MAIL FROM:<>',
      'MAIL FROM:<bob@example.net>',
      'QUIT',
    ],
    recipients: [
      ...start,
      mine,
      own,
      'RCPT TO:<bob>',
      'RCPT TO:<bob@nowhere>',
      'RCPT TO:<jürgen@example.net>',
      'RCPT TO:<bea@ours.example>',
      bob,
      bob,
      'RCPT TO:<nobody@ours.example>',
      'QUIT',
    ],
    DSN: [
      ...start,
      mine,
      ...['RET=HDRS ENVID=a+20b', 'RET=FULL', 'RET=x', 'ENVID=a=b', `ENVID=${'a'.repeat(101)}`].flatMap(
        one => [`${own} ${one}`, 'RSET'],
      ),
      'QUIT',
    ],
    'DSN of recipients': [
      ...start,
      mine,
      own,
      ...[
        'NOTIFY=NEVER',
        'NOTIFY=SUCCESS,FAILURE',
        'NOTIFY=NEVER,DELAY',
        'NOTIFY=x',
        'ORCPT=rfc822;bob@example.net',
        'ORCPT=x',
        'NOTIFY=DELAY ORCPT=rfc822;a+2Bb@example.net',
      ].map(one => `RCPT TO:<${one.length}@example.net> ${one}`),
      'QUIT',
    ],
  }
  const facts: Facts[] = []
  for (const [title, lines] of Object.entries(dialogues)) {
    const dialog = await openDialog(door.submissionPort)
    const greeting = (await dialog.reply()).lines.map(line => `S ${bare(line)}`)
    const said = await transcript(dialog, lines, letter)
    // What names a key is another at each run.
    facts.push([
      title,
      [...greeting, ...said.map(line => line.replace(/^C (AUTH PLAIN )?[\w+/=]{40,}$/, 'C $1<credentials>'))],
    ])
  }
  const refused: Readonly<Record<string, string>> = {
    'no From': 'Subject: x\r\n\r\nx',
    "another's From": letter.replace('ann@ours', 'bea@ours'),
    'two Froms': `From: eve@example.net\r\n${letter}`,
    'another Sender': `Sender: eve@example.net\r\n${letter}`,
    'two subjects': `Subject: y\r\n${letter}`,
    'a fold of spaces': letter.replace('Subject: x', 'Subject: x\r\n '),
    'a line that is no field': letter.replace('Subject', 'no field\r\nSubject'),
    'a body alone': '\r\nx',
    'whom one may answer': `Reply-To: eve@example.org\r\n${letter}`,
  }
  for (const [title, written] of Object.entries(refused)) {
    const dialog = await openDialog(door.submissionPort)
    await dialog.reply()
    facts.push([
      `letter: ${title}`,
      (await transcript(dialog, [...start, mine, own, bob, 'DATA', 'QUIT'], written)).slice(-6),
    ])
  }
  sameFacts(t, 'smtp-dialogues-submission', facts)
})
