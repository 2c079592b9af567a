const windowBytes = 4096
/** What the window holds before the first byte (MS-OXRTFCP §2.1.2.1). */
const beginning = Buffer.from(
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx',
  'latin1',
)
const headerBytes = 16
const compressed = 0x75465a4c
const uncompressed = 0x414c454d

/**
 * The RTF in what Exchange keeps it as (MS-OXRTFCP). Of what is broken, or longer, its beginning; empty for what is something else. Each two bytes make
 * 17 at the most.
 * @param most bytes that are given
 */
export function decompressRtf(content: Buffer, most: number): Buffer {
  if (content.length < headerBytes) return Buffer.alloc(0)
  const kind = content.readUInt32LE(8)
  const rawBytes = Math.min(content.readUInt32LE(4), most)
  if (kind === uncompressed) return content.subarray(headerBytes, headerBytes + rawBytes)
  if (kind !== compressed) return Buffer.alloc(0)
  return expand(content.subarray(headerBytes), Math.min(rawBytes, 9 * content.length))
}

function expand(content: Buffer, most: number): Buffer {
  const window = Buffer.alloc(windowBytes, ' ')
  beginning.copy(window)
  let place = beginning.length
  const output = Buffer.alloc(most)
  let length = 0
  const put = (byte: number) => {
    window[place] = byte
    place = (place + 1) % windowBytes
    if (length < most) output[length++] = byte
  }
  for (let at = 0; at < content.length && length < most; ) {
    let flags = content[at++]!
    for (let bit = 0; bit < 8 && at < content.length && length < most; bit++, flags >>= 1) {
      if ((flags & 1) === 0) {
        put(content[at++]!)
        continue
      }
      if (at + 1 >= content.length) return output.subarray(0, length)
      const reference = content.readUInt16BE(at)
      at += 2
      let from = reference >> 4
      // A reference to the place that is written next is the end.
      if (from === place) return output.subarray(0, length)
      for (let left = (reference & 15) + 2; left > 0; left--) {
        put(window[from]!)
        from = (from + 1) % windowBytes
      }
    }
  }
  return output.subarray(0, length)
}
