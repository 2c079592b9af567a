import t from 'tap'
import { oneLine, printable, printableJson, printableLine } from '../../lib/base/text.ts'

/** What no text to a terminal may hold, said once more by numbers. */
function isCommand(code: number): boolean {
  const ranges = [
    [0, 0x1f],
    [0x7f, 0x9f],
    [0x61c, 0x61c],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2066, 0x206f],
    [0xd800, 0xdfff],
    [0xfeff, 0xfeff],
    [0xfff9, 0xfffb],
    [0xe0000, 0xe007f],
  ] as const
  return ranges.some(([from, to]) => code >= from && code <= to)
}

t.test('of all characters those that command a terminal are shown, and all else stays', async t => {
  const wrong: string[] = []
  // Every one where such characters stand, and some of all the others.
  const isDense = (code: number) =>
    code < 0x3000 || (code >= 0xfe00 && code < 0x10000) || (code >= 0xdff00 && code < 0xe0200)
  for (let code = 0; code <= 0x10ffff; code += isDense(code) ? 1 : 64) {
    const character = String.fromCodePoint(code)
    const line = printableLine(`a${character}b`)
    const isKept = line === `a${character}b`
    const isEscaped = /^a\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]{5}\})b$/.test(line)
    if (isCommand(code) ? !isEscaped : !isKept) wrong.push(`${code.toString(16)} ${JSON.stringify(line)}`)
    const json = JSON.stringify({ [character]: `${character}\\"` }, undefined, 2)
    const shown = printableJson(json)
    if (JSON.stringify(JSON.parse(shown), undefined, 2) !== json) wrong.push(`${code.toString(16)} in JSON`)
    if ([...shown].some(one => one !== '\n' && isCommand(one.codePointAt(0)!)))
      wrong.push(`${code.toString(16)} ${shown}`)
    if (isCommand(code) && oneLine(`a${character}b`) !== 'a b') wrong.push(`${code.toString(16)} in a line`)
  }
  t.strictSame(wrong.slice(0, 10), [])
})

t.test('lines stay lines', async t => {
  t.equal(printable('a\n\tb\r\nc\rd\r\r\n\x1b[2J'), 'a\n\tb\r\nc\\rd\\r\r\n\\x1b[2J')
  t.equal(printable(printable('\x1b\u202e\ud800')), '\\x1b\\u202e\\ud800', 'once is enough')
})
