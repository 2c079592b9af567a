import t from 'tap'
import { canonicalField, relaxedBodyHash } from '../../../lib/mail/compose/canonical.ts'
import { composeMessage, type MessageParts } from '../../../lib/mail/compose/compose.ts'
import { selectFields } from '../../../lib/mail/compose/dkim.ts'
import { withForwarded } from '../../../lib/mail/compose/forward.ts'
import { lookalikes } from '../../../lib/mail/compose/lookalikes.ts'
import { withQuote } from '../../../lib/mail/compose/quote.ts'
import {
  composeStatusNotice,
  type StatusNotice,
  type ToldRecipient,
} from '../../../lib/mail/compose/status-notice.ts'
import { mendSubmitted } from '../../../lib/mail/compose/submitted.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const parts: MessageParts = {
  id: '0192f3a0-0000-7000-8000-000000000001',
  messageIdDomain: 'example.com',
  date: new Date('2026-11-03T08:05:59Z'),
  from: { address: 'ann@example.com', name: 'Ann' },
  to: [{ address: 'bob@example.net', name: '' }],
  cc: [],
  replyTo: null,
  subject: 'Hello',
  text: 'Hello Bob\n',
  html: null,
  inReplyTo: null,
  references: [],
  attachments: [],
  autoSubmitted: false,
}

const file = (filename: string, contentType: string, content: string | Buffer) => ({
  filename,
  contentType,
  content: Buffer.from(content),
})
const names = [
  'Ann',
  'Lee, Ann',
  'Ann "A" Lee',
  'Jürgen',
  'Löwe, PhD',
  '漢字',
  `${'very '.repeat(30)}long`,
  'ü'.repeat(80),
  'a\r\nBcc: x@y.example',
  ' ',
  "O'Neil",
  'a@b',
  'x\\y',
]
const subjects = [
  '',
  ' ',
  'Größe',
  `${'word '.repeat(40)}`,
  'x'.repeat(200),
  'ü'.repeat(100),
  '=?utf-8?Q?x?=',
  'a\r\nBcc: x',
  'a\tb',
  'Re: [x] y',
  '😀'.repeat(30),
  'a'.repeat(77),
  `${'a'.repeat(60)} ü`,
]
const texts = [
  '',
  '\n',
  'one\r\ntwo\rthree\nfour',
  '.\n..\n',
  'From here\n',
  'x'.repeat(1000),
  'ü'.repeat(300),
  'trailing  \n\t\n',
  '-- \nAnn',
  'a\0b',
  '\ud800',
  '=41 = \n',
  'a\u2028b',
]

const shapes: Readonly<Record<string, Partial<MessageParts>>> = {
  plain: {},
  ...Object.fromEntries(
    names.map(name => [`from ${name.slice(0, 40)}`, { from: { address: 'ann@example.com', name } }]),
  ),
  'from nobody': { from: { address: 'ann@example.com', name: null } },
  ...Object.fromEntries(
    subjects.map((subject, at) => [`subject ${at} ${subject.slice(0, 40)}`, { subject }]),
  ),
  ...Object.fromEntries(texts.map((text, at) => [`text ${at}`, { text }])),
  'many people': {
    to: Array.from({ length: 12 }, (_, at) => ({
      address: `person.number.${at}@example.net`,
      name: at % 2 ? names[at]! : '',
    })),
  },
  'odd addresses': {
    to: [
      '"a b"@example.net',
      'a+b@example.net',
      'jürgen@example.net',
      'x@bücher.example',
      'none',
      'a@[192.0.2.1]',
      '"<>"@example.net',
    ].map(address => ({ address, name: '' })),
  },
  nobody: { to: [], cc: [] },
  'copies and answers': { cc: [{ address: 'eve@example.org', name: 'Eve' }], replyTo: 'list@example.com' },
  'an answer': { inReplyTo: 'a@b', references: ['<x@y>', 'a@b', 'nonsense here', '<c@d>'] },
  'a long chain': {
    references: Array.from({ length: 60 }, (_, at) => `<${at}.${'x'.repeat(30)}@example.com>`),
  },
  'by a program': { autoSubmitted: true },
  html: { html: '<p>Grüße</p>' },
  'html alone': { text: '', html: '<p>x</p>' },
  'a file': { attachments: [file('a.txt', 'text/plain', 'one\ntwo\r')] },
  files: {
    html: '<p>x</p>',
    attachments: [
      file('ü.pdf', 'application/pdf', '%PDF'),
      file('', 'image/png', 'PNG'),
      file('a"b\\c.txt', 'text/plain; charset=utf-8', ''),
      file('x\r\ny', 'nonsense', 'z'),
      file(`${'n'.repeat(200)}.doc`, 'application/msword', 'd'),
    ],
  },
  'a message': {
    attachments: [file('m.eml', 'message/rfc822', 'From: a@b.example\r\nSubject: x\r\n\r\nbody\r\n')],
  },
  'a message with 8-bit data': { attachments: [file('m.eml', 'message/rfc822', 'Subject: ü\r\n\r\nä\r\n')] },
  'a message with long lines': {
    attachments: [file('m.eml', 'message/rfc822', `Subject: x\r\n\r\n${'x'.repeat(1200)}\r\n`)],
  },
}

/** Boundaries are others at each run. */
function lines(raw: Buffer): string[] {
  const found = new Map<string, string>()
  const text = raw.toString('utf8').replace(/=_[\w.-]+?(?=--\r|\r|"|$)/gm, name => {
    if (!found.has(name)) found.set(name, `<boundary ${found.size + 1}>`)
    return found.get(name)!
  })
  return text.split('\r\n')
}

t.test('messages as they are made', async t => {
  const facts: Facts[] = []
  for (const [title, more] of Object.entries(shapes))
    facts.push([title.replace(/[\r\n]/g, ' '), lines((await composeMessage({ ...parts, ...more })).raw)])
  sameFacts(t, 'composed', facts)
})

const date = new Date('2026-11-03T08:05:59Z')

t.test('quotes, forwards, notices and what is submitted', async t => {
  const from = { address: 'bob@example.net', name: 'Bob' }
  const bodies = [
    { text: 'Yes.\n', html: null },
    { text: '', html: null },
    { text: 'Yes.', html: '<p>Yes.</p>' },
    { text: 'Yes.', html: '<html><body><p>Yes.</p></body></html>' },
    { text: 'Yes.', html: '<p>Yes.</p></BODY >' },
    { text: 'Yes.', html: '<p></html>' },
  ]
  const quoted = [
    { text: 'one\n\n> two\nthree\n\n', html: null, date, from },
    {
      text: '',
      html: '<p>one</p><script>x</script><b>two',
      date,
      from: { address: 'b@x.example', name: null },
    },
    { text: 'a\rb\r\nc', html: '', date, from: { address: 'b@x.example', name: ' \r\n ' } },
    { text: 'x'.repeat(200_000), html: null, date, from },
  ]
  const original = {
    to: [from, { address: 'c@x.example', name: '' }],
    cc: [] as (typeof from)[],
    subject: 'Plan\r\nx',
  }
  const recipient: ToldRecipient = {
    action: 'failed',
    recipient: 'bob@example.net',
    originalRecipient: null,
    status: '5.1.1',
    code: 550,
    text: 'no such user',
    remoteHost: 'mx.example.net',
    triedAt: '2026-11-03T08:00:00.000Z',
    willRetryUntil: null,
  }
  const notice: StatusNotice = {
    hostname: 'mail.ours.example',
    to: 'ann@ours.example',
    date,
    messageId: '<n@ours.example>',
    boundary: 'bound',
    recipients: [recipient],
    envelopeId: null,
    original: {
      messageId: '<m@ours.example>',
      subject: 'Plan',
      arrivedAt: '2026-11-03T07:00:00.000Z',
      returned: { isWhole: false, bytes: Buffer.from('Subject: Plan\r\n\r\n') },
    },
  }
  const notices: Readonly<Record<string, StatusNotice>> = {
    failed: notice,
    delayed: {
      ...notice,
      recipients: [
        {
          ...recipient,
          action: 'delayed',
          status: '4.4.1',
          code: null,
          remoteHost: null,
          text: 'no answer',
          willRetryUntil: '2026-11-08T08:00:00.000Z',
        },
      ],
    },
    relayed: { ...notice, recipients: [{ ...recipient, action: 'relayed', status: '2.0.0' }] },
    delivered: {
      ...notice,
      envelopeId: 'a b+c=d',
      recipients: [
        {
          ...recipient,
          action: 'delivered',
          status: '2.0.0',
          originalRecipient: 'rfc822;Bob+2B@example.net',
        },
      ],
    },
    several: {
      ...notice,
      recipients: [
        recipient,
        { ...recipient, recipient: 'carl@example.org', action: 'delayed', status: '4.2.2' },
      ],
    },
    'all of it': {
      ...notice,
      original: {
        ...notice.original,
        messageId: null,
        subject: 'Grüße\r\nx',
        returned: { isWhole: true, bytes: Buffer.from('Subject: Grüße\r\n\r\nä\r\n') },
      },
    },
    global: { ...notice, recipients: [{ ...recipient, recipient: 'jürgen@example.net', text: 'nö' }] },
  }
  const letter = 'From: Ann <ann@ours.example>\r\nTo: bob@example.net\r\nSubject: x\r\n\r\nHello\r\n'
  const submitted = [
    letter,
    `Date: Mon, 2 Nov 2026 09:41:05 +0100\r\nMessage-ID: <mine@x>\r\nBcc: eve@example.org\r\n${letter}`,
    `Return-Path: <x@y.example>\r\nResent-Bcc: a@b.example\r\n${letter}`,
    `Reply-To: list@example.org\r\nCc: "c@d.example" <e@f.example> (g@h.example)\r\n${letter}`,
    `Reply-To: a@b.example c@d.example\r\n${letter}`,
    `Message-ID: nonsense\r\nDate: nonsense\r\n${letter}`,
    `Date: a\r\nDate: b\r\n${letter}`,
    letter.replace('ann@ours', 'eve@ours'),
    letter.replace('From: ', 'From : '),
    letter.replace('Subject: x', 'Subject: x\r\n folded\r\n\tmore'),
    letter.replaceAll('\r\n', '\n'),
    `${letter.slice(0, -9)}`,
    `Sender: eve@example.org\r\n${letter}`,
    `List-Post: <mailto:l@example.org>\r\nX-Copies-To: z@example.org\r\nDisposition-Notification-To: n@example.org\r\n${letter}`,
    `X: ${'y'.repeat(300_000)}\r\n${letter}`,
    '',
  ]
  const mending = {
    author: 'ann@ours.example',
    messageId: '<made@ours.example>',
    date,
    received: 'Received: by us\r\n',
  }
  const fields = ['A: X\r\n', 'B : Y\t\r\n\tZ  \r\n', 'Subject: =?utf-8?Q?x?=  y\r\n', 'C:\r\n', 'd:e\r\n f']
  const written =
    'From: a\r\nTo: b\r\nSubject: c\r\nX-Own: d\r\nDate: e\r\nReceived: f\r\nFrom: g\r\nList-Id: h\r\nContent-Type: i\r\n'.split(
      /(?<=\r\n)/,
    )
  sameFacts(t, 'composed-around', [
    ...bodies.flatMap((body, at) =>
      quoted.map((previous, other): Facts => [`body ${at}, quote ${other}`, withQuote(body, previous)]),
    ),
    ...bodies.flatMap((body, at) =>
      quoted.map(
        (previous, other): Facts => [
          `body ${at}, forward ${other}`,
          withForwarded(body, {
            ...original,
            ...previous,
            from: { address: previous.from.address, name: previous.from.name ?? '' },
            cc: other === 0 ? [from] : [],
          }),
        ],
      ),
    ),
    ...Object.entries(notices).map(
      ([title, one]): Facts => [`notice ${title}`, composeStatusNotice(one).toString().split('\r\n')],
    ),
    ...submitted.map((one, at): Facts => [`submitted ${at}`, mendSubmitted(Buffer.from(one), mending)]),
    ...fields.map(
      (field): Facts => [
        `field ${JSON.stringify(field)}`,
        (['simple', 'relaxed'] as const).map(form => canonicalField(field, form)),
      ],
    ),
    [
      'body hashes',
      await Promise.all(
        ['', '\r\n', 'a', 'a\r\n', 'a \t b\r\n\r\n\r\n', ' a\r\n \r\n'].map(body =>
          relaxedBodyHash(Buffer.from(body)),
        ),
      ),
    ],
    ['signed fields', selectFields(written)],
    ['signed fields, and more', selectFields(written, ['x-own', 'nothing'])],
    ...['ann@example.com', 'a@b', 'a b', 'x＠y.example', '"a@b"@c', ''].map(
      (text): Facts => [`like ${text}`, lookalikes(text)],
    ),
  ])
})
