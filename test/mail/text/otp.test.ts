import t from 'tap'
import { codeNames, nameStems, weakStems } from '../../../lib/mail/text/code-words.ts'
import { findOtp } from '../../../lib/mail/text/otp.ts'
import { manyTimes } from '../../support/hostile.ts'

/** Subject, text, and the code in it: written by hand after mail of the kinds that programs send. */
const judged: readonly (readonly [subject: string, text: string, otp: string | null])[] = [
  // Codes.
  ['Your verification code', 'Your verification code is 482913.', '482913'],
  ['482913 is your verification code', 'It expires in 10 minutes.', '482913'],
  [
    'Sign in to Example',
    'Enter this code to sign in:\n\n  739 204\n\nThis code expires in 15 minutes.',
    '739204',
  ],
  ['Security alert', 'Your one-time passcode: 0042\nDo not share it.', '0042'],
  ['G-582910 is your Google verification code', 'Use G-582910 to verify.', '582910'],
  ['[GitHub] Please verify your device', 'Verification code: 81204477\n\nIf you did not…', '81204477'],
  ['Confirm your email', 'Here is your confirmation code:\n\nX7K9QP\n\nIt is valid for an hour.', 'X7K9QP'],
  ['Login', 'Your login code is\n\n*551-204*\n\nThanks', '551204'],
  ['Your code', 'Your code is: 2024', '2024'],
  ['Verify', 'Use the following code to finish: 99120. Questions? Call +1 555 010 9999.', '99120'],
  ['OTP', 'OTP for your transaction of $1250.00 is 640021. Valid for 3 minutes.', '640021'],
  ['Access', 'For order 83920, your security code is 771203.', '771203'],
  ['Ihr Bestätigungscode', 'Ihr Bestätigungscode lautet: 603918', '603918'],
  ['Anmeldung', '603918 ist Ihr Sicherheitscode für Beispiel.', '603918'],
  ['Code de vérification', 'Votre code de vérification est 120934. Il expire dans 10 minutes.', '120934'],
  ['Código', 'Tu código de verificación es: 884213', '884213'],
  ['Código', 'Seu código de segurança é 884213', '884213'],
  ['Codice', 'Il tuo codice di verifica è 330417', '330417'],
  ['Inloggen', 'Je verificatiecode: 118822', '118822'],
  ['Logowanie', 'Twój kod weryfikacyjny to 771920', '771920'],
  ['Вход', 'Ваш код подтверждения: 4821', '4821'],
  ['Giriş', 'Doğrulama kodunuz: 905512', '905512'],
  ['验证码', '【示例】您的验证码是 583920，5分钟内有效。', '583920'],
  ['登录', '583920（登录验证码），请勿泄露。', '583920'],
  ['認証', '認証コード：482019\n有効期限は10分です。', '482019'],
  ['인증', '인증번호는 [293847] 입니다.', '293847'],
  ['Mã', 'Mã xác minh của bạn là 665412', '665412'],
  ['رمز', 'رمز التحقق الخاص بك: 774411', '774411'],
  ['Verifiering', 'Din verifieringskod är 551872', '551872'],
  // None.
  ['Meeting in 2026', 'See you on 12 May 2026 at 14:30.', null],
  ['Security update 2025', 'We changed our security code of conduct in 2025.', null],
  ['Invoice 48291', 'Invoice 48291 of 2026-01-02: 1250.00 EUR', null],
  ['Your order', 'Your order number 482913 has shipped. Tracking code 99887766.', null],
  ['Sale', 'Use promo code SAVE20 or discount code 123456 at the checkout!', null],
  ['Address', 'Our zip code is 94107, call 555-0199 or 5550199.', null],
  ['Error', 'The build ended with error code 5001 after 12000 ms.', null],
  ['Hello', 'My number is 4155550134. Talk soon!', null],
  ['Price', 'Two for $1999 or 2499 EUR.', null],
  ['Sign in', 'Your verification code was sent to the phone ending in 1234.', null],
  ['Verify your email', 'Click https://example.com/verify/482913 to confirm. Copyright 2026 Example', null],
  ['Question', 'Where do I find the verification code? I looked in 2025 and 2026.', null],
  ['Set up', 'Enter the verification code from your app within 3600 seconds. Ticket #48213.', null],
  ['Codes', 'Your verification code is 111222. Or: your security code is 333444.', null],
  ['Receipt', 'Card **** 4242 was charged 1200 USD. Your PIN has changed.', null],
  ['Rechnung', 'Rechnung Nr. 20260117 über 1.250,00 € ist fällig.', null],
  ['Rabatt', 'Ihr Gutschein-Code: 123456', null],
  ['订单', '您的订单号是 583920，总价 1200 元。', null],
  ['Code review', 'Please review: the code is 4500 lines long.', null],
  ['2FA', 'Two-factor authentication is on since 2024. You have 1000 backup options.', null],
  ['', '', null],
]

t.test('a judged table of codes and of numbers that are none', async t => {
  for (const [subject, text, otp] of judged) t.equal(findOtp({ subject, text }), otp, `${subject} | ${text}`)
})

t.test('codes that let nobody in are none, and names of all languages are known', async t => {
  for (const text of [
    ...[
      'PIN code: 560001',
      'Pincode - 700016',
      'Customer code: 445566',
      'Reason code: 445566',
      'zip codes 90210',
    ],
    ...['Kundencode 445566', 'Codice cliente: 445566', 'Código de producto: 445566', 'Код товара: 445566'],
    ...[
      '商品コード：110293',
      '상품코드: 110293',
      'Ürün kodu: 445566',
      'קוד מוצר: 445566',
      'Kode barang: 445566',
    ],
    ...['Content-Transfer-Encoding: base64', 'Your reservation code is 445566', 'code: E1024'],
    ...['Meeting ID: 845 2231 9981\nPasscode: 441232', 'Dial-in: +49 30 1234567\nAccess code: 983726#'],
    ...[
      'The gate code is 4821#.',
      'The key box is left of the door, code is 4821.',
      'Access code for the office: 4821',
    ],
    'Could you please send me the activation code for licence 88213344?',
  ]) {
    t.equal(findOtp({ subject: 'Hello', text }), null, text)
  }
  for (const text of [
    'Customer code: 445566',
    'Codice cliente: 445566',
    'PIN code: 560001',
    '商品コード：110293',
  ])
    t.equal(findOtp({ subject: 'Hello', text, isFromProgram: true }), null, `${text} from a program`)
  for (const [text, otp] of [
    ['Одноразовый пароль: 829104', '829104'],
    ['Su clave de acceso es 551209', '551209'],
    ['Contraseña de un solo uso: 551209', '551209'],
    ['Senha de uso único: 448719', '448719'],
    ['Uw eenmalig wachtwoord is 448719', '448719'],
    ['Kertakäyttösalasana on 448719', '448719'],
    ['Hasło jednorazowe: 448719', '448719'],
    ['Jednorázové heslo: 448719', '448719'],
    ['Egyszeri jelszó: 448719', '448719'],
    ['Tek kullanımlık şifre: 448719', '448719'],
    ['認証コード：kT7pw', 'kT7pw'],
    ['Your verification code is 621\u2009940', '621940'],
    ['Your verification code is 62\u200b1940', '621940'],
    ['Hello,\n\n730561\n\nUse this code to finish.', '730561'],
    ['Tuesday 24 November 2026\n\n331845\n\nis the access code to your account.', '331845'],
    ['Ihre TAN für den Auftrag 88213 lautet 664209.', '664209'],
  ] as const) {
    t.equal(findOtp({ subject: 'Hello', text }), otp, text)
  }
  t.equal(findOtp({ subject: 'Hello', text: 'The code is 493021' }), null, 'a name of many things')
  t.equal(findOtp({ subject: 'Hello', text: 'The code is 493021', isFromProgram: true }), '493021')
  t.equal(findOtp({ subject: 'Hello', text: 'The code is 493021. It expires in 5 minutes.' }), '493021')
})

t.test(
  'a word that can mean a place hides no code of a program, unless its sentence is about that place',
  async t => {
    for (const text of [
      'Use 482913 as your Microsoft Office security code.',
      'Security code: 482913\n\nThe Alarm.com team',
      'Flatfair: your confirmation code is 482913',
      'Your access code is 482913. Do not share it.\nGuests team',
      'The access code that you requested for your office account is 482913.',
      'Ihr Zugangscode für das Tor-Netzwerk lautet 482913.',
      'Your access code is 482913.\n\nDoor Technologies Ltd',
      'Your sign-in code for the parking app is 482913.',
    ])
      t.equal(findOtp({ subject: 'Hello', text, isFromProgram: true }), '482913', text)
    for (const text of [
      'The access code for the front door is 482913.',
      'Access code for the building: 482913',
      'Access code for the office: 482913',
      'Der Zugangscode für das Tor lautet 482913.',
      'Dial-in: +49 30 1234567\nAccess code: 482913#',
      'Your reservation is complete, the confirmation code is 482913.',
    ])
      t.equal(findOtp({ subject: 'Hello', text, isFromProgram: true }), null, text)
  },
)

t.test('a code of letters alone ends the text, its line or its sentence', async t => {
  for (const [end, isCode] of [
    ...['', ' ', ' '.repeat(30), '"', '" ', '\n', '   \nx', '.', '. x', '!'].map(one => [one, true] as const),
    ...[' please', ' '.repeat(31), `${' '.repeat(39)}please`, ', x', '"" x'].map(
      one => [one, false] as const,
    ),
  ]) {
    const text = `Your verification code is: KWXZQP${end}`
    t.equal(findOtp({ subject: 'Sign in', text }), isCode ? 'KWXZQP' : null, JSON.stringify(end))
  }
})

t.test('whatever the text is, it is read in a moment', async t => {
  for (const part of [
    'verification code ',
    '1234 ',
    'A1-',
    '\n',
    'otp 1',
    'otp 1999. ',
    'otp A1B2C. x ',
    'otp\n1999 x\n',
  ]) {
    const text = part.repeat(manyTimes)
    // No more of it than a beginning is read, so it is read again and again.
    const found = part.startsWith('otp A1B2C') ? 'A1B2C' : null
    for (let count = 0; count < 10; count++) t.equal(findOtp({ subject: text, text }), found, part)
  }
})

t.test('every name of a code contains a stem, by which texts without codes are passed over', async t => {
  for (const name of [...weakStems, ...writtenOut(codeNames)])
    t.ok(
      nameStems.some(stem => name.toLowerCase().includes(stem)),
      name,
    )
})

/** All texts that a pattern of groups, alternatives, classes and `?` matches; of a range its first character, of lookaheads nothing. */
function writtenOut(pattern: string): string[] {
  let at = 0
  const alternatives = (): string[] => {
    const found = sequence()
    while (pattern[at] === '|') {
      at++
      found.push(...sequence())
    }
    return found
  }
  const sequence = (): string[] => {
    let found = ['']
    while (at < pattern.length && !'|)'.includes(pattern[at]!)) {
      let next = item()
      if (pattern[at] === '?') {
        next = ['', ...next]
        at++
      } else if (pattern[at] === '{') at = pattern.indexOf('}', at) + 1
      found = found.flatMap(before => next.map(one => before + one))
    }
    return found
  }
  const item = (): string[] => {
    const group = /^\(\?(?::|(<?[!=]))/.exec(pattern.slice(at))
    if (group) {
      at += group[0].length
      const inside = alternatives()
      at++
      return group[1] === undefined ? inside : ['']
    }
    if (pattern[at] === '[') {
      const end = pattern.indexOf(']', at)
      const letters = pattern.slice(at + 1, end)
      at = end + 1
      return /^.-.$/.test(letters) || /\w-\w/.test(letters) ? [letters[0]!] : [...letters]
    }
    if (pattern[at] === '\\') at++
    return [pattern[at++]!]
  }
  const found = alternatives()
  t.equal(at, pattern.length)
  return found
}
