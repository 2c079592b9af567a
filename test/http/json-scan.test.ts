import t from 'tap'
import { limits } from '../../lib/base/limits.ts'
import { scanJson } from '../../lib/http/json-scan.ts'
import { manyTimes } from '../support/hostile.ts'

/** What the spans of a text hold. */
function taken(text: string): string[] {
  const bytes = Buffer.from(text)
  return scanJson(bytes, true).map(({ start, end }) => bytes.toString('utf8', start, end))
}

const long = 'A'.repeat(limits.jsonContentBytes + 1)

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
  for (const [text, spans] of found) t.strictSame(taken(text), spans, text.slice(0, 60))
  t.strictSame(scanJson(Buffer.from(found[0]![0]), false), [], 'where none may be')
})

t.test('what would be made into much is refused before', async t => {
  const deep = limits.jsonDepth
  scanJson(Buffer.from(`${'['.repeat(deep)}1${']'.repeat(deep)}`), false)
  scanJson(Buffer.from(`[${'0,'.repeat(limits.jsonValues - 3)}0]`), false)
  const members = limits.jsonValues / 2
  scanJson(Buffer.from(`{${'"":0,'.repeat(members - 2)}"":0}`), false)
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
      t.throws(() => scanJson(Buffer.from(text), takesContents), { code: 'invalid_request' }, name)
    }
  }
})

t.test('besides the contents a text is small, whatever it is made of', async t => {
  const room = limits.jsonTextBytes
  const content = `{"attachments":[{"content":"${'A'.repeat(room)}"}]`
  t.equal(scanJson(Buffer.from(`${content}${' '.repeat(room / 2)}}`), true).length, 1)
  for (const text of [
    ' '.repeat(room + 2),
    `${content}${' '.repeat(room)}}`,
    `{"body":"${'A'.repeat(room)}"}`,
    `{"body":"${'\\"'.repeat(room)}"}`,
    `{"body":"${'A'.repeat(room)}`,
    `{"${'A'.repeat(room)}":1}`,
    '1'.repeat(room + 2),
  ]) {
    t.throws(() => scanJson(Buffer.from(text), true), { code: 'payload_too_large' }, text.slice(0, 20))
    scanJson(Buffer.from(text), false)
  }
})
