/**
 * What does something to whoever shows text and is nothing to be read: C0, DEL and C1 (they command terminals), what turns the
 * direction of writing or separates lines, what is invisible and annotates, and halves of characters.
 */
const commanding =
  /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The same and white space. */
export const commandingOrSpace =
  /[\p{Cc}\p{Cs} \u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu

/** Shown as what it is, such as `\x1b` or `\u202e`; lines and tabs stay, and so does CR where a line ends with it. */
export function printable(text: string): string {
  return text.replace(commanding, (character, at: number) => {
    if (character === '\n' || character === '\t') return character
    return character === '\r' && text[at + 1] === '\n' ? character : escaped(character)
  })
}

/** The same in one line. */
export function printableLine(text: string): string {
  return text.replace(commanding, escaped)
}

const short = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function escaped(character: string): string {
  const known = short.get(character)
  if (known !== undefined) return known
  const code = character.codePointAt(0)!
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** The same value in JSON, where such characters stand in strings alone: its lines stay as they are. */
export function printableJson(json: string): string {
  return json.replace(commanding, character => {
    if (character === '\n') return character
    // Two of them for what is above U+FFFF (RFC 8259 §7).
    return Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join('')
  })
}
