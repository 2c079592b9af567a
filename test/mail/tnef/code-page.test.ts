import t from 'tap'
import { charsetOfCodePage, codePageOfFont } from '../../../lib/mail/tnef/code-page.ts'

t.test('a code page by its number is a charset that can be decoded, or windows-1252', async t => {
  // Of the Encoding Standard, with the numbers of [MS-UCODEREF] 2.2.1.
  const charsets: Readonly<Record<number, string>> = {
    866: 'ibm866',
    874: 'windows-874',
    932: 'shift_jis',
    936: 'gbk',
    949: 'euc-kr',
    950: 'big5',
    1200: 'utf-16le',
    1250: 'windows-1250',
    1258: 'windows-1258',
    10000: 'macintosh',
    10007: 'x-mac-cyrillic',
    20866: 'koi8-r',
    20932: 'euc-jp',
    21866: 'koi8-u',
    28591: 'windows-1252',
    28592: 'iso-8859-2',
    28605: 'iso-8859-15',
    28606: 'iso-8859-16',
    50220: 'iso-2022-jp',
    50221: 'iso-2022-jp',
    50222: 'iso-2022-jp',
    51932: 'euc-jp',
    51949: 'euc-kr',
    54936: 'gb18030',
    65001: 'utf-8',
  }
  for (const [number, charset] of Object.entries(charsets))
    t.equal(new TextDecoder(charsetOfCodePage(Number(number))).encoding, charset, number)
  t.equal(charsetOfCodePage(20127), 'us-ascii')
  for (const other of [undefined, 0, 1, 1249, 1259, 28590, 28607, 999_999])
    t.equal(charsetOfCodePage(other), 'windows-1252', String(other))
})

t.test('the character sets of fonts, as the RTF specification has them (`\\fcharset`)', async t => {
  const pages: Readonly<Record<number, number>> = {
    0: 1252,
    77: 10000,
    128: 932,
    129: 949,
    134: 936,
    136: 950,
    161: 1253,
    162: 1254,
    163: 1258,
    177: 1255,
    178: 1256,
    186: 1257,
    204: 1251,
    222: 874,
    238: 1250,
  }
  for (let charset = 0; charset < 256; charset++) t.equal(codePageOfFont(charset), pages[charset])
})
