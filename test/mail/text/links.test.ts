import t from 'tap'
import { linksShown } from '../../../lib/base/lengths.ts'
import { findLinks, linkLength, linkTextLength } from '../../../lib/mail/text/links.ts'
import { newText } from '../../../lib/mail/text/reply-text.ts'
import { manyTimes } from '../../support/hostile.ts'

const ofText = (text: string) => findLinks({ text, html: '' }).map(link => link.url)
const ofHtml = (html: string) => findLinks(newText({ subject: '', text: '', html }))

t.test('in text: where a URL ends', async t => {
  for (const [text, ...urls] of [
    ['See https://a.example/x?y=1&z=2#f.', 'https://a.example/x?y=1&z=2#f'],
    ['(https://a.example/x)', 'https://a.example/x'],
    [
      'https://a.example/wiki/X_(y), and HTTP://B.example!',
      'https://a.example/wiki/X_(y)',
      'HTTP://B.example',
    ],
    ['<https://a.example/>', 'https://a.example/'],
    ['请点击https://a.example/确认。', 'https://a.example/'],
    ['https://a.example https://a.example', 'https://a.example'],
    ['mailto:x@a.example ftp://a.example javascript:alert(1) https:// http://'],
    ['www.a.example and a.example/x'],
  ] as const) {
    t.strictSame(ofText(text), urls, text)
  }
})

t.test('in HTML: what each stands under', async t => {
  t.strictSame(
    ofHtml(`<p><a href="https://a.example/?a=1&amp;b=2">Confirm
      <b>now</b></a> <a href='https://a.example/?a=1&amp;b=2'>again</a>
      <a href="https://b.example/"><img src="x" alt="The logo"></a> <a href="mailto:x@y.example">mail</a>
      <a href="javascript:alert(1)">x</a> <a>nothing</a> <a href="/relative">r</a> https://text.example
      <a href=" https://c.example ">c</a></p>
      <div class="gmail_quote"><a href="https://old.example">old</a></div>`),
    [
      { url: 'https://a.example/?a=1&b=2', text: 'Confirm now' },
      { url: 'https://b.example/', text: 'The logo' },
      { url: 'https://c.example', text: 'c' },
    ],
  )
  t.strictSame(ofHtml('<a href="https://a.example"><img></a><a href="https://a.example">words</a>'), [
    { url: 'https://a.example', text: 'words' },
  ])
})

t.test('bounds', async t => {
  const many = Array.from(
    { length: 1000 },
    (_, n) => `<a href="https://a.example/${n}">${'x'.repeat(1000)}</a>`,
  )
  const links = ofHtml(many.join(''))
  t.equal(links.length, linksShown)
  t.equal(links[0]?.text.length, linkTextLength)
  t.strictSame(ofHtml(`<a href="https://a.example/${'x'.repeat(linkLength)}">x</a>`), [])
  t.equal(ofText(many.join(' ')).length, linksShown)
  for (const text of [
    'https://'.repeat(manyTimes),
    `https://a.example/${'('.repeat(manyTimes)}`,
    `https://a/${')'.repeat(manyTimes)}`,
    // As long as a link may be; all are the same one, so that they never are enough.
    `https://a/${')'.repeat(linkLength - 10)} `.repeat(manyTimes / 100),
    '<a href='.repeat(manyTimes),
  ]) {
    t.type(findLinks({ text, html: '' }).length, 'number', text.slice(0, 20))
    t.type(findLinks({ text: '', html: text }).length, 'number', text.slice(0, 20))
  }
})
