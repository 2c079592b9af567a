import t from 'tap'
import { createPace, sliceBytes } from '../../lib/base/concurrency.ts'
import { jsonContentBytes, jsonDepth, jsonTextBytes, jsonValues, scanJson } from '../../lib/http/json-scan.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { manyTimes } from '../support/hostile.ts'

const scan = (text: string, takesContents: boolean) =>
  scanJson(Buffer.from(text), takesContents, createPace())

/** What the spans of a text hold. */
async function taken(text: string): Promise<string[]> {
  const bytes = Buffer.from(text)
  return (await scan(text, true)).map(({ start, end }) => bytes.toString('utf8', start, end))
}

const long = 'A'.repeat(jsonContentBytes + 1)

t.test('the long contents of attachments, and nothing else', async t => {
  const other = long.replace('A', 'B')
  const found: [text: string, spans: string[]][] = [
    [`{"attachments":[{"content":"${long}"}]}`, [long]],
    [`{"attachments":[{"filename":"x","data":"${long}","content":"${other}"}]}`, [long, other]],
    [` { "é\\"" : [{}, "]}"], "attachments" : [ {} , {"a":{"b":[1]},"content" :\n"${long}" } ] }`, [long]],
    [`{"attachments":[{"content":"\\"${long}\\\\"}]}`, [`\\"${long}\\\\`]],
    [`{"attachments":[{"content":"${long.slice(1)}"}]}`, []],
    [`{"attachments":[{"contents":"${long}"}]}`, []],
    [`{"attachments":[{"content":["${long}"]}]}`, []],
    [`{"attachments":["${long}"]}`, []],
    [`{"attachments":{"content":"${long}"}}`, []],
    [`{"attachments":{"a":{"content":"${long}"}}}`, []],
    [`{"Attachments":[{"content":"${long}"}]}`, []],
    [`{"x":[{"content":"${long}"}],"attachments":[]}`, []],
    [`[[{"content":"${long}"}]]`, []],
    [`{"a":{"attachments":[{"content":"${long}"}]}}`, []],
    [`{"attachments":[{"${long}":1,"content":"x"}]}`, []],
    ['"', []],
    [']}', []],
    ['', []],
  ]
  for (const [text, spans] of found) t.strictSame(await taken(text), spans, text.slice(0, 60))
  t.strictSame(await scan(found[0]![0], false), [], 'where none may be')
})

t.test('what would be made into much is refused before', async t => {
  const deep = jsonDepth
  await scan(`${'['.repeat(deep)}1${']'.repeat(deep)}`, false)
  await scan(`[${'0,'.repeat(jsonValues - 3)}0]`, false)
  const members = jsonValues / 2
  await scan(`{${'"":0,'.repeat(members - 2)}"":0}`, false)
  const families = {
    'as many names as values': `{${'"":0,'.repeat(members - 1)}"":0}`,
    brackets: '['.repeat(manyTimes),
    'objects in lists': '[{"":'.repeat(manyTimes),
    'one level too much': `${'['.repeat(deep + 1)}${']'.repeat(deep + 1)}`,
    'many items': `[${'0,'.repeat(manyTimes)}0]`,
    'many names': `{${'"":0,'.repeat(manyTimes)}"":0}`,
    'many empty objects': `[${'{},'.repeat(manyTimes)}{}]`,
    'commas alone': ','.repeat(manyTimes),
  }
  for (const [name, text] of Object.entries(families)) {
    for (const takesContents of [false, true]) {
      await t.rejects(() => scan(text, takesContents), { code: 'invalid_request' }, name)
    }
  }
})

t.test('besides the contents a text is small, whatever it is made of', async t => {
  const room = jsonTextBytes
  const content = `{"attachments":[{"content":"${'A'.repeat(room)}"}]`
  t.equal((await scan(`${content}${' '.repeat(room / 2)}}`, true)).length, 1)
  for (const text of [
    ' '.repeat(room + 2),
    `${content}${' '.repeat(room)}}`,
    `{"body":"${'A'.repeat(room)}"}`,
    `{"body":"${'\\"'.repeat(room)}"}`,
    `{"body":"${'A'.repeat(room)}`,
    `{"${'A'.repeat(room)}":1}`,
    '1'.repeat(room + 2),
  ]) {
    await t.rejects(() => scan(text, true), { code: 'payload_too_large' }, text.slice(0, 20))
    await scan(text, false)
  }
})

t.test('a string ends where JSON says, wherever the steps of the scan end in it', async t => {
  const step = 64 * 1024
  const pieces = ['\\\\', '\\"', '\\u0022', '\\/', 'A', '[', ']', '{', '}', ',', ':', '7', 'é']
  // A generator of its own, so that a fault comes again (numerical recipes, in 32 bits).
  let state = 9
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
  for (let round = 0; round < 100; round++) {
    const count = step - 40 + next(60)
    const filling = round % 3 === 0 ? '\\\\'.repeat(count / 2) : 'A'.repeat(count)
    const border = Array.from({ length: 40 }, () => pieces[next(round % 2 === 0 ? 3 : pieces.length)]).join(
      '',
    )
    const content = filling + border + 'A'.repeat(next(3) * step) + border
    t.strictSame(await taken(`{"a":"${border}","attachments":[{"content":"${content}"},{"x":[1]}]}`), [
      content,
    ])
  }
})

t.test('long texts are looked over in many turns of the event loop', async t => {
  const large = 4 * sliceBytes
  const pieces = [
    '"',
    '\\',
    '\\\\',
    '\\"',
    '\\u0022',
    '\\u',
    '[',
    ']',
    '{',
    '}',
    '7',
    ',',
    ':',
    ' ',
    'A',
    '"x"',
    '"":',
    'é',
    '\0',
  ]
  for (const head of ['', '"', '{"attachments":[{"content":"']) {
    for (const [n, piece] of pieces.entries()) {
      const end = n % 2 ? '"' : '\\"'
      const text = head + piece.repeat(large / piece.length) + end
      for (const takesContents of [false, true]) {
        let isRefused = false
        const { turns } = await turnsDuring(() =>
          scan(text, takesContents).catch(() => {
            isRefused = true
          }),
        )
        // What is refused need not be looked over.
        t.ok(isRefused || turns >= large / sliceBytes / 2, `${text.slice(0, 12)} ${end}: ${turns} turns`)
      }
    }
  }
})
