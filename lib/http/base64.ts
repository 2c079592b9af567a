import type { Pace } from '../base/concurrency.ts'

const backslash = 0x5c
const letterU = 0x75
const padding = 0x3d

/** What a byte of base64 (RFC 4648 §4) is. */
const [other, letter, space] = [0, 1, 2]
const kinds = new Uint8Array(256).fill(other)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') {
  kinds[character.charCodeAt(0)] = letter
}
for (const character of ' \t\n\v\f\r') kinds[character.charCodeAt(0)] = space

/** The escapes of JSON (RFC 8259 §7) besides \u, and what each stands for. */
const escapes = new Map(
  ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'].map(pair => [
    pair.charCodeAt(0),
    pair.charCodeAt(1),
  ]),
)

/** What a digit of \u is worth. */
const digits = new Int8Array(256).fill(-1)
for (const [worth, digit] of [...'0123456789abcdef'].entries()) {
  digits[digit.charCodeAt(0)] = worth
  digits[digit.toUpperCase().charCodeAt(0)] = worth
}

/** After so many bytes it is asked whether to go on; whole groups of four letters. */
const stepBytes = 64 * 1024

/**
 * Decodes base64 that stands in a JSON string, from its bytes, at a pace. White space in it is passed over.
 * @param text what stands between the quotes; it is written to
 * @returns undefined when it is no base64
 * @throws SyntaxError when it could not stand in a JSON string
 */
export async function decodeJsonBase64(text: Buffer, pace: Pace): Promise<Buffer | undefined> {
  const length = await compact(text, pace)
  if (length === undefined || length % 4 === 1) return undefined
  const content = Buffer.allocUnsafe(Math.ceil((length * 3) / 4))
  let written = 0
  for (let at = 0; at < length; at += stepBytes) {
    await pace(stepBytes)
    written += content.write(text.toString('latin1', at, Math.min(at + stepBytes, length)), written, 'base64')
  }
  return content.subarray(0, written)
}

/** Takes out of the text what is no letter; gives how long it is then, or undefined when there is what may not be. */
async function compact(text: Buffer, pace: Pace): Promise<number | undefined> {
  let length = 0
  let paddings = 0
  let paced = 0
  for (let at = 0; at < text.length; at++) {
    if (at >= paced) {
      await pace(stepBytes)
      paced = at + stepBytes
    }
    let code = text[at]!
    if (code < 0x20) throw new SyntaxError('Bad control character in string literal')
    if (code === backslash) {
      code = readEscape(text, at + 1)
      at += text[at + 1] === letterU ? 5 : 1
    }
    if (code === padding) {
      if (++paddings > 2) return undefined
    } else if (kinds[code] === space) continue
    else if (kinds[code] !== letter || paddings > 0) return undefined
    text[length++] = code
  }
  return length
}

function readEscape(text: Buffer, at: number): number {
  const code = text[at] === letterU ? readDigits(text, at + 1) : escapes.get(text[at]!)
  if (code === undefined) throw new SyntaxError('Bad escaped character in string literal')
  return code
}

function readDigits(text: Buffer, at: number): number | undefined {
  let code = 0
  for (let index = at; index < at + 4; index++) {
    const worth = digits[text[index] ?? 0]!
    if (worth < 0) return undefined
    code = code * 16 + worth
  }
  return code
}
