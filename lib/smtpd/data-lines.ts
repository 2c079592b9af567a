const cr = 0x0d
const lf = 0x0a
const dot = 0x2e
const lineWithDot = Buffer.from('\r\n.')

/** Takes the bytes after DATA as they come, and finds their end (RFC 5321 §4.1.1.4, §4.5.2). */
export interface DataLines {
  /**
   * Gives what of these bytes belongs to the message, without the dots that were put before dots, and, when they end it,
   * what came after its end.
   */
  take(chunk: Buffer): { readonly content: Buffer; readonly rest: Buffer | undefined }
}

/** What came last. */
type Place = 'inLine' | 'afterCr' | 'atLine' | 'afterDot' | 'afterDotCr'

export function createDataLines(): DataLines {
  let place: Place = 'atLine'

  /** Whether there is a line in these bytes that begins with a dot, or may be. */
  function hasDots(chunk: Buffer): boolean {
    if (place === 'afterDot' || place === 'afterDotCr') return true
    if (place === 'atLine' && chunk[0] === dot) return true
    if (place === 'afterCr' && chunk[0] === lf && chunk[1] === dot) return true
    return chunk.includes(lineWithDot)
  }

  function placeAfter(chunk: Buffer): Place {
    const last = chunk.at(-1)
    const before = chunk.length > 1 ? chunk.at(-2) : place === 'afterCr' ? cr : undefined
    if (last === cr) return 'afterCr'
    return last === lf && before === cr ? 'atLine' : 'inLine'
  }

  return {
    take(chunk) {
      if (!hasDots(chunk)) {
        if (chunk.length > 0) place = placeAfter(chunk)
        return { content: chunk, rest: undefined }
      }
      // A CR that the chunk before ended with may belong to it, too.
      const kept = Buffer.allocUnsafe(chunk.length + 1)
      let length = 0
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at]!
        if (place === 'atLine' && byte === dot) {
          place = 'afterDot'
          continue
        }
        if (place === 'afterDot' && byte === cr) {
          place = 'afterDotCr'
          continue
        }
        if (place === 'afterDotCr') {
          if (byte === lf) {
            place = 'atLine'
            return { content: kept.subarray(0, length), rest: chunk.subarray(at + 1) }
          }
          kept[length++] = cr
          place = 'afterCr'
        }
        kept[length++] = byte
        place = byte === cr ? 'afterCr' : byte === lf && place === 'afterCr' ? 'atLine' : 'inLine'
      }
      return { content: kept.subarray(0, length), rest: undefined }
    },
  }
}
