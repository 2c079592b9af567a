import t from 'tap'
import type { ReplyClass } from '../../../lib/base/reply.ts'
import { classOf, loadReplyRules, readReplyRules } from '../../../lib/mail/report/reply-rules.ts'
import { manyTimes } from '../../support/hostile.ts'

/** As servers say them, with their codes. */
const said: Record<ReplyClass | 'nothing', readonly string[]> = {
  recipient: [
    '550 5.1.1 <b@there.example>: Recipient address rejected: User unknown in local recipient table',
    '550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [BL2NAM02FT061.eop-nam02]',
    '550 5.4.1 All recipient addresses rejected : Access denied [X.prod.protection.outlook.com]',
    "554 delivery error: dd This user doesn't have a yahoo.com account (b@yahoo.com) [0]",
    '554 30 Sorry, your message to b@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    '550 5.5.0 Adresse destinataire invalide. Invalid recipient. LPN007_416',
    "550 Your message wasn't delivered to b@there.example because the address couldn't be found",
    '550 5.1.2 Host unknown (Name server: x: host not found)',
    '550 Host unknown',
    '556 5.1.10 Recipient address has a null MX',
    '550 Unrouteable address',
    '550 5.5.0 Requested action not taken: mailbox unavailable',
    '550 5.2.0 Unknown user b@there.example',
    '550 Unknown user x',
    '553 5.3.0 <b@there.example>... No such user here',
    '550 User some.name (b@there.example) not listed in Domino Directory',
    '550 5.2.1 The email account that you tried to reach is disabled',
    '553 5.1.3 The recipient address <b..c@there.example> is not a valid RFC 5321 address',
    '501 5.1.1 no such user',
    '550 5.1.351 Remote server returned unknown recipient or mailbox unavailable',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    '550 5.4.4 Invalid domain',
    '450 4.1.1 <b@there.example>: Recipient address rejected: User unknown in virtual alias table',
    '550 5.1.1 mailbox unavailable; our spam policy is at http://there.example',
    '550 #5.1.0 Address rejected.',
    '550 <b@there.example>: Recipient address rejected: User unknown',
    '550 <b@there.example>: Recipient address rejected: does not exist',
    '550 <b@there.example>: Recipient address rejected: Mailbox disabled',
    '550 b@there.example is not a known user of this server',
    '550 There is nobody called b here.',
    '550 Onbekende gebruiker',
    '550 De geadresseerde bestaat niet',
    '550 Nie ma takiego użytkownika',
    '550 Użytkownik nieznany',
    '550 Brak takiego konta',
    '550 Kullanıcı bulunamadı',
    '550 Böyle bir kullanıcı yok',
    '550 Geçersiz alıcı adresi',
    '550 不明なユーザーです',
    '550 該当するユーザーはいません',
    '550 Unbekannter Benutzer',
    '550 Aucun utilisateur de ce nom',
    '550 Usuario desconocido',
    '550 Utente sconosciuto',
    '550 Usuário não existe',
    '550 Нет такого пользователя',
    '550 没有此用户',
    '550 존재하지 않는 사용자',
  ],
  full: [
    '552 5.2.2 Mailbox full',
    '452 4.2.2 The recipient inbox is out of storage space',
    '554 Quota exceeded (mailbox for user is full)',
    '550 account is overquota',
    '550 User mailbox exceeds allowed size: b@there.example',
    '552 1 Requested mail action aborted, mailbox not found or quota exceeded',
  ],
  sender: [
    '553 5.1.8 <a@ours.example>... Domain of sender address a@ours.example does not exist',
    '550 5.1.8 Sender address rejected: Domain not found',
    '550 5.1.1 <a@ours.example>: Sender address rejected: User unknown in local recipient table',
    '550 5.1.1 sender unknown',
    '550 5.1.0 Sender denied',
    '550 Sender verify failed',
    '550 Verification failed for <b-abcdefghij0123456789abcd@bounce.ours.example>: unrouteable address',
    '550 5.1.1 Your domain does not exist',
    '553 Invalid sender domain',
    '550 5.7.26 This mail is unauthenticated',
    '554 5.7.5 permanent error evaluating DMARC policy',
    "550 5.7.1 can't determine Purported Responsible Address",
    '550 SPF check failed: no such domain',
    '501 5.1.7 Invalid address',
    '550 The address in From: does not exist',
    '550 Return address unknown',
    '550 5.1.1 your mailbox is not verified',
    '450 4.7.1 <localhost>: Helo command rejected: Host not found',
  ],
  policy: [
    '550 5.7.1 relaying denied',
    '550 relay not permitted: unknown user',
    '553 sorry, that domain is not in my list of allowed rcpthosts (#5.7.1)',
    '550 Authentication required, no such user',
    '554 5.7.1 <b@there.example>: Recipient address rejected: Access denied',
    '550 5.1.1 Refused due to recipient preferences',
    "550 5.1.0 Unknown address error 550-'5.7.1 <a@ours.example>... Access denied'",
    '550 You are not a member of this mailing list',
  ],
  reputation: [
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    '550 5.1.1 your IP is on a blocklist',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.225]',
    '554 5.7.1 Client host rejected: cannot find your hostname, [192.0.2.1]',
    '550 Connections not accepted. Fix reverse DNS for 192.0.2.1',
    '550 Client host unknown',
    "550 5.1.2 your mail server's domain does not exist",
    '554 poor reputation of a domain used in message transfer',
  ],
  content: [
    '550 Message rejected as spam',
    '554 Virus found',
    '552 5.3.4 message too big',
    '550 5.6.0 Headers too large (3 max)',
    '554 Transaction failed: Duplicate header',
  ],
  protocol: [
    '503 5.5.1 EHLO first',
    '500 5.5.2 Syntax error, command unrecognized',
    '501 5.1.3 Invalid recipient',
    '501 Invalid address',
    '553 5.1.3 Bad recipient address syntax',
  ],
  host: [
    '550 5.4.6 routing loop detected',
    '421 4.3.2 Service shutting down',
    '550 Name service error for domain there.example: Host not found, try again',
    '550 5.1.1 procmail: Couldn\'t create "/var/mail/b" id: b: No such user',
  ],
  greylist: ['451 4.7.1 Greylisted, see http://there.example', '550 Greylisting in action, unknown user'],
  rate: [
    '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents',
    '550 5.1.1 <b@there.example> - 192.0.2.1 has sent to too many recipients this hour',
    '421 4.7.0 Too many connections from your IP',
  ],
  nothing: [
    '450 4.2.1 later',
    '550 no',
    '550 rejected',
    '550 Access denied',
    '554 in a language that no rule knows',
  ],
}

t.test('what a refusal is about', async t => {
  for (const [wanted, lines] of Object.entries(said)) {
    for (const line of lines) {
      const [, code, enhanced, text = ''] = /^(\d{3})(?: (\d\.\d+\.\d+))? (.*)$/.exec(line) ?? []
      t.equal(classOf({ code: Number(code), enhanced, text }) ?? 'nothing', wanted, line)
    }
  }
  t.equal(classOf({ enhanced: '5.1.1', text: 'x' }), 'recipient', 'some say the enhanced code alone')
  t.equal(classOf({ text: 'Sorry, no mailbox here by that name.' }), 'recipient', 'or words')
})

t.test('nothing that speaks of us is taken for a recipient who is not there', async t => {
  const about = ['sender', 'policy', 'reputation', 'content'] as const
  for (const line of about.flatMap(name => said[name])) {
    const words = line.replace(/^\d{3} (?:\d\.\d+\.\d+ )?/, '')
    for (const enhanced of ['5.1.1', '5.0.0', '5.1.0', '5.3.0', '5.5.0', undefined]) {
      // These were of us by their codes alone.
      if (/^Invalid address|address rejected: Access denied/.test(words)) continue
      t.not(classOf({ code: 550, enhanced, text: words }), 'recipient', `550 ${enhanced} ${words}`)
    }
  }
})

t.test('words that stand above every reason, and a fault of our HELO, suppress nobody', async t => {
  for (const reason of [
    'Internal system error',
    'On hold',
    'Server configuration problem',
    'Service is unavailable',
    'Database error',
    'Too many hops',
    'Try again with a smaller message',
    'Access denied',
  ]) {
    const text = `<b@there.example>: Recipient address rejected: ${reason}`
    for (const enhanced of [undefined, '5.0.0', '5.3.0', '5.7.1'])
      t.not(classOf({ code: 554, enhanced, text }), 'recipient', `${enhanced} ${reason}`)
  }
  for (const text of [
    'Invalid domain name',
    'Invalid host name',
    'Invalid domain name in HELO',
    'HELO: bad domain',
  ]) {
    for (const enhanced of [undefined, '5.0.0', '5.5.4'])
      t.not(classOf({ code: 501, enhanced, text }), 'recipient', `${enhanced} ${text}`)
  }
  t.equal(
    classOf({ code: 501, enhanced: '5.1.2', text: 'Invalid domain name' }),
    'recipient',
    'a code says whose',
  )
})

t.test('rules: one a line, faults with their line', async t => {
  t.match(readReplyRules('# x\n\n^550\ttransient\tgreylist\r\n'), [
    { result: 'transient', replyClass: 'greylist' },
  ])
  for (const bad of [
    '^550 transient',
    '^550\tmaybe\tfull',
    '^550\tcode\t',
    '^550\tcode\tx',
    '^550\tcode\tfull\ty',
    '\tcode\tfull',
    '^5(\tcode\tfull',
  ])
    t.throws(
      () => readReplyRules(`# x\n${bad}`),
      bad.startsWith('^5(') ? /regular expression/ : /line 2/,
      bad,
    )
  t.ok(loadReplyRules().length <= 75, 'few enough to be read by a person')
})

t.test('a hostile text costs no time', async t => {
  const words = [
    'too many ',
    'try again ',
    'mailbox ',
    'client blocked ',
    'sender ',
    'your ',
    'x',
    ' ',
    'ip ',
  ]
  for (const word of words) {
    classOf({ code: 550, enhanced: '5.1.1', text: word.repeat(manyTimes / 50) })
  }
  t.pass('all were judged')
})
