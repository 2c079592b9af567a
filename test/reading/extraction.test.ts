import t from 'tap'
import { extract } from '../../lib/reading/extraction.ts'
import { hostileTexts, manyTimes } from '../support/hostile.ts'

t.test('lines that are nearly something are read in a moment', async t => {
  let count = 0
  for (const text of hostileTexts(manyTimes / 5, {
    heads: ['on 2020 ', 'from', '-----original message', 'otp ', 'your code ', '2020 <'],
    fillings: [' ', '\u00a0', '1č', '1 wrote ', '@', '*', ':', 'a@'],
    ends: ['x:', 'x', ' >:'],
  })) {
    count++
    extract({ subject: text, text, html: '' })
  }
  t.equal(count, 3 * 6 * 8 * 3)
})

t.test('tags that are nearly a quote or a link are read in a moment', async t => {
  let count = 0
  for (const html of hostileTexts(manyTimes / 5, {
    heads: ['<div id=', '<div class="', '<blockquote type', '<a href="http://a', '<p>'],
    fillings: [' ', 'id=', ' gmail_quot', 'gmail_quote ', '&nbsp;', '<i>'],
    ends: ['>', '">x</a>'],
  })) {
    count++
    extract({ subject: '', text: 'x', html })
  }
  t.equal(count, 3 * 5 * 6 * 2)
})
