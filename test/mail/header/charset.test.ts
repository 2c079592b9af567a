import t from 'tap'
import { decodeText } from '../../../lib/mail/header/charset.ts'
import { loadCharsetGuess } from '../../../lib/mail/header/charset-guess.ts'
import { decodeWords } from '../../../lib/mail/header/encoded-word.ts'
import { readParameters } from '../../../lib/mail/header/parameters.ts'
import { readMessage } from '../../../lib/mail/message/read.ts'

const guess = await loadCharsetGuess()

/** What each character is in a charset of one or two bytes: the other way round than TextDecoder goes. */
const encoders = new Map<string, Map<string, Buffer>>()
function encoderOf(charset: string): Map<string, Buffer> {
  const known = encoders.get(charset)
  if (known) return known
  const decoder = new TextDecoder(charset)
  const bytes = new Map<string, Buffer>()
  const add = (buffer: Buffer) => {
    const text = decoder.decode(buffer)
    if ([...text].length === 1 && text !== '\ufffd' && !bytes.has(text)) bytes.set(text, buffer)
  }
  for (let one = 0; one < 256; one++) add(Buffer.from([one]))
  for (let first = 128; first < 256; first++)
    for (let second = 0x30; second < 256; second++) add(Buffer.from([first, second]))
  encoders.set(charset, bytes)
  return bytes
}
const encode = (text: string, charset: string) =>
  charset === 'utf-8'
    ? Buffer.from(text)
    : Buffer.concat([...text].map(character => encoderOf(charset).get(character)!))

/** Short texts as people write them. */
const texts: Record<string, readonly string[]> = {
  'windows-1252': [
    'Grüße aus Köln',
    'Voilà le résumé demandé, à bientôt',
    'Preço: 5 € – até amanhã',
    'Señor Muñoz: ¿Qué pasa?',
    'Där är ett fel på sidan, hälsningar Åsa',
    'The price is £20 – “final”',
    'Grüße € 5 – “ja”',
    'Größe?',
    'Müßt ihr nicht?',
  ],
  'iso-8859-2': [
    'Dobrý den, žádám o potvrzení',
    'Děkuji za zprávu, přeji hezký den',
    'Proszę o potwierdzenie spotkania, dziękuję',
  ],
  'koi8-r': [
    'Добрый день, высылаю договор на подпись.',
    'С уважением, Иван Петров',
    'Пожалуйста, подтвердите встречу завтра',
  ],
  'windows-1251': [
    'Добрый день, высылаю договор на подпись.',
    'С уважением, Иван Петров',
    'Ваш заказ отправлен',
  ],
  shift_jis: ['お世話になっております。', '添付の請求書をご確認ください。', '明日の会議は10時からです'],
  'euc-jp': ['お世話になっております。', '添付の請求書をご確認ください。', '明日の会議は10時からです'],
  gb18030: ['请查收附件中的发票，谢谢。', '明天上午十点开会', '您的订单已发货'],
  big5: ['請查收附件中的發票，謝謝。', '明天上午十點開會', '您的訂單已出貨'],
  'euc-kr': ['첨부된 송장을 확인해 주세요.', '내일 오전 10시에 회의가 있습니다', '감사합니다'],
  'utf-8': ['Grüße', 'Привет', 'こんにちは', '你好', 'Zażółć gęślą'],
}

const read = (body: Buffer, fields: string) =>
  readMessage(
    Buffer.concat([Buffer.from(`From: a@example.com\r\n${fields}\r\n`), body, Buffer.from('\r\n')]),
    guess,
  )

t.test('8-bit text without a charset, or with one that it is not', async t => {
  for (const [what, fields] of [
    ['none', ''],
    ['us-ascii', 'Content-Type: text/plain; charset=us-ascii\r\n'],
    ['utf-8', 'Content-Type: text/plain; charset=utf-8\r\n'],
    ['one that nobody knows', 'Content-Type: text/plain; charset=x-nobody\r\n'],
    ['unknown-8bit', 'Content-Type: text/plain; charset=unknown-8bit\r\n'],
  ]) {
    let right = 0
    const wrong: string[] = []
    for (const [charset, list] of Object.entries(texts)) {
      for (const text of list) {
        const found = read(encode(text, charset), fields!).text.trim()
        t.notMatch(found, '\ufffd', `${charset} as ${what}`)
        if (found === text) right++
        else wrong.push(`${charset}: ${text} as ${found}`)
      }
    }
    const all = Object.values(texts).flat().length
    t.comment(`${what}: ${right} of ${all}`, wrong)
    t.ok(right >= 0.9 * all, wrong.join('\n'))
  }
})

t.test('what is said, and can be, is believed', async t => {
  for (const [charset, list] of Object.entries(texts)) {
    for (const text of list) {
      const { lacksGuess, text: found } = readMessage(
        Buffer.concat([
          Buffer.from(`Content-Type: text/plain; charset=${charset}\r\n\r\n`),
          encode(text, charset),
        ]),
      )
      t.same([found, lacksGuess], [text, false], charset)
    }
  }
})

t.test('what is said is believed where a little of it is cut off', async t => {
  for (const charset of ['shift_jis', 'gb18030', 'big5']) {
    const whole = texts[charset]![1]!
    // The beginning of a character that does not come to its end.
    const cut = Buffer.concat([encode(whole, charset), Buffer.from([0x88])])
    const fields = `Content-Type: text/plain; charset=${charset}\r\n`
    t.equal(
      readMessage(Buffer.concat([Buffer.from(`${fields}\r\n`), cut]), guess).text.trim(),
      `${whole}\ufffd`,
    )
  }
})

t.test('only <meta> says it', async t => {
  const html = (charset: string) => `<html><head><meta charset="${charset}"></head><body>`
  for (const [fields, charset, text] of [
    ['Content-Type: text/html\r\n', 'koi8-r', 'Да'],
    ['Content-Type: text/html; charset=us-ascii\r\n', 'iso-8859-2', 'Ž'],
    ['Content-Type: text/html\r\n', 'shift_jis', 'はい'],
  ] as const) {
    const body = Buffer.concat([Buffer.from(html(charset)), encode(text, charset)])
    t.equal(read(body, fields).text, text, charset)
  }
})

t.test('ISO-2022-JP that is not said', async t => {
  t.equal(read(Buffer.from('\x1b$B$3$s$K$A$O\x1b(B'), '').text.trim(), 'こんにちは')
})

t.test('UTF-8 with single bytes of windows-1252 in it has no U+FFFD', async t => {
  const body = Buffer.concat([Buffer.from('Grüße, Привет, '), Buffer.from([0xe9, 0x20, 0x80, 0x21])])
  t.equal(read(body, 'Content-Type: text/plain; charset=utf-8\r\n').text.trim(), 'Grüße, Привет, é €!')
})

t.test('without a detector it is said that one is missing', async t => {
  const raw = Buffer.from('From: a@example.com\r\n\r\nGr\xfc\xdfe\r\n', 'latin1')
  const { text, lacksGuess } = readMessage(raw)
  t.same([text.trim(), lacksGuess], ['Grüße', true])
  t.equal(readMessage(raw, guess).lacksGuess, false)
})

t.test('bytes of a header that say no charset are windows-1252, around encoded words, too', async t => {
  const subjects = {
    '5 \x80 \x96 \x93ja\x94': '5 € – “ja”',
    'Gr\xfc\xdfe': 'Grüße',
    '\x80 =?utf-8?Q?=E2=82=AC?= \x80': '€ € €',
  }
  for (const [bytes, text] of Object.entries(subjects)) {
    const raw = Buffer.from(`From: a@example.com\r\nSubject: ${bytes}\r\n\r\nx\r\n`, 'latin1')
    t.equal(readMessage(raw, guess).subject, text)
    const named = Buffer.from(
      `From: ${bytes} <a@example.com>\r\nContent-Disposition: attachment; filename="${bytes}.txt"\r\n\r\nx\r\n`,
      'latin1',
    )
    const { from, attachments } = readMessage(named, guess)
    t.match([from?.name, attachments], [text, [{ filename: `${text}.txt` }]])
  }
})

t.test('UTF-8 with a stray byte in it is UTF-8, also where nothing is said of it', async t => {
  const bytes = Buffer.concat([Buffer.from('Grüße, Größe, '), Buffer.from([0xfc])])
  for (const charset of ['', 'us-ascii', 'utf-8', 'unknown-8bit'])
    t.equal(
      decodeText(bytes, charset, () => 'gbk'),
      'Grüße, Größe, ü',
      charset,
    )
})

t.test('Korean, Cantonese and the charsets of DOS and old Macs are read by every name they have', async t => {
  const named: readonly (readonly [hex: string, text: string, names: string])[] = [
    [
      '8c63b9e6b0a2c7cf',
      '똠방각하',
      'euc-kr ks_c_5601 ks_c_5601-1987 KSC5601 cp949 ms949 windows-949 x-windows-949 uhc',
    ],
    ['9deff9d6f9d8', '嘅碁裏', 'big5 big5-hkscs x-x-big5 csbig5 cp950 windows-950 big5hkscs'],
    ['c4e3bac3', '你好', 'windows-936 x-windows-936 ms936 cp936 gb2312 gb_2312-80'],
    ['477281e165', 'Grüße', 'cp850 ibm850 850 ibm437 cp437 437'],
    ['8c8f', 'ĆŹ', 'x-mac-ce x-mac-centraleurope'],
    ['1b2429430e3e4833670f', '안녕', 'iso-2022-kr csiso2022kr'],
    ['617e7e7e7b44633a437e7d', 'a~你好', 'hz-gb-2312 hz'],
    ['1b2429410e44633a430f', '你好', 'iso-2022-cn'],
  ]
  for (const [hex, text, names] of named) {
    for (const name of names.split(' ')) t.equal(decodeText(Buffer.from(hex, 'hex'), name), text, name)
  }
})

t.test(
  'UTF-8 under the label of another charset is UTF-8, and two letters that may be both are not',
  async t => {
    for (const name of 'iso-8859-2 windows-1251 koi8-r tis-620 macintosh cp850'.split(' ')) {
      for (const text of ['Müller', 'Привет', '日本語です'])
        t.equal(decodeText(Buffer.from(text), name), text, name)
    }
    for (const name of 'gb2312 big5 euc-kr shift_jis'.split(' ')) {
      for (const text of ['日本語です', '您的订单']) t.equal(decodeText(Buffer.from(text), name), text, name)
    }
    for (const [hex, name, text] of [
      ['c3b5', 'euc-kr', '천'],
      ['c3b6', 'tis-620', 'รถ'],
      ['c5a3', 'koi8-r', 'её'],
      ['6cd58e74756465', 'macintosh', 'l’étude'],
    ] as const)
      t.equal(decodeText(Buffer.from(hex, 'hex'), name), text)
  },
)

t.test('a name that was cut inside its last character loses that character alone', async t => {
  for (const [word, text] of [
    ['=?utf-8?B?5pel5pys6Kqe5pel5pw=?=', '日本語日'],
    ['=?utf-8?Q?Gr=C3?=', 'Gr'],
    ['=?utf-8?Q?=E6=97=A5=E6=9?=', '日'],
    ['=?utf-8?B?8J+YgPCfmA==?=', '😀'],
    ['=?gb2312?B?xOO6?=', '你'],
    ['=?euc-kr?B?vsiz?=', '안'],
    ['=?iso-2022-jp?B?GyRCRnxLXDg=?=', '日本'],
    // No beginning of a character, but a letter of Latin-1.
    ['=?utf-8?Q?Andr=E9?=', 'André'],
  ] as const)
    t.equal(decodeWords(word), text, word)
  for (const [value, text] of [
    ["UTF-8''%E6%97%A5%E6%9C", '日'],
    ["UTF-8''%E6%97%A5%E6%9", '日'],
    ["UTF-8''100%", '100%'],
    ["iso-8859-1''Andr%E9", 'André'],
  ] as const)
    t.equal(readParameters(`attachment; filename*=${value}`).parameters.filename, text, value)
})
