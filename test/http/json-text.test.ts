import t from 'tap'
import { createPace } from '../../lib/base/concurrency.ts'
import { jsonBytes, jsonLength } from '../../lib/http/json-text.ts'
import { turnsDuring } from '../support/event-loop.ts'

const long = 200_000
const family: Readonly<Record<string, unknown>> = {
  nothing: null,
  'a number': 1.5,
  'a short text': 'a "b" \\',
  'a long text': 'x'.repeat(long),
  escapes: '\u0000\u0001"\\\n\u2028</script>'.repeat(long / 10),
  'pairs of surrogates': '🐟'.repeat(long),
  'the same, one byte on': `x${'🐟'.repeat(long)}`,
  'halves of pairs': '\ud83d'.repeat(long) + '\udc1f'.repeat(long),
  'a list': Array.from({ length: long }, (_, n) => n),
  'what is not there': [undefined, { a: undefined, b: 'x'.repeat(long) }, undefined],
  'a page': {
    data: Array.from({ length: 5 }, (_, n) => ({
      id: n,
      'a "name"': null,
      isRead: false,
      references: ['a', 'b'],
      bodyText: `č${n}`.repeat(long),
      authentication: { spf: 'pass', details: [] },
    })),
    total: 5,
  },
  'a short page': {
    data: Array.from({ length: 50 }, (_, n) => ({ id: n, bodyText: `č${n}`.repeat(1000), to: ['a', 'b'] })),
  },
  'nothing in it': { data: [], more: {}, text: 'x'.repeat(long) },
}

t.test('it is what JSON.stringify makes', async t => {
  for (const [name, value] of Object.entries(family)) {
    t.ok((await jsonBytes(value, createPace())).equals(Buffer.from(`${JSON.stringify(value)}\n`)), name)
  }
})

t.test('its length is known before, up to the most that is asked', async t => {
  t.ok(jsonLength(family['a page'], Infinity) > 5 * long)
  for (const [name, value] of Object.entries(family)) {
    const isLong = JSON.stringify(value).length > 64 * 1024
    t.equal(jsonLength(value, 64 * 1024) > 64 * 1024, isLong, name)
  }
})

t.test('what is long is made in many turns, of all together', async t => {
  const mebibytes = 3
  const value = { data: ['č'.repeat(mebibytes * 1024 * 1024)] }
  const { turns: alone } = await turnsDuring(() => jsonBytes(value, createPace()))
  t.ok(alone >= mebibytes, `${alone} turns`)
  const { turns } = await turnsDuring(() =>
    Promise.all(Array.from({ length: 4 }, () => jsonBytes(value, createPace()))),
  )
  t.ok(turns >= 4 * mebibytes, `${turns} turns`)
})
