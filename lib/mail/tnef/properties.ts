/** The value of a MAPI property: a string is its bytes, with what kind they are. */
export interface Property {
  readonly type: number
  readonly value: Buffer
}

/** Types of MAPI (MS-OXCDATA §2.11.1): strings of a code page and of UTF-16, objects, bytes. */
export const stringType = 0x1e
export const unicodeType = 0x1f
const objectType = 0x0d
const binaryType = 0x102
const hasLength = new Set([stringType, unicodeType, objectType, binaryType])
const severalValues = 0x1000
/** Bytes that a value of the other types takes, with what fills it up to four. */
const sizes: ReadonlyMap<number, number> = new Map([
  [0x02, 4],
  [0x03, 4],
  [0x04, 4],
  [0x05, 8],
  [0x06, 8],
  [0x07, 8],
  [0x0a, 4],
  [0x0b, 4],
  [0x14, 8],
  [0x40, 8],
  [0x48, 16],
])
const firstNamed = 0x8000
const guidBytes = 16

/**
 * The properties in a block of a TNEF stream (MS-OXTNEF §2.1.3.4), of those that have no name: the first value of each. The work grows with
 * the bytes of the block, for each property takes four at least.
 * @throws RangeError where the block ends too early or holds what has no length
 */
export function readProperties(block: Buffer): ReadonlyMap<number, Property> {
  const found = new Map<number, Property>()
  const count = block.readUInt32LE(0)
  let at = 4
  for (let index = 0; index < count; index++) {
    const type = block.readUInt16LE(at)
    const id = block.readUInt16LE(at + 2)
    at += 4
    if (id >= firstNamed) at = behindName(block, at)
    const kind = type & ~severalValues
    const isCounted = type !== kind || hasLength.has(kind)
    const values = isCounted ? block.readUInt32LE(at) : 1
    if (isCounted) at += 4
    for (let number = 0; number < values; number++) {
      const size = hasLength.has(kind) ? block.readUInt32LE(at) : sizes.get(kind)
      if (size === undefined) throw new RangeError(`a property has the type ${type}`)
      const start = hasLength.has(kind) ? at + 4 : at
      const end = start + size
      if (end > block.length) throw new RangeError('a property is longer than its block')
      if (number === 0 && id < firstNamed && !found.has(id)) {
        found.set(id, { type: kind, value: block.subarray(start, end) })
      }
      at = start + padded(size)
    }
  }
  return found
}

/** Named by a number, or by a text. */
function behindName(block: Buffer, at: number): number {
  const behindKind = at + guidBytes + 4
  if (block.readUInt32LE(at + guidBytes) === 0) return behindKind + 4
  return behindKind + 4 + padded(block.readUInt32LE(behindKind))
}

function padded(size: number): number {
  return Math.ceil(size / 4) * 4
}
