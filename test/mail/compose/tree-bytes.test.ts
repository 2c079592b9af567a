import MailComposer from 'nodemailer/lib/mail-composer'
import t from 'tap'
import { bytesOfTexts } from '../../../lib/mail/compose/tree-bytes.ts'

const texts = [
  'Hello\r\n',
  'no line end',
  'Grüße,\r\n\r\n-- \r\nAnn\r\n',
  `${'a long line of plain words '.repeat(20)}\r\n`,
  `${'x'.repeat(1500)}\r\n`,
  'ends in spaces  \r\nand a tab\t\r\n',
  'ends in a space ',
  'a = b, =3D and =\r\n',
  '.\r\n..\r\n',
  'Добрый день, как дела?\r\n'.repeat(30),
  `${'é'.repeat(200)} ${'語'.repeat(90)} and some Latin letters after it, so many that they are more\r\n`,
  '\r\n',
]

t.test('a letter is the bytes that the library streams', async t => {
  for (const text of texts)
    for (const html of [undefined, `<p>${text.trim()}</p>`]) {
      const composer = new MailComposer({
        from: 'ann@example.com',
        to: 'bob@example.net',
        subject: 'Größe',
        messageId: '<a@example.com>',
        date: new Date(0),
        text,
        html,
        boundaryPrefix: '=_',
      })
      const root = composer.compile()
      const streamed = await root.build()
      t.equal(bytesOfTexts(root).toString(), streamed.toString(), JSON.stringify([text.slice(0, 40), !!html]))
    }
})
