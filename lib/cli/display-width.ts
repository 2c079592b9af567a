/** What takes two columns of a terminal (Unicode's East Asian Width W and F), and pictures that are shown as such. */
const wide =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3)/u
/** What takes none by itself: accents, joiners, what is not shown. */
const zero = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u
const ascii = /^[\x20-\x7e]*$/

// Made when the first text needs it: most calls of mailboxctl show ASCII alone.
let segmenter: Intl.Segmenter | undefined

/** The characters of a text as people count them, which are never cut. */
function charactersOf(text: string): string[] {
  if (ascii.test(text)) return [...text]
  segmenter ??= new Intl.Segmenter()
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

function widthOfCharacter(character: string): number {
  if (wide.test(character)) return 2
  return zero.test(character) ? 0 : 1
}

/** How many columns of a terminal a text in one line takes. */
export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length
  return charactersOf(text).reduce((sum, character) => sum + widthOfCharacter(character), 0)
}

/** The text with spaces behind it until it takes `width` columns. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** As much of the beginning as fits into `width` columns. */
function beginning(characters: readonly string[], width: number): string[] {
  const taken: string[] = []
  let left = width
  for (const character of characters) {
    left -= widthOfCharacter(character)
    if (left < 0) break
    taken.push(character)
  }
  return taken
}

/** The text in at most `width` columns: its beginning, and `…` for the rest. Of an address the middle goes, and its domain last. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const end = endKept(text, width - 1)
  const tail = beginning(charactersOf(text).reverse(), end).reverse().join('')
  return `${beginning(charactersOf(text), width - 1 - end).join('')}…${tail}`
}

/** Of an address its domain with half of what is left for the local part, and of that at least one character in front. */
function endKept(text: string, room: number): number {
  const domain = domainOf(text)
  if (domain === undefined) return 0
  const left = room - displayWidth(domain)
  return left >= 1 ? room - Math.ceil(left / 2) : Math.max(0, room - 1)
}

/** The `@domain` of a text that is one address. */
export function domainOf(text: string): string | undefined {
  return /^[^\s,@]+(@[^\s,@]+)$/.exec(text)?.[1]
}
