/** What the Encoding Standard calls code pages whose numbers are not part of a name of theirs. */
const names: ReadonlyMap<number, string> = new Map([
  [866, 'ibm866'],
  [874, 'windows-874'],
  [932, 'shift_jis'],
  [936, 'gbk'],
  [949, 'euc-kr'],
  [950, 'big5'],
  [1200, 'utf-16le'],
  [10000, 'macintosh'],
  [10029, 'x-mac-ce'],
  [10007, 'x-mac-cyrillic'],
  [20127, 'us-ascii'],
  [20866, 'koi8-r'],
  [20932, 'euc-jp'],
  [21866, 'koi8-u'],
  [50220, 'iso-2022-jp'],
  [50221, 'iso-2022-jp'],
  [50222, 'iso-2022-jp'],
  [50225, 'iso-2022-kr'],
  [51932, 'euc-jp'],
  [51949, 'euc-kr'],
  [52936, 'hz-gb-2312'],
  [54936, 'gb18030'],
  [65001, 'utf-8'],
])

/** The charset that Windows knows by this number; windows-1252 for what is no number of one. */
export function charsetOfCodePage(number: number | undefined): string {
  if (number === undefined) return 'windows-1252'
  const named = names.get(number)
  if (named !== undefined) return named
  if (number >= 1250 && number <= 1258) return `windows-${number}`
  if (number >= 28591 && number <= 28606) return `iso-8859-${number - 28590}`
  return number >= 437 && number < 1000 ? `cp${number}` : 'windows-1252'
}

/** The code pages of the character sets that RTF gives its fonts (`\fcharset`). */
const ofFonts: ReadonlyMap<number, number> = new Map([
  [0, 1252],
  [77, 10000],
  [128, 932],
  [129, 949],
  [134, 936],
  [136, 950],
  [161, 1253],
  [162, 1254],
  [163, 1258],
  [177, 1255],
  [178, 1256],
  [186, 1257],
  [204, 1251],
  [222, 874],
  [238, 1250],
])

/** The code page of a font's character set; undefined where it says none. */
export function codePageOfFont(charset: number): number | undefined {
  return ofFonts.get(charset)
}
