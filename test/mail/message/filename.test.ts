import t from 'tap'
import { receivedFilename } from '../../../lib/mail/message/filename.ts'

t.test('filenames', async t => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    ['report.pdf', 'report.pdf'],
    ['résumé 履歴書.pdf', 'résumé 履歴書.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ann\\a.pdf', 'a.pdf'],
    ['c:a.pdf', 'a.pdf'],
    ['a\r\nContent-Type: text/html\0.pdf', 'html .pdf'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    [undefined, 'attachment-3.pdf'],
    ['', 'attachment-3.pdf'],
    ['..', 'attachment-3.pdf'],
    ['a/', 'attachment-3.pdf'],
    ['\u0001\u0002', 'attachment-3.pdf'],
    ['.bashrc', '.bashrc'],
    ['__proto__', '__proto__'],
  ]
  for (const [given, name] of cases)
    t.equal(receivedFilename(given, 'application/pdf', 3), name, JSON.stringify(given))
  t.equal(receivedFilename(undefined, 'application/x-unknown', 1), 'attachment-1.bin')
  t.equal(receivedFilename(undefined, '__proto__', 1), 'attachment-1.bin')
})

t.test('a long one keeps its extension', async t => {
  const name = receivedFilename(`${'a'.repeat(1000)}.docx`, 'application/pdf', 1)
  t.equal(name.length, 255)
  t.match(name, /a\.docx$/)
  t.equal(receivedFilename('𝒜'.repeat(1000), 'application/pdf', 1).isWellFormed(), true)
})
