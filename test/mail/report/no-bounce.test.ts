import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { whatBecomes } from './bounce-corpus.ts'

/** Subject and text of absence notices, as Exchange, Gmail, vacation(1), Sieve and people write them. */
const absences: readonly (readonly [string, string])[] = [
  [
    'Automatic reply: Hello',
    'I am out of the office until 5 May and will not read mail. Your message has not been forwarded.',
  ],
  [
    'Out of Office: Hello',
    'I have left the company. This mailbox is no longer monitored; please write to sales@theirs.example.',
  ],
  ['Auto: Hello', 'Thank you. I will try again to answer later this week; urgent things: +1 555 550 5510.'],
  [
    'away from my mail',
    'I will not be reading my mail for a while. Your mail regarding "Hello" will be read when I return.',
  ],
  [
    'Re: Hello',
    'My address has changed. Please use robert@elsewhere.example from now on; the old one will be closed soon.',
  ],
  ['I have moved', 'bob@theirs.example is my old address. It still works until June.'],
  [
    'Abwesenheitsnotiz: Hallo',
    'Ich bin bis zum 5. Mai nicht im Büro. Ihre Nachricht wird nicht weitergeleitet.',
  ],
  [
    'Automatische Antwort: Hallo',
    'Ich bin nicht mehr im Unternehmen. Bitte wenden Sie sich an info@theirs.example.',
  ],
  ['Réponse automatique : Bonjour', "Je suis absente jusqu'au 5 mai. Votre message n'a pas été transféré."],
  [
    'Respuesta automática: Hola',
    'Estoy fuera de la oficina hasta el 5 de mayo. No se ha reenviado su mensaje.',
  ],
  ['Risposta automatica: Ciao', 'Sono fuori ufficio fino al 5 maggio.'],
  ['Resposta automática: Olá', 'Estou ausente até 5 de maio. A sua mensagem não foi reencaminhada.'],
  ['Automatisch antwoord: Hallo', 'Ik ben afwezig tot 5 mei. Uw bericht wordt niet doorgestuurd.'],
  ['Autosvar: Hej', 'Jag är inte på kontoret förrän den 5 maj.'],
  ['Автоответ: Привет', 'Меня нет в офисе до 5 мая. Ваше письмо не будет переслано.'],
  ['自动回复: 你好', '我在5月5日之前不在办公室。您的邮件不会被转发。'],
  ['自動返信: こんにちは', '5月5日まで不在にしております。メールは転送されません。'],
  ['자동 회신: 안녕하세요', '5월 5일까지 부재중입니다.'],
  ['Odpowiedź automatyczna: Cześć', 'Jestem poza biurem do 5 maja.'],
  ['Otomatik yanıt: Merhaba', '5 Mayıs tarihine kadar ofis dışındayım.'],
  ['رد تلقائي: مرحبا', 'أنا خارج المكتب حتى 5 مايو.'],
  ['תשובה אוטומטית: שלום', 'אני מחוץ למשרד עד 5 במאי.'],
]

/** Other mail that a machine or a person sends back. */
const others: readonly (readonly [string, string])[] = [
  [
    'Your parcel could not be delivered',
    'We tried to deliver parcel 5501 today. Nobody was home. Delivery failed; it will be tried again tomorrow.',
  ],
  [
    'Delivery failed: order 550',
    'The courier was unable to deliver your order because the address could not be found. Choose a new day.',
  ],
  [
    'Delivery status: shipped',
    'Your order is on its way. Delivery status: 5.5.1, returned goods are accepted for 30 days.',
  ],
  [
    '[Ticket 550-51] We have your request',
    'Thank you for your request. A person will answer within 24 hours. Please do not resend it.',
  ],
  [
    'Please confirm your message',
    'I do not know you yet. Your message was held; click the link so that it is delivered.',
  ],
  ['Read: Hello', 'Your message was read on Friday.'],
  ['Not read: Hello', 'Your message was deleted without being read on Friday.'],
  [
    'Re: undeliverable goods',
    'The last mails that I got from you said 550 5.1.1 user unknown. What does that mean?',
  ],
  ['Re: Mail delivery failed', 'I got "mailbox full" when I wrote to your colleague. Is the address wrong?'],
  ['Fwd: returned mail', 'See below, somebody there has no mailbox any more.'],
  [
    'Invoice 550',
    'Please find invoice 550, 5.1.1 and 5.2.2 attached. The account was closed at the end of May.',
  ],
  ['Quarantine summary', '3 messages are held for you. Spam: 2, virus: 1. None of them was delivered.'],
  ['Weekly report', 'Of 550 mails 12 failed permanently, 5 were rejected by policy, 533 were delivered.'],
  [
    'Postmaster training',
    'How to read bounces: 550 means that there is no such user, 552 that the mailbox is full.',
  ],
  ['Server alert', 'disk full on host mx; mail delivery may be slow.'],
  ['Welcome', 'Your account was created. The old one has been disabled.'],
]

const below: readonly string[] = [
  '',
  '\n\n> Delivery to the following recipient failed permanently:\n> 550 5.1.1 <carol@theirs.example>: user unknown',
  '\n\n-----Original Message-----\nFrom: ann@ours.example\nSubject: Hello\n\nHello Bob, the server said: 550 5.1.1 no such user.',
  '\n\nOn Friday Ann <ann@ours.example> wrote:\n> Hello Bob\n> your mailbox is full, it says: 552 5.2.2 mailbox full',
]

const headers: readonly string[] = [
  'From: Bob <bob@theirs.example>\n',
  'From: Bob <bob@theirs.example>\nAuto-Submitted: auto-replied\n',
  'From: "Mailing Service" <noreply@theirs.example>\nPrecedence: bulk\n',
  'From: bob@theirs.example\nX-Autoreply: yes\nPrecedence: auto_reply\n',
  'From: bob@theirs.example\nX-Auto-Response-Suppress: All\nAuto-Submitted: auto-generated\n',
  'From: Support <support@theirs.example>\nX-Autoresponder: 1\nAuto-Submitted: auto-replied (vacation)\n',
  'From: Bob via Lists <bob@theirs.example>\nList-Id: <talk.theirs.example>\n',
]

t.test('no absence notice and no ordinary message fails a delivery', async t => {
  let count = 0
  for (const [subject, text] of [...absences, ...others]) {
    for (const [index, more] of below.entries()) {
      for (const header of headers) {
        const raw = `${header}Subject: ${subject}\nTo: b-0@bounce.ours.example\nContent-Type: text/plain; charset=utf-8\n\n${text}${more}\n`
        const kind = whatBecomes(Buffer.from(raw.replaceAll('\n', '\r\n')), 'bob@theirs.example')
        if (kind !== 'none') t.fail(`${subject}, ${index}: ${header}`)
        count++
      }
    }
  }
  t.ok(count >= 1000, `${count} were read, each with the null reverse-path`)
})

t.test('a message that was read, or deleted, has come (RFC 8098)', async t => {
  const mdn = `From: bob@theirs.example
Subject: Not read: undeliverable
Content-Type: multipart/report; report-type=disposition-notification; boundary=b

--b

Your message was deleted without being read. It could not be delivered to the archive.
--b
Content-Type: message/disposition-notification

Final-Recipient: rfc822; bob@theirs.example
Disposition: automatic-action/MDN-sent-automatically; deleted
--b--
`
  t.equal(whatBecomes(Buffer.from(mdn), 'bob@theirs.example'), 'none')
})

t.test('warnings of five servers fail nothing', async t => {
  const warnings = [
    'THIS IS A WARNING MESSAGE ONLY. YOU DO NOT NEED TO RESEND YOUR MESSAGE.\nDelivery to the following recipient has been delayed:\n\n  bob@theirs.example\n\n450 4.2.2 Mailbox full',
    'A message that you sent has not yet been delivered to one or more of its recipients after more than 24 hours.\n\n  bob@theirs.example\n    host mx: 550 5.1.1 is what it may end with',
    'Your message has been delayed and is still waiting to be sent to bob@theirs.example. We will keep trying for 3 days.',
    'This is only a notification about a delay in the delivery of your message.\nThe following recipients have not yet received it:\n\nbob@theirs.example\n\nThe server will continue trying for up to 21 hours.',
    'could not be delivered to the following recipients:\n\nbob@theirs.example\n\nDelivery attempts will continue to be made for 5 day(s).',
  ]
  for (const [index, text] of warnings.entries()) {
    for (const subject of [
      'Delivery Status Notification (Delay)',
      'Mail delivery failed',
      'Warning: could not send',
    ]) {
      const raw = `From: MAILER-DAEMON@mx.theirs.example\nSubject: ${subject}\n\n${text}\n`
      t.equal(
        whatBecomes(Buffer.from(raw.replaceAll('\n', '\r\n')), 'bob@theirs.example'),
        'none',
        `${index}: ${subject}`,
      )
    }
  }
})

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url))
const skip = existsSync(corpora) ? false : 'the corpora are not here'
/** These are bounces. */
const bounces = /\/bounce\/|multipart_report_emails|delivery-status\.eml$/

t.test('nor does real mail that is none', { skip }, async t => {
  const files = globSync(`${corpora}{mime-torture,reply-parsing,threading,dkim}/**/*`).filter(
    file => statSync(file).isFile() && statSync(file).size < 2_000_000,
  )
  let count = 0
  for (const file of files) {
    if (bounces.test(file) || /\.(?:json|yml|pem|py)$|SOURCE|LICEN/.test(file)) continue
    const raw = readFileSync(file)
    const whole = /^[\w-]+:/.test(raw.toString('latin1'))
      ? raw
      : Buffer.concat([Buffer.from('From: bob@theirs.example\r\n\r\n'), raw])
    t.equal(whatBecomes(whole, 'bob@theirs.example'), 'none', file.slice(corpora.length))
    count++
  }
  t.ok(count > 300, `${count} messages`)
})
