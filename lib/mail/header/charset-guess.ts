/** The name of a charset that bytes may be of, when nothing that was said of them is true. */
export type CharsetGuess = (bytes: Buffer) => string

/** Bytes that are looked at: the first lines that hold any above ASCII. */
const sampleBytes = 16 * 1024
/** What is asked for where such bytes stand alone between letters of ASCII, and where they do not. */
const accented = ['Windows-1252', 'ISO-8859-2', 'Windows-1250']
const others =
  'Windows-1251 KOI8-R CP932 Shift_JIS EUC-JP GB18030 Big5 EUC-KR CP949 Windows-1253 Windows-1255 Windows-1256 TIS-620'.split(
    ' ',
  )
/** So many bytes above ASCII in a row are more than accents between letters. */
const accentedRun = 1.7

/**
 * A detector that knows the languages by how often their letters follow each other. It takes 80 ms and 77 MB, so it is loaded
 * where the first message needs it.
 */
export async function loadCharsetGuess(): Promise<CharsetGuess> {
  const { detect } = await import('jschardet')
  return bytes => {
    const sample = sampleOf(bytes)
    const detectEncodings = isAccented(sample) ? accented : others
    return detect(sample, { detectEncodings }).encoding ?? ''
  }
}

/** So few of them are accents where there are more letters around: `Grüße`. */
const fewAccents = 3
/** The euro, dots, quotes and dashes of windows-1252: between characters of ASCII they are no letters of any script. */
const isMark = (byte: number) => byte === 0x80 || byte === 0x85 || (byte >= 0x91 && byte <= 0x97)

/** Asked alone the detector takes accents for whole scripts. */
function isAccented(bytes: Buffer): boolean {
  let high = 0
  let runs = 0
  let letters = 0
  let wasHigh = false
  for (const [at, byte] of bytes.entries()) {
    const isAlone: boolean = !wasHigh && (bytes[at + 1] ?? 0) < 0x80
    const isHigh: boolean = byte >= 0x80 && !(isAlone && isMark(byte))
    if (isHigh) {
      high++
      if (!wasHigh) runs++
    } else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters++
    wasHigh = isHigh
  }
  return high < letters && (high < accentedRun * runs || high <= fewAccents)
}

const lf = 0x0a

function sampleOf(bytes: Buffer): Buffer {
  if (bytes.length <= sampleBytes) return bytes
  const lines: Buffer[] = []
  let room = sampleBytes
  for (let start = 0; start < bytes.length && room > 0; ) {
    const newline = bytes.indexOf(lf, start)
    const next = newline < 0 ? bytes.length : newline + 1
    const line = bytes.subarray(start, Math.min(next, start + room))
    if (line.some(byte => byte >= 0x80)) {
      lines.push(line)
      room -= line.length
    }
    start = next
  }
  return Buffer.concat(lines)
}
