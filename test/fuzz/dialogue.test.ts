import t from 'tap'
import { conversation, fuzz } from '../support/fuzz.ts'
import { openDoor } from '../support/smtp-door.ts'

const session = `EHLO client.example\r
MAIL FROM:<bob@theirs.example> SIZE=100 BODY=8BITMIME\r
RCPT TO:<ann@ours.example>\r
DATA\r
From: bob@theirs.example\r
Subject: s\r
\r
..dot\r
.\r
RSET\r
NOOP x\r
VRFY ann\r
MAIL FROM:<> SMTPUTF8\r
RCPT TO:<"a b"@ours.example>\r
RCPT TO:<@relay.example:ann@ours.example>\r
QUIT\r
`

t.test('whatever a client says, each line of the answer is a reply, and nothing breaks', async t => {
  const door = await openDoor(t, { accountDomain: 'ours.example' })
  await door.inbox('ann')
  await fuzz(
    t,
    {
      seeds: [session],
      words: [
        '\r\n',
        '\r',
        '\n',
        '.\r\n',
        '\r\n.\r\n',
        'STARTTLS\r\n',
        'DATA\r\n',
        'BDAT 10 LAST\r\n',
        'AUTH PLAIN AAAA\r\n',
        'HELO x\r\n',
        'EHLO [127.0.0.1]\r\n',
        'RCPT TO:<postmaster>\r\n',
        'RCPT TO:<ann@ours.example> NOTIFY=NEVER\r\n',
        'MAIL FROM:<ä@ö.example> SMTPUTF8\r\n',
        ' SIZE=99999999999',
        '\0',
        'x'.repeat(3000),
        '<',
        '>',
        '@',
        '"',
        '\\',
      ],
      most: 8192,
    },
    async (input, chance) => {
      const cut = chance.number(input.length + 1)
      const said = await conversation(door.port, [input.subarray(0, cut), input.subarray(cut)])
      const lines = said.split('\r\n')
      if (lines.pop() !== '') throw new Error(`a reply without its end: ${JSON.stringify(said)}`)
      const odd = lines.find(line => !/^[2-5]\d\d[ -][\t -~]*$/.test(line))
      if (odd !== undefined) throw new Error(`no reply: ${JSON.stringify(odd)}`)
      const trouble = door.log.find(({ level }) => level === 'error' || level === 'fatal')
      if (trouble) throw new Error(`logged: ${JSON.stringify(trouble)}`)
    },
  )
  for (const message of await door.messages()) {
    const raw = await door.raw(message)
    if (/(^|[^\r])\n|\r(?!\n)|\0/.test(raw.toString('latin1'))) t.fail('a bare CR, LF or NUL was taken')
  }
})
