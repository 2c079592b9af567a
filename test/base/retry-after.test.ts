import t from 'tap'
import { readRetryAfter } from '../../lib/base/problem.ts'

const now = new Date('2026-11-21T10:00:00.000Z')
const hour = 3_600_000

t.test('seconds, up to an hour', async t => {
  const cases: [string, number][] = [
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['3600', hour],
    ['86400', hour],
    ['9'.repeat(400), hour],
  ]
  for (const [text, ms] of cases) t.equal(readRetryAfter(text, now, hour), ms, text)
})

t.test('the three forms of an HTTP-date; what is past is now', async t => {
  const cases: [string, number][] = [
    ['Sat, 21 Nov 2026 10:02:00 GMT', 120_000],
    ['Saturday, 21-Nov-26 10:02:00 GMT', 120_000],
    ['Sat Nov 21 10:02:00 2026', 120_000],
    ['Sun Nov  8 10:02:00 2026', 0],
    ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun, 22 Nov 2026 10:00:00 GMT', hour],
  ]
  for (const [text, ms] of cases) t.equal(readRetryAfter(text, now, hour), ms, text)
})

t.test('anything else says nothing', async t => {
  for (const text of [
    '',
    '-1',
    '1.5',
    'soon',
    '1e3',
    '2026-11-21T10:02:00Z',
    'Sat, 41 Nov 2026 10:02:00 GMT',
    '+5',
  ])
    t.equal(readRetryAfter(text, now, hour), undefined, text)
})
