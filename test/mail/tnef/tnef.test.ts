import fc from 'fast-check'
import t from 'tap'
import { openAttachment, openAttachments, readMessage, textBytesOf } from '../../../lib/mail/message/read.ts'
import { mimeParts } from '../../../lib/mail/message/uuencoded-files.ts'
import { storedBodyLength } from '../../../lib/mail/text/body-text.ts'
import { decompressRtf } from '../../../lib/mail/tnef/compressed-rtf.ts'
import { readRtf } from '../../../lib/mail/tnef/rtf.ts'
import { readTnef, textPartsBytes } from '../../../lib/mail/tnef/tnef.ts'
import { manyTimes } from '../../support/hostile.ts'
import { messageWith, packRtf, type WrittenFile, writeTnef } from './written.ts'

const report = Buffer.from('%PDF-1.7 not much of one')
const image = Buffer.from([0x89, 0x50, 0x4e, 0x47, 1, 2, 3])
const files: readonly WrittenFile[] = [
  { title: 'REPORT~1.PDF', longName: 'Quartalsbericht für März.pdf', content: report },
  { title: 'image.png', contentType: 'image/png', contentId: 'image001.png@01CF', content: image },
  { displayName: 'notes', content: Buffer.from('x') },
]

t.test('files in a winmail.dat are attachments with their names, and are opened as they were', async t => {
  for (const type of [
    'application/ms-tnef',
    'application/vnd.ms-tnef; name=a',
    'application/octet-stream; name=WinMail.dat',
  ]) {
    const raw = messageWith(writeTnef({ text: 'Hello', files }), 'Hello', type)
    const { text, attachments, problems } = readMessage(raw)
    t.equal(text.trim(), 'Hello')
    t.same(problems, [])
    t.same(attachments, [
      {
        filename: 'Quartalsbericht für März.pdf',
        contentType: 'application/pdf',
        contentId: null,
        isInline: false,
        sizeBytes: report.length,
      },
      {
        filename: 'image.png',
        contentType: 'image/png',
        contentId: 'image001.png@01CF',
        isInline: true,
        sizeBytes: image.length,
      },
      {
        filename: 'notes',
        contentType: 'application/octet-stream',
        contentId: null,
        isInline: false,
        sizeBytes: 1,
      },
    ])
    t.same(openAttachments(raw), [report, image, Buffer.from('x')])
    t.same(openAttachment(raw, 1)?.content, image)
    t.equal(openAttachment(raw, 3), undefined)
  }
})

t.test('attachments behind one are counted on, and one that is none stays', async t => {
  const tnef = writeTnef({ files }).toString('base64')
  const part = (content: string, name: string, type = 'application/ms-tnef') =>
    `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=${name}\r\n\r\n${content}\r\n`
  const raw = Buffer.from(
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${part('QUJD', 'a.bin', 'application/zip')}${part(tnef, 'winmail.dat')}${part('bm8gdG5lZg==', 'winmail.dat')}${part('REVG', 'z.zip', 'application/zip')}--b--\r\n`,
  )
  const names = readMessage(raw).attachments.map(({ filename }) => filename)
  t.same(names, ['a.bin', 'Quartalsbericht für März.pdf', 'image.png', 'notes', 'winmail.dat', 'z.zip'])
  const opened = openAttachments(raw)
  for (const at of names.keys()) {
    t.equal(openAttachment(raw, at)?.filename, names[at])
    t.same(openAttachment(raw, at)?.content, opened[at])
  }
})

t.test('its text is the text of a message that has no other', async t => {
  const read = (tnef: Buffer, text = '') => {
    const { text: shown, html, attachments } = readMessage(messageWith(tnef, text))
    return [shown.trim(), html, attachments.map(({ filename }) => filename)]
  }
  const packed = packRtf('{\\rtf1\\ansi Hello \\b Bob\\b0 ,\\par see {\\*\\generator x}below.}')
  t.same(read(writeTnef({ text: 'Hello\r\nBob' })), ['Hello\nBob', '', ['winmail.dat']])
  t.same(read(writeTnef({ rtf: packed, files: [files[0]!] })), [
    'Hello Bob,\nsee below.',
    '',
    ['Quartalsbericht für März.pdf'],
  ])
  const html = Buffer.from('<p>Grüße</p>', 'utf8')
  t.same(read(writeTnef({ html, htmlCodePage: 65001 })), ['Grüße', '<p>Grüße</p>', ['winmail.dat']])
  t.same(read(writeTnef({ html: Buffer.from([0xcf, 0xf0, 0xe8]), htmlCodePage: 1251 }))[1], 'При')
  t.same(read(writeTnef({ rtf: packed }), 'Another one'), ['Another one', '', ['winmail.dat']])
})

t.test('RTF is read as it was packed, in its code pages', async t => {
  // The two examples of MS-OXRTFCP, section 3.
  const hello =
    '2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232 0af32068656c09002062770 5b06c647d0a800fa0'
  const again = '1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0'
  const unpacked = (hex: string) =>
    decompressRtf(Buffer.from(hex.replaceAll(' ', ''), 'hex'), 1000).toString('latin1')
  t.equal(unpacked(hello), '{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n')
  t.equal(unpacked(again), '{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}')
  t.equal(unpacked(again.slice(0, 40)).slice(0, 6), '{\\rtf1')
  t.equal(unpacked('00'), '')
  const text = (rtf: string) => readRtf(Buffer.from(rtf, 'latin1')).text
  const fonts =
    '{\\fonttbl{\\f0\\fswiss Arial;}{\\f1\\fcharset204 Arial Cyr{\\*\\falt Arial};}{\\f2\\fcharset128 MS;}}'
  t.equal(
    text(`{\\rtf1\\ansi\\ansicpg1250${fonts}\\f0 \\'9a\\'e8 {\\f1\\'cf\\'f0\\'e8} \\f2\\'93\\'fa\\'96\\'7b}`),
    'šč При 日本',
  )
  t.equal(
    text("{\\rtf1\\uc1\\u8364? \\u-10179\\'3f\\u-8704\\'3f a\\~b \\{c\\}\\\\ \\emdash x\\tab y}"),
    '€ 😀 a\u00a0b {c}\\ —x\ty',
  )
  t.equal(text('{\\rtf1{\\pict\\bin5 }}}}}abc}{\\info{\\title No}}{\\*\\unknown No}Yes}'), 'Yes')
  const html =
    '{\\rtf1\\ansi\\fromhtml1 {\\*\\htmltag64 <p class="a">}\\htmlrtf {\\b \\htmlrtf0 Hello \\htmlrtf }\\htmlrtf0{\\*\\htmltag84 &amp; }Bob{\\*\\mhtmltag84 no}{\\*\\htmltag72 </p>}}'
  t.same(readRtf(Buffer.from(html)), { text: '', html: '<p class="a">Hello &amp; Bob</p>' })
})

t.test('a message that is attached brings its files, and its text as one', async t => {
  const inner = writeTnef({
    text: 'See the plan.',
    files: [{ longName: 'plan.txt', content: Buffer.from('1.') }],
  })
  const opened = readTnef(
    writeTnef({ files: [{ title: 'Untitled Attachment', displayName: 'Re: Plan', message: inner }] }),
    10,
  )!
  t.same(
    opened.files.map(({ name, content }) => [name, content.toString()]),
    [
      ['Re: Plan.txt', 'See the plan.'],
      ['plan.txt', '1.'],
    ],
  )
})

t.test('how many, how deep and how long is bounded; what is left out stays in the winmail.dat', async t => {
  const many = writeTnef({ files: Array.from({ length: 3000 }, () => files[2]!) })
  const { attachments } = readMessage(messageWith(many))
  t.equal(attachments.length, mimeParts + 1)
  t.equal(attachments.at(-1)?.filename, 'winmail.dat')
  t.equal(attachments.at(-1)?.sizeBytes, many.length)
  let deep = writeTnef({ files: [files[2]!] })
  for (let level = 0; level < 50; level++) deep = writeTnef({ files: [{ displayName: 'x', message: deep }] })
  t.equal(readTnef(deep, 100)?.files.length, 1)
  t.ok(readTnef(deep, 100)!.files[0]!.content.length > 1000)
  t.equal(readRtf(Buffer.from('a'.repeat(3 * storedBodyLength))).text.length, storedBodyLength)
  // It asks for a gigabyte and holds five bytes.
  const bomb = packRtf('{\\rtf')
  bomb.writeUInt32LE(2 ** 30, 4)
  t.equal(decompressRtf(bomb, textPartsBytes).length, 5)
  const whole = writeTnef({ files })
  const cut = readMessage(messageWith(whole.subarray(0, whole.length - 40))).attachments
  t.same(cut.map(({ filename }) => filename).slice(-1), ['winmail.dat'])
  t.ok(textBytesOf(messageWith(many)) > many.length, 'so it is not read beside sessions')
})

t.test('nothing is read again and again', async t => {
  const head = Buffer.from('789f3e220100', 'hex')
  const begins = Buffer.from('0202900600000000000000', 'hex')
  t.equal(readTnef(Buffer.concat([head, Buffer.alloc(11 * manyTimes, begins)]), 10)?.files.length, 10)
  t.equal(readTnef(Buffer.concat([head, Buffer.alloc(manyTimes, 2)]), 10)?.isWhole, false)
  for (const piece of [
    '{\\b',
    '}',
    '{\\*\\x',
    "\\'e9\\u233?",
    '\\a',
    '\\',
    '\\u-1 ',
    '{\\f1\\fcharset204 x;}',
  ]) {
    const bytes = Buffer.from(`{\\rtf1{\\fonttbl ${piece.repeat(manyTimes / piece.length)}`)
    t.ok(readRtf(bytes).text.length <= storedBodyLength)
  }
})

t.test('what is changed in one is read without a throw, and never gives more than it holds', async () => {
  const inner = writeTnef({ rtf: packRtf('{\\rtf1 Hi}'), files: [files[0]!] })
  const whole = writeTnef({
    codePage: 1251,
    rtf: packRtf("{\\rtf1\\fromhtml1 {\\*\\htmltag <p>}\\'e9{\\*\\htmltag </p>}}"),
    files: [...files, { displayName: 'm', message: inner }],
  })
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255), fc.nat(3))
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), changes => {
      let bytes = Buffer.from(whole)
      for (const [at, byte, how] of changes) {
        if (how === 0) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + (byte % 40))])
        else if (at < bytes.length) bytes[at] = how === 1 ? byte : 0xff
      }
      const read = readTnef(bytes, 50)
      if (!read) return
      const { text, html } = read.body()
      const given = read.files.reduce((sum, { content }) => sum + content.length, 0)
      if (given > 20 * bytes.length) throw new Error(`${given} bytes of ${bytes.length}`)
      if (text.length + html.length > storedBodyLength) throw new Error('a long text')
    }),
    { seed: 3676, numRuns: 2000, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  )
})

t.test(
  'a message whose text finds no room leaves the stream where it is, so that nothing of it is lost',
  async t => {
    const message = writeTnef({ text: 'inner', files: [{ title: 'a.txt', content: Buffer.from('a') }] })
    const stream = writeTnef({ text: 'outer', files: [{ displayName: 'inner', message }] })
    const named = (files: number) => {
      const tnef = readTnef(stream, files)
      return [tnef?.files.map(({ name }) => name), tnef?.isWhole]
    }
    t.same(named(1), [['a.txt'], false])
    t.same(named(2), [['inner.txt', 'a.txt'], true])
  },
)
