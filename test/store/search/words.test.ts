import t from 'tap'
import { indexTokens } from '../../../lib/store/search/words.ts'

t.test('of a long text the beginning is kept, in whatever script', async t => {
  const kept = 256 * 1024
  for (const [filler, last, beyond] of [
    ['x', 'tail', 'more'],
    ['ж', 'хвост', 'еще'],
  ] as const) {
    const text = `${filler.repeat(kept - last.length - 1)} ${last} ${beyond}`
    const tokens = indexTokens(text)
    t.strictSame(tokens.slice(1), [last], 'the last word that has room whole, and none behind it')
    t.equal(tokens[0]?.length, 64, 'a word that is no word is cut')
    t.strictSame(indexTokens(`y${text}`).slice(1), [last.slice(0, -1)], 'one that has not is cut')
  }
})
