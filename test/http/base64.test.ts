import t from 'tap'
import { createPace, sliceBytes } from '../../lib/base/concurrency.ts'
import { decodeJsonBase64 } from '../../lib/http/base64.ts'
import { turnsDuring } from '../support/event-loop.ts'

t.test('base64 in JSON strings, as a parser and a decoder one after the other have it', async t => {
  const texts = [
    ...[
      '',
      'QQ==',
      'QUI=',
      'QUJD',
      'QUJDRA==',
      'QQ',
      'QUI',
      'Q',
      '=',
      '==',
      '===',
      'QQ===',
      'QUJD====',
      'Q=Q=',
    ],
    ...[
      'a+/b',
      'a-_b',
      'Q Q = =',
      'QU\\nJD',
      'QU\\r\\n\\tJD',
      '\\u0051\\u0051\\u003d=',
      'a+\\/b',
      'a\\\\b',
      'é',
      '\\"',
    ],
    ...[
      'QU\nJD',
      'QU\tJD',
      'Q\\xQ',
      '\\u00',
      '\\u0x41',
      '\\u 041',
      '\\',
      '\\u00e9',
      '\0',
      '\\u0000',
      '\\bQQ',
      '\\fQQ',
    ],
  ]
  for (const text of texts) {
    let expected: unknown
    try {
      const compact = (JSON.parse(`"${text}"`) as string).replace(/[ \t\n\v\f\r]/g, '')
      const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 !== 1
      expected = isBase64 ? Buffer.from(compact, 'base64').toString('hex') : undefined
    } catch {
      expected = 'no JSON'
    }
    const decoded = await decodeJsonBase64(Buffer.from(text), createPace()).then(
      bytes => bytes?.toString('hex'),
      error => (error instanceof SyntaxError ? 'no JSON' : error),
    )
    t.equal(decoded, expected, JSON.stringify(text))
  }
})

t.test('much of it, in slices', async t => {
  const bytes = Buffer.alloc(5 * sliceBytes + 1, 'not only one letter')
  const text = bytes.toString('base64').replace(/.{76}/g, '$&\\r\\n')
  const { result, turns } = await turnsDuring(() => decodeJsonBase64(Buffer.from(text), createPace()))
  t.ok(result?.equals(bytes))
  t.ok(turns >= text.length / sliceBytes, `${turns} turns`)
  t.equal(await decodeJsonBase64(Buffer.from('='.repeat(10 * sliceBytes)), createPace()), undefined)
})
