import t from 'tap'
import { findLinks } from '../../../lib/mail/text/links.ts'
import { findOtp } from '../../../lib/mail/text/otp.ts'
import { findSignInLink } from '../../../lib/mail/text/sign-in-link.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const filled = (length: number) => 'word '.repeat(length).slice(0, length)
const written = [
  ...[
    '123',
    '1234',
    '12345678',
    '123456789',
    '12 34',
    '12-34-56',
    '12 34 56 78',
    '123 456',
    '1234-5678',
    '123-45-67',
  ],
  ...['1 2 3', '1 2 3 4', '1 2 3 4 5 6 7 8', '1 2 3 4 5 6 7 8 9', '2026', '1999', '2100', '1111', '0000'],
  ...[
    'A1B2',
    'AB12-CD34',
    'A1-B2-C3',
    'ABC-DEF',
    'ABCD-EFG',
    'aB3dE6',
    'ab12c',
    'ABCDE',
    'ABCDEFGHI',
    'G-123456',
  ],
  ...[
    'correct-horse-battery',
    'EXPIRED',
    '١٢٣٤٥٦',
    '۱۲۳۴',
    '１２３４５６',
    '१२३४',
    '12‑34–56',
    '12\u200b3456',
  ],
  ...[
    '$1234',
    '1234 EUR',
    '1234%',
    '1234 minutes',
    '12.34',
    '12:34',
    'x1234',
    '1234-x',
    '#1234',
    '"123456"',
    '**1234**',
  ],
]
const around: readonly ((code: string) => string)[] = [
  code => `Your verification code is ${code}.`,
  code => `Your code: ${code}`,
  code => `${code} is your code`,
  code => `${code} is your security code to sign in`,
  code => `Your login code\n\n${code}\n\nends soon`,
  code => `The code\n${code}\nThe code`,
  code => `Enter ${code} to sign in.`,
  code => `Please use ${code} for all of it.`,
  code => `Promo code: ${code}`,
  code => `Order number ${code}, your code`,
  code => `Never tell anyone ${code}, your code`,
  code => `20% off with the code ${code}`,
  code => `${code}`,
]
const distances = [
  18, 19, 20, 28, 29, 30, 31, 38, 39, 40, 41, 57, 58, 59, 60, 61, 62, 79, 80, 81, 115, 116, 117, 118, 119,
  120, 121, 122, 198, 199, 200, 201, 247, 248, 249, 250, 251, 252,
]
const apart: readonly ((between: string) => string)[] = [
  between => `Your verification code ${between} is 482913.`,
  between => `Your verification code ${between} 482913 ends`,
  between => `Your code ${between} is 482913.`,
  between => `482913 ${between} verification code`,
  between => `482913 is ${between} code`,
  between => `Your verification code\n${between}\n482913\n`,
  between => `Your code\n${between}\n482913\n`,
  between => `Your login code\n${' '.repeat(between.length)}482913${' '.repeat(between.length)}\n`,
  between => `10% off ${between} code is A1B2C3`,
  between => `Enter 482913 ${between} to sign in`,
]
const several = [
  'Your code is 1234. Your code is 5678.',
  'Your code is 1234. Your code is 12 34.',
  'Your verification code is 1234. The code is 5678.',
  'Enter 1234 to sign in. Enter 5678 to sign in.',
  'Enter 1234 to sign in. Enter 1234 to confirm.',
  'Your verification code. It is 1234.',
  'Your verification code\n\nis 1234',
  ...[19_990, 20_000, 20_010].map(length => `${filled(length)} code is 482913`),
]

t.test('the code that is found in each form, around each, and as far from its name', async t => {
  const otp = (text: string) => `${findOtp({ subject: '', text })}`
  const bySubject = (subject: string) => `${findOtp({ subject, text: 'Hello.' })}`
  sameFacts(t, 'codes', [
    ...around.map(
      (says): Facts => [says('…'), Object.fromEntries(written.map(one => [`${one} `, otp(says(one))]))],
    ),
    ...apart.map(
      (says): Facts => [
        says('…'),
        Object.fromEntries(distances.map(one => [`${one} `, otp(says(filled(one)))])),
      ],
    ),
    ...several.map((text): Facts => [`${text.length} ${text.slice(0, 60)}`, otp(text)]),
    ...[950, 970, 980, 990, 1000].map(
      (one): Facts => [`a subject of ${one}`, bySubject(`${filled(one)}code is 482913`)],
    ),
  ])
})

const token = 'a1b2c3d4e5f6a7b8'
const urls = [
  ...[`https://a.example/${token}`, `https://a.example/${token.slice(1)}`, `https://a.example/?t=${token}`],
  ...[
    `https://a.example/#t=${token}`,
    `https://a.example/x/${token}/y`,
    `https://a.example/${'a'.repeat(20)}`,
  ],
  ...[
    `https://a.example/${'1'.repeat(20)}`,
    `https://a.example/?a=1&b=${token}&c`,
    `HTTP://a.example/${token}`,
  ],
  ...[
    'https://a.example/(x)',
    'https://a.example/x).',
    'https://a.example/[x]]!',
    'https://a.example/((x)))]',
  ],
  ...[
    'https://',
    'http://[x',
    'ftp://a.example',
    'mailto:a@b',
    'https://a.example/，x',
    'https://a.example/*_~?',
  ],
  ...[1, 2].flatMap(more =>
    [2000, 2048, 4096, 8192].map(length => `https://a.example/${'x'.repeat(length - 19 + more)}`),
  ),
]
const linked: readonly ((url: string) => readonly [subject: string, text: string, html: string])[] = [
  url => ['Hello', `Sign in: ${url} It expires.`, ''],
  url => ['Sign in', `Here: (${url})`, ''],
  url => ['Hello', `Sign in: ${url}`, ''],
  url => ['Hello', `${url}, ${url}; it expires`, ''],
  url => ['Hello', `Sign in ${filled(185)} ${url} expires`, ''],
  url => ['Hello', `Sign in ${filled(195)} ${url} expires`, ''],
  url => ['Hello', 'It expires.', `<a href="${url}">Sign  in</a>`],
  url => ['Hello', 'It expires.', `<a href=" ${url} "><img alt="Log in"></a><a href="${url}">Help</a>`],
  url => ['Confirm', 'Text', `<a href="${url}">Unsubscribe</a><a href="https://b.example/${token}">Go</a>`],
  url => ['Confirm', 'Text', `<a href="${url}"></a><a href="${url}">Go</a><a href="${url}">On</a>`],
  url => [
    'Hello',
    'It expires.',
    `<a href="${url}">Confirm<a href="https://b.example/${token}">Confirm</a></a>`,
  ],
  url => ['Hello', 'It expires.', `<a href="${url}">${filled(3000)}</a>`],
]

t.test('the links that are found, and the one that signs in', async t => {
  const said = (subject: string, text: string, html: string) => {
    const links = findLinks({ text, html })
    return { links, found: findSignInLink({ subject, text, html, links }) }
  }
  const many = (count: number) => Array.from({ length: count }, (_, at) => `https://a.example/${at}`)
  sameFacts(t, 'links', [
    ...linked.map(
      (mail): Facts => [
        mail('…')
          .join(' | ')
          .slice(0, 150)
          .replace(/(word ?)+/, 'words ') + mail('').join('').length,
        urls.map(url =>
          JSON.stringify(said(...mail(url))).replace(
            /(.{1,5})\1{20,}/g,
            (all, one) => `${one}{${all.length}}`,
          ),
        ),
      ],
    ),
    ...[99, 100, 101, 199, 200, 201, 499, 500, 501, 1001].map(
      (count): Facts => [
        `${count} links`,
        [
          said('', many(count).join(' '), '').links.length,
          said(
            '',
            '',
            many(count)
              .map(url => `<a href="${url}">x</a>`)
              .join(''),
          ).links.length,
        ],
      ],
    ),
  ])
})
