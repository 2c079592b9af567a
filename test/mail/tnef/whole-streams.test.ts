import t from 'tap'
import { charsetOfCodePage } from '../../../lib/mail/tnef/code-page.ts'
import { decompressRtf } from '../../../lib/mail/tnef/compressed-rtf.ts'
import { readRtf } from '../../../lib/mail/tnef/rtf.ts'
import { readTnef } from '../../../lib/mail/tnef/tnef.ts'
import { byLength, type Facts, sameFacts } from '../../support/kept-facts.ts'
import { packRtf, writeTnef } from './written.ts'

const read = (stream: Buffer, files = 10) => {
  const tnef = readTnef(stream, files)
  return tnef && { ...tnef.body(), files: tnef.files, isWhole: tnef.isWhole }
}

const inner = writeTnef({ text: 'inner text', files: [{ title: 'in.txt', content: Buffer.from('in') }] })
const streams: Readonly<Record<string, Buffer>> = {
  text: writeTnef({ text: 'Hello\r\nKim' }),
  html: writeTnef({ html: Buffer.from('<p>Gr\xfc\xdfe</p>', 'latin1'), htmlCodePage: 28591 }),
  'html without a code page': writeTnef({ codePage: 1251, html: Buffer.from('<p>\xcf\xf0</p>', 'latin1') }),
  rtf: writeTnef({ rtf: packRtf('{\\rtf1\\ansi Hello\\par Kim}') }),
  files: writeTnef({
    codePage: 1252,
    files: [
      { title: 'A~1.TXT', longName: 'a long name.txt', content: Buffer.from('one') },
      { title: 'B.PDF', contentType: 'Application/PDF', contentId: '<1@x>', content: Buffer.from('two') },
      { displayName: 'shown', content: Buffer.from('three') },
      { content: Buffer.from('four') },
      { title: 'empty' },
    ],
  }),
  message: writeTnef({
    text: 'outer',
    files: [{ title: 'Untitled Attachment', displayName: 'Its subject', message: inner }],
  }),
  deep: Array.from({ length: 6 }).reduce<Buffer>(
    (message, _, at) => writeTnef({ text: `level ${at}`, files: [{ displayName: `m${at}`, message }] }),
    inner,
  ),
}

t.test('streams of TNEF, whole and cut off at each byte', async t => {
  sameFacts(t, 'tnef', [
    ...Object.entries(streams).map(([title, stream]): Facts => [title, read(stream)]),
    ...[0, 1, 2, 3, 4].map(
      (files): Facts => [
        `${files} files at the most`,
        [read(streams.files!, files), read(streams.message!, files), read(streams.deep!, files)],
      ],
    ),
    ...['text', 'html', 'files', 'message'].map(
      (title): Facts => [
        `${title}, cut off`,
        byLength(streams[title]!, stream => {
          const { text, html, files, isWhole } = read(stream) ?? {
            text: 'none',
            html: '',
            files: [],
            isWhole: false,
          }
          return [
            text,
            html,
            isWhole,
            ...files.map(({ name, contentType, contentId, content }) =>
              [name, contentType, contentId, content].join(' '),
            ),
          ].join(' | ')
        }),
      ],
    ),
  ])
})

t.test('each byte of a stream with another value', async t => {
  const stream = writeTnef({
    codePage: 1252,
    text: 'x',
    files: [{ title: 'a', longName: 'b', content: Buffer.from('c') }],
  })
  const facts: Facts[] = []
  for (const [at, byte] of stream.entries()) {
    const changed = Buffer.from(stream)
    changed[at] = byte ^ 1
    const { text, html, files, isWhole } = read(changed) ?? {
      text: 'none',
      html: '',
      files: [],
      isWhole: false,
    }
    facts.push([
      `byte ${at}`,
      [text, html, isWhole, ...files.map(({ name, content }) => `${name} ${content}`)].join(' | '),
    ])
  }
  sameFacts(t, 'tnef-changed', facts)
})

const documents = [
  '{\\rtf1\\ansi\\ansicpg1252 plain}',
  '{\\rtf1 a\\par b\\line c\\tab d\\cell e\\row f\\page g\\sect h}',
  "{\\rtf1\\ansicpg1251 \\'cf\\'f0\\'e8 \\u8364?\\u-3913?\\uc0\\u8364 x\\uc2\\u8364??y}",
  "{\\rtf1{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204 B;}{\\f2\\fcharset128 C;}}\\f0\\'e4\\f1\\'e4\\f2\\'82\\'b1\\f9\\'e4}",
  '{\\rtf1 a{\\b b{\\i c}d}e}',
  '{\\rtf1 a{\\*\\generator x;}b{\\*\\unknown y}c{\\info z}d{\\pict 00}e{\\stylesheet s}f}',
  '{\\rtf1 \\lquote a\\rquote \\ldblquote b\\rdblquote \\bullet \\endash \\emdash c\\~d\\_e\\-f\\{g\\}h\\\\i}',
  '{\\rtf1 a\r\nb\n\\\nc\\\r\nd}',
  '{\\rtf1\\ansi\\fromhtml1 {\\*\\htmltag64 <p>}a\\htmlrtf b\\htmlrtf0 c{\\*\\htmltag72 </p>}\\par d}',
  '{\\rtf1\\ansi {\\*\\htmltag64 <p>}a}',
  '{\\rtf1\\fromhtml0 a}',
  '{\\rtf1\\bin5 abcdefgh}',
  '{\\rtf1\\bin99999 abc}',
  '{\\rtf1 {\\field{\\*\\fldinst HYPERLINK "https://example.com"}{\\fldrslt link}}}',
  '}}}a{{{b',
  '{\\rtf1 a\\',
  "{\\rtf1 a\\'4",
  '{\\rtf1 \\u8364}',
  `${'{'.repeat(120)}\\b deep${'}'.repeat(120)}out`,
  '{\\rtf1\\plain\\f0 a\\plain b\\pard c\\v hidden\\v0 d\\deleted e\\deleted0 f}',
]

t.test('RTF and how it is packed', async t => {
  const packed = packRtf('{\\rtf1 hello hello}')
  const references = Buffer.concat([
    Buffer.from('2d0000002b0000004c5a4675f1c5c7a7', 'hex'),
    Buffer.from(
      '03000a00726370673132354232 0af32068656c090020627705b06c647d0a800fa0'.replaceAll(' ', ''),
      'hex',
    ),
  ])
  const head = (kind: number, size: number) => {
    const bytes = Buffer.alloc(16)
    bytes.writeUInt32LE(size, 4)
    bytes.writeUInt32LE(kind, 8)
    return bytes
  }
  sameFacts(t, 'rtf', [
    ...documents.map((rtf): Facts => [`rtf ${rtf.slice(0, 150)}`, readRtf(Buffer.from(rtf, 'latin1'))]),
    ['cut off', byLength(Buffer.from(documents[8]!), readRtf)],
    ['cut off, characters', byLength(Buffer.from(documents[2]!), readRtf)],
    ['packed', byLength(packed, bytes => decompressRtf(bytes, 1000))],
    ['packed, with references', byLength(references, bytes => decompressRtf(bytes, 1000))],
    ['packed, with room', [0, 1, 8, 9, 18, 19, 20].map(most => decompressRtf(packed, most))],
    [
      'not compressed',
      [0, 3, 4, 5].map(size =>
        decompressRtf(Buffer.concat([head(0x414c454d, size), Buffer.from('abcd')]), 4),
      ),
    ],
    ['something else', decompressRtf(Buffer.concat([head(1, 4), Buffer.from('abcd')]), 4)],
    [
      'code pages',
      [
        undefined,
        0,
        437,
        850,
        874,
        932,
        936,
        949,
        950,
        1200,
        1201,
        1250,
        1252,
        1258,
        10000,
        20127,
        20866,
        21866,
        28591,
        28605,
        50220,
        51932,
        65000,
        65001,
        99999,
      ].map(page => `${page} ${charsetOfCodePage(page)}`),
    ],
  ])
})
