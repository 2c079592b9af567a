import { type Pace, sliceBytes } from '../base/concurrency.ts'

/** So many characters of what is told are made into JSON at a stretch. */
const pieceLength = 64 * 1024
/** What names, numbers and the rest of a value count as. */
const valueLength = 16

/** Roughly how many characters of JSON it makes; above `most` just more than that. */
export function jsonLength(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return valueLength
  return Array.isArray(value) ? lengthOfList(value, most) : lengthOfObject(value, most)
}

function lengthOfList(list: readonly unknown[], most: number): number {
  let length = valueLength
  for (let at = 0; at < list.length && length <= most; at++)
    length += valueLength + jsonLength(list[at], most - length)
  return length
}

/** By its names: to make a list of the values first takes three times as long, and this is done to each answer. */
function lengthOfObject(object: object, most: number): number {
  let length = valueLength
  for (const name in object) {
    length += valueLength + jsonLength((object as Record<string, unknown>)[name], most - length)
    if (length > most) break
  }
  return length
}

/** The same bytes as JSON.stringify gives and the end of a line, made at a pace: a long text holds up others, too. */
export async function jsonBytes(value: unknown, pace: Pace): Promise<Buffer> {
  const length = jsonLength(value, sliceBytes)
  if (length <= sliceBytes) {
    await pace(length)
    return Buffer.from(`${JSON.stringify(value)}\n`)
  }
  const made: Buffer[] = []
  let text = ''
  let worked = 0
  for (const { piece, length } of piecesOf(value)) {
    text += piece
    worked += length
    if (worked < pieceLength) continue
    made.push(Buffer.from(text))
    await pace(worked)
    text = ''
    worked = 0
  }
  made.push(Buffer.from(`${text}\n`))
  return Buffer.concat(made)
}

interface Piece {
  readonly piece: string
  /** Of what it was made of. */
  readonly length: number
}

function* piecesOf(value: unknown): Generator<Piece> {
  if (typeof value === 'string') yield* piecesOfText(value)
  else if (typeof value !== 'object' || value === null || jsonLength(value, pieceLength) <= pieceLength) {
    const piece = JSON.stringify(value)
    yield { piece, length: piece.length }
  } else if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) {
      yield { piece: index === 0 ? '[' : ',', length: 1 }
      yield* piecesOf(inner ?? null)
    }
    yield { piece: ']', length: 1 }
  } else yield* piecesOfObject(value)
}

function* piecesOfObject(value: object): Generator<Piece> {
  let before = '{'
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    yield { piece: `${before}${JSON.stringify(name)}:`, length: name.length }
    yield* piecesOf(inner)
    before = ','
  }
  yield { piece: '}', length: 1 }
}

function* piecesOfText(text: string): Generator<Piece> {
  yield { piece: '"', length: 1 }
  for (let at = 0; at < text.length; ) {
    // Not between the halves of a pair, of which each would be escaped as one that stands alone.
    const last = at + pieceLength - 1
    const end = text.codePointAt(last)! > 0xffff ? last : last + 1
    const slice = text.slice(at, end)
    yield { piece: JSON.stringify(slice).slice(1, -1), length: slice.length }
    at = end
  }
  yield { piece: '"', length: 1 }
}
