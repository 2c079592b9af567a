import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readHeader } from '../../../lib/mail/header/header.ts'
import { classify } from '../../../lib/mail/message/automatic.ts'
import { manyTimes } from '../../support/hostile.ts'

const corpus = new URL('../../../../shared/corpora/bounces/messages/', import.meta.url)

interface Given {
  readonly header?: readonly string[]
  readonly mailFrom?: string
  readonly from?: string | null
  readonly subject?: string
  readonly otp?: string
  readonly text?: string
  readonly html?: string
  readonly calendarMethod?: string
}

const unasked = 'If you did not request this, ignore this email.'

function classified({
  header = [],
  mailFrom = 'ann@example.com',
  from = 'ann@example.com',
  ...more
}: Given): string {
  const section = readHeader(Buffer.from(`${header.join('\r\n')}\r\n\r\n`))
  const { category, autoReplyable, reason } = classify({
    header: section,
    mailFrom,
    from,
    ...more,
  })
  if (autoReplyable !== (category === 'personal'))
    throw new Error(`${category} and autoReplyable ${autoReplyable}`)
  return `${category} ${reason}`
}

t.test('by header and envelope', async t => {
  const cases: readonly (readonly [Given, string])[] = [
    [{}, 'personal nothing-automatic'],
    [{ header: ['Auto-Submitted: no'] }, 'personal nothing-automatic'],
    [{ header: ['Auto-Submitted: No (really)'] }, 'personal nothing-automatic'],
    [{ header: ['Precedence: first-class'] }, 'personal nothing-automatic'],
    [{ header: ['X-Auto-Response-Suppress: DR, RN, NRN'] }, 'personal nothing-automatic'],
    [{ header: ['X-Auto-Response-Suppress: None'] }, 'personal nothing-automatic'],
    [{ header: ['Content-Type: multipart/mixed; boundary=report-type'] }, 'personal nothing-automatic'],
    [{ from: 'noreplyanna@example.com' }, 'personal nothing-automatic'],
    [{ from: 'postmaster@example.com' }, 'personal nothing-automatic'],

    [{ header: ['Auto-Submitted: auto-generated'] }, 'automated auto-submitted'],
    [{ header: ['auto-submitted: Auto-Replied; owner-email="x"'] }, 'automated auto-replied'],
    [{ header: ['Auto-Submitted: auto-replied', 'Precedence: bulk'] }, 'automated auto-replied'],
    [{ header: ['Auto-Submitted: auto-generated', 'List-Id: <x>'] }, 'marketing list'],
    [{ header: ['X-Autoreply: yes', 'Precedence: bulk'] }, 'automated auto-reply-field'],
    [{ header: ['Precedence: auto_reply'] }, 'automated precedence-auto-reply'],
    [{ header: ['X-Auto-Response-Suppress: OOF, DR'] }, 'automated auto-response-suppress'],
    [{ header: ['X-Auto-Response-Suppress: All'] }, 'automated auto-response-suppress'],
    [{ mailFrom: '' }, 'automated null-reverse-path'],
    [{ from: null }, 'automated no-from'],
    [
      { header: ['Content-Type: multipart/report; report-type=feedback-report; boundary=x'] },
      'automated report',
    ],
    [
      { header: ['Content-Type: multipart/report;\r\n\treport-type="disposition-notification"'] },
      'automated report',
    ],
    ...[
      'no-reply',
      'noreply',
      'NoReply',
      'do-not-reply',
      'donotreply',
      'no_reply+abc',
      'noreply-orders',
      'notifications',
    ].map(name => [{ from: `${name}@example.com` }, 'automated no-reply-sender'] as const),
    [{ mailFrom: 'users-request@example.com' }, 'automated program-sender'],
    [{ mailFrom: 'owner-users@example.com' }, 'automated program-sender'],
    [{ from: 'LISTSERV@example.com' }, 'automated program-sender'],

    [{ header: ['List-Unsubscribe: <https://example.com/u>'] }, 'marketing list'],
    [{ header: ['List-ID: Users <users.example.com>'] }, 'marketing list'],
    [{ header: ['Precedence: bulk'] }, 'marketing bulk'],
    [{ header: ['Precedence: Junk'] }, 'marketing bulk'],

    [
      { header: ['Content-Type: multipart/report; boundary=x; report-type="Delivery-Status"'], mailFrom: '' },
      'bounce delivery-status',
    ],
    [{ header: ['X-Failed-Recipients: x@example.org'] }, 'bounce failed-recipients'],
    [{ mailFrom: '', from: 'MAILER-DAEMON@example.com' }, 'bounce mailer-daemon'],
    [{ mailFrom: '', from: 'postmaster@example.com' }, 'bounce mailer-daemon'],
  ]
  for (const [given, want] of cases) t.equal(classified(given), want, JSON.stringify(given))
})

t.test('by subject', async t => {
  const cases: Record<string, readonly string[]> = {
    'automated one-time-code': [
      '123456 is your Example verification code',
      'G-123456 is your Google verification code',
      'Your verification code',
      'Your Example login code is 123456',
      'Your one-time password',
      '[Example] Your security code',
      'Example: your sign-in code',
      'Verification code: 492013',
      'Please confirm your email address',
      'Verify your account',
      'Reset your password',
      'Password reset request',
    ],
    'automated receipt': [
      'Your receipt from Example, Inc. #1234-5678',
      'Payment receipt for your order',
      'Your receipt for order 1234',
      'Your Tuesday Rides receipt',
      'Receipt #2041',
      'Order confirmation #1234',
      'Your order 1234 has shipped',
      'Your Example.com order of "Socks" has been dispatched',
    ],
    'automated absence-notice': [
      'Automatic reply: Hello',
      'Out of Office: Hello',
      'Abwesenheitsnotiz: Hallo',
    ],
    'personal nothing-automatic': [
      '',
      'Hello',
      'Re: Your verification code',
      'AW: Order confirmation #1234',
      'Can you review the access code?',
      'Your code review comments',
      'Please check your login page',
      'My office is out of paper',
      'Receipts from our trip',
      'Your lost receipts',
      'Receipt',
      'Order of the day',
      'You were out of office yesterday',
      'Invoice 2025-11',
      'Is your 2019 password policy still valid?',
    ],
  }
  for (const [want, subjects] of Object.entries(cases)) {
    for (const subject of subjects) {
      t.equal(classified({ subject, text: unasked }), want, `"${subject}"`)
      const isAbsence = want === 'automated absence-notice'
      t.equal(classified({ subject }), isAbsence ? want : 'personal nothing-automatic', `"${subject}" alone`)
    }
  }
  t.equal(
    classified({ header: ['Subject: Your verification code'], text: unasked }),
    'automated one-time-code',
    'from the field',
  )
  t.equal(classified({ subject: 'Welcome', otp: '482913', text: unasked }), 'automated one-time-code-in-text')
  t.equal(
    classified({ subject: 'Re: Welcome', otp: '482913', text: unasked }),
    'personal nothing-automatic',
    'an answer',
  )
  t.equal(
    classified({ subject: 'Your verification code', header: ['List-Unsubscribe: <x>'] }),
    'automated one-time-code',
    'also when it carries the marks of bulk mail',
  )
  t.equal(classified({ subject: 'your '.repeat(manyTimes) }), 'personal nothing-automatic')
})

t.test('what people write is answered, whatever numbers and subjects it has', async t => {
  for (const [subject, text, otp] of [
    ['Receipt from last week', 'Could you send me the receipt from last week?'],
    ['Order confirmation missing - please help', 'I got no confirmation.'],
    ['Payment received?', 'Hi, did you get my payment?'],
    ['Your order was confirmed but never shipped', 'Where is it?'],
    ['Bestellbestätigung fehlt', 'Ich habe keine erhalten.'],
    ['Your security code lock', 'We would like a quote.'],
    ['2FA', 'my verification code 882314 does not work', '882314'],
    ['Your verification code', 'What is this? I got it three times.'],
  ] as const) {
    t.equal(classified({ subject, text, ...(otp && { otp }) }), 'personal nothing-automatic', subject)
  }
  const form = ['Reply-To: visitor@example.net']
  t.equal(classified({ from: 'wordpress@example.com', header: form }), 'personal nothing-automatic', 'a form')
  const ses = ['Feedback-ID: 1.eu-west-1.x:AmazonSES']
  t.equal(classified({ header: ses }), 'personal nothing-automatic', 'people write through Amazon SES')
  t.equal(classified({ header: ['X-Autogenerated: Forward'] }), 'personal nothing-automatic', 'passed on')
})

t.test('a code or a receipt with a sign of a program is of a program', async t => {
  const table = '<table width="600"><tr><td>x</td></tr></table>'
  for (const sign of [
    { text: unasked },
    { text: 'Dies ist eine automatisch generierte E-Mail.' },
    { text: 'このメールは送信専用です。' },
    { html: table },
    { mailFrom: 'bounces+123-ab-ann=example.com@em.shop.example' },
    { mailFrom: '0100018f-1@eu-west-1.amazonses.com' },
    { from: 'orders@shop.example' },
    { header: ['Feedback-ID: 1.eu-west-1.x:AmazonSES'] },
  ]) {
    const said = JSON.stringify(sign)
    t.equal(classified({ subject: 'Order #1882 confirmed', ...sign }), 'automated receipt', said)
    t.equal(classified({ subject: 'Ihre Bestellung 1882', ...sign }), 'automated receipt', said)
    t.equal(classified({ subject: 'Your verification code', ...sign }), 'automated one-time-code', said)
    t.equal(classified({ subject: 'Hi', otp: '482913', ...sign }), 'automated one-time-code-in-text', said)
    t.equal(classified({ subject: 'Hi', ...sign }), 'personal nothing-automatic', `${said} alone`)
  }
})

t.test('absences, no-reply names and calendar replies are known in many languages', async t => {
  for (const subject of [
    'Automatyczna odpowiedź: Zamówienie',
    '自動応答: 注文',
    'Otomatik Yanıt: Sipariş',
    'Réponse automatique : Bonjour',
    'Automatische Antwort: Hallo',
    '자동 회신: 안녕하세요',
    'Отсутствие на рабочем месте',
    'Automatikus válasz: Helló',
    'Bob Smith is out of the office (returning 12/01/2026)',
    'AUTO: Bob Smith is out of the office.',
  ])
    t.equal(classified({ subject }), 'automated absence-notice', subject)
  t.equal(classified({ subject: 'Bob is out of the office, can you help?' }), 'personal nothing-automatic')
  for (const name of [
    ...['nicht-antworten', 'ne-pas-repondre', 'no_responder', 'nao-responda', 'non.rispondere', 'svara-ej'],
    ...['niet-beantwoorden', 'ala-vastaa', 'nie-odpowiadaj', 'neodpovidat', 'ne-valaszolj', 'nu-raspunde'],
    ...['ne-otvechat', 'yanitlama', 'jangan-balas', 'shop-noreply', 'ne-pas-répondre', 'svar-ikke'],
  ])
    t.equal(classified({ from: `${name}@example.com` }), 'automated no-reply-sender', name)
  t.equal(classified({ calendarMethod: 'REPLY' }), 'automated calendar-reply')
  t.equal(classified({ calendarMethod: 'REQUEST' }), 'personal nothing-automatic', 'an invitation')
  for (const field of [
    'X-AutoReply-From: x',
    'X-Autogenerated: Reply',
    'X-Autoresponse: y',
    'X-Mail-Autoreply: y',
  ])
    t.equal(classified({ header: [field] }), 'automated auto-reply-field', field)
  t.equal(classified({ header: ['Feedback-ID: 1:app:mailgun'] }), 'automated feedback-id')
  t.equal(classified({ from: 'wordpress@example.com' }), 'automated server-sender')
})

t.test(
  'real bounces are no mail to answer',
  { skip: existsSync(corpus) ? false : 'the corpora are not here' },
  async t => {
    const counts = { bounce: 0, other: 0 }
    for (const name of readdirSync(corpus)) {
      const header = readHeader(readFileSync(new URL(name, corpus)))
      const from = /[^\s<>"]+@[^\s<>"]+|mailer-daemon/i.exec(
        header.fields.find(f => f.lowerName === 'from')?.value ?? '',
      )
      const { category, autoReplyable } = classify({ header, mailFrom: '', from: from?.[0] ?? null })
      t.equal(autoReplyable, false, name)
      counts[category === 'bounce' ? 'bounce' : 'other']++
    }
    t.comment(counts)
    t.ok(counts.bounce > 3 * counts.other, 'most are known as bounces')
  },
)
