/** A text that is put together from pieces, up to a length. */
export interface Collected {
  /** Gives whether there is room for more. */
  add(piece: string): boolean
  readonly isFull: boolean
  /** Without NUL, which no database takes, without halves of characters, and without empty lines in rows. */
  text(): string
}

/** @param length in UTF-16 units */
export function collectText(length: number): Collected {
  const pieces: string[] = []
  let left = length
  return {
    add(piece) {
      if (left > 0 && piece !== '') pieces.push(piece.slice(0, left))
      left -= piece.length
      return left > 0
    },
    get isFull() {
      return left <= 0
    },
    text: () => storable(pieces.join('')),
  }
}

/** What a database takes of a text. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
