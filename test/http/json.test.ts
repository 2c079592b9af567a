import t from 'tap'
import { keptJson } from '../../lib/http/json.ts'
import { turnsDuring } from '../support/event-loop.ts'

t.test('who waits for an answer that is made once is answered in a turn of his own', async t => {
  const value = { text: 'x'.repeat(100_000) }
  const count = 50
  // What is asked for at once has been asked for before any of it is made.
  const { result, turns } = await turnsDuring(() =>
    Promise.all(Array.from({ length: count }, () => keptJson(value))),
  )
  t.equal(new Set(result).size, 1, 'it is one and the same')
  t.ok(turns >= count, `${turns} turns`)
  const { turns: later } = await turnsDuring(() => Promise.all([keptJson(value), keptJson(value)]))
  t.equal(later, 0, 'what is made is there at once')
})
