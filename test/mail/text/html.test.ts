import t from 'tap'
import { escapeHtml } from '../../../lib/base/text.ts'
import { blobInDatabaseBytes } from '../../../lib/core/mailbox/raws.ts'
import { htmlLength, htmlToText, isHtml } from '../../../lib/mail/text/html.ts'
import { htmlElements, htmlFragment } from '../../../lib/mail/text/html-fragment.ts'
import { htmlOpenElements, htmlPieces, walkHtml } from '../../../lib/mail/text/html-walk.ts'
import { manyTimes } from '../../support/hostile.ts'

t.test('what is HTML', async t => {
  for (const html of [
    '<p>Hello',
    '<b>bold</b> and plain',
    'line<br>line',
    'line<br/>line',
    '<!DOCTYPE html><html><body>Hello</body></html>',
    '<HTML><BODY BGCOLOR=white NOSHADE>x',
    'see <a href="https://example.com/?a=1&b=2">this</a>',
    'see <a\nhref=x\n>this</a>',
    '<img src=x alt>',
    '<unknown><i class="">x</i></unknown>',
    `${'<x>'.repeat(1000)}<p>`,
  ])
    t.ok(isHtml(html), html.slice(0, 60))
})

t.test('what is not', async t => {
  for (const text of [
    '',
    'Hello',
    'a < b and c > d',
    'a <b and c> d',
    'x<a && y>b',
    'if (a<b || c>d) return',
    '<ann@example.com>',
    'Ann <ann@example.com> wrote:',
    'see <https://example.com/p>',
    'Dear <name>, your <placeholder> is ready',
    '<p',
    '< p >',
    '</b>',
    '&lt;p&gt; &amp; more',
    '<!-- <p> -->',
    '<?xml version="1.0"?>',
    'vector<int> v; map<string, int> m',
    '<3 you',
    '<<<>>>',
  ])
    t.notOk(isHtml(text), text)
})

t.test('HTML as text', async t => {
  const text =
    htmlToText(`<!DOCTYPE html><html><head><title>Title</title><style>p{color:red}</style></head><body>
    <h1>Offer</h1><p>Dear Ann,<br>see&nbsp;<a href="https://example.com/a">our offer</a> &amp; reply.</p>
    <p><a href="https://example.com/">https://example.com/</a> or <a href="mailto:bob@example.com">bob@example.com</a></p>
    <ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table>
    <script>alert(1)</script><img src="cid:x" alt="Logo"><img src="https://example.com/pixel.gif">
    <p>${'word '.repeat(60)}</p></body></html>`)
  t.match(text, /^Offer\n\nDear Ann,\nsee\u00a0our offer \[https:\/\/example\.com\/a\] & reply\.\n\n/)
  t.match(text, /\nhttps:\/\/example\.com\/ or bob@example\.com\n/)
  t.match(text, /\n \* one\n \* two\n/)
  t.match(text, 'Logo')
  t.match(text, 'word '.repeat(60).trim(), 'lines are not wrapped')
  t.notMatch(text, /Title|color:red|alert|pixel|cid:/)
  t.equal(htmlToText('just text'), 'just text')
  t.equal(htmlToText(''), '')
})

t.test('a fragment holds what is shown and nothing that acts', async t => {
  const fragment = (html: string): string => htmlFragment(html, 10_000).html
  for (const [html, expected] of [
    ['<html><head><title>x</title></head><body onload=go() class=c><p>Hi</p></body></html>', '<p>Hi</p>'],
    ['<p>a<b>b', '<p>a<b>b</b></p>'],
    ['a</div></td></blockquote>b', 'ab'],
    ['<script>alert(1)</script>x<style>y</style>', 'x'],
    ['<svg><script>alert(1)</script><a href="https://a/">t</a></svg>x', 'x'],
    ['<img src=x onerror=alert(1) alt="a&quot;b">', '<img alt="a&quot;b">'],
    ['<img src="https://a/b.png" width=1>', '<img src="https://a/b.png" width="1">'],
    ['<a href="javascript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href=" JaVa&#115;cript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href="java\nscript:x">x</a><a href="data:text/html,x">y</a>', '<a>x</a><a>y</a>'],
    ['<a href="mailto:a@b">x</a>', '<a href="mailto:a@b">x</a>'],
    ['<form action=x><input value=y><button>ok</button></form>', 'ok'],
    ['<iframe src=x>y</iframe><object>z</object><base href=x><meta http-equiv=refresh>', ''],
    ['<!-- c --><!--[if mso]>x<![endif]-->y<o:p>z</o:p>', 'yz'],
    ['1 &lt;script&gt; &amp;lt; "q"', '1 &lt;script&gt; &amp;lt; &quot;q&quot;'],
    ['<p style="color:red;position:fixed;background:url(x);margin:-9px">x', '<p style="color:red">x</p>'],
    ['<p style="width:expression(x);\\70osition:fixed;color:r\\65d">x', '<p style="">x</p>'],
    ['<br><hr><wbr>', '<br><hr><wbr>'],
    ['<head><p>no body', '<p>no body</p>'],
  ] as const)
    t.equal(fragment(html), expected, html)
})

t.test('a fragment is closed wherever it is cut, and as deep as it may be', async t => {
  const long = htmlFragment(`<div><b>${'<i>x</i>'.repeat(1000)}</b></div>`, 500)
  t.ok(long.cut)
  t.match(long.html, /<\/b><\/div>$/)
  t.ok(long.html.length < 550)
  const text = htmlFragment(`<p>${'&'.repeat(1000)}`, 600)
  t.ok(text.cut && text.html.length <= 604 && text.html.length > 400 && text.html.endsWith('</p>'))
  const deep = htmlFragment(`${'<div>'.repeat(3000)}inside${'</div>'.repeat(3000)}<p>after</p>`, 1_000_000)
  t.notOk(deep.cut)
  t.match(deep.html, 'inside')
  t.match(deep.html, '<p>after</p>')
  t.equal(deep.html.match(/<div>/g)?.length, deep.html.match(/<\/div>/g)?.length)
  const quotes = htmlFragment(`${'<blockquote>'.repeat(50)}x`, 10_000)
  t.equal(quotes.html.match(/<blockquote>/g)?.length, 20)
})

t.test('of very many elements the last ones leave only their text', async t => {
  const { html, cut } = htmlFragment('<b>x</b>'.repeat(htmlElements + 1000), 10 * manyTimes)
  t.notOk(cut)
  t.equal(html.match(/<b>/g)?.length, htmlElements)
  t.ok(html.endsWith(`</b>${'x'.repeat(1000)}`))
})

t.test('no shape of a message of 256 kB makes more than a bounded number of pieces', async t => {
  const shapes = [
    ...[
      '<ul><li>x',
      '<ul><li>x</li></ul>',
      '<ol type=i><li>x',
      '<table><tr><td>x',
      '<table><tr><td>',
      '<h1>x</h1>',
    ],
    ...[
      '<h1><h2><h3>x',
      '<blockquote>x',
      '<dl><dt>x<dd>y',
      '<a href="http://a.b">x</a>',
      '<a href=x>',
      '<img alt=x>',
    ],
    ...[
      '<pre>x\n',
      '<pre>x</pre>',
      '&amp;',
      '&x',
      '<p a=b c=d>',
      '<',
      '<b>',
      '<b>x<i>y',
      '<!-->',
      '<!--x-->',
      '<style>x</style>',
    ],
    ...[
      '</p>',
      '<br>',
      '<hr>',
      '<td>x',
      '<p>',
      '<p> ',
      '<select><option>',
      '<svg>',
      '<script>x</script>',
      '<title>x</title>',
    ],
  ].map(part => part.repeat(blobInDatabaseBytes / part.length))
  for (const html of [...shapes, `<p ${shapes[0]!.replaceAll('<', ' a')}>`, `<ul><li>${shapes[0]}`]) {
    let pieces = 0
    const count = () => {
      pieces++
    }
    walkHtml(html, { open: count, close() {}, text: count, done: () => false })
    t.ok(pieces <= htmlPieces + htmlOpenElements, html.slice(0, 20))
    const elements = htmlFragment(html, htmlLength).html.match(/<[a-z]/g) ?? []
    t.ok(elements.length <= htmlElements, html.slice(0, 20))
  }
})

t.test('of very many pieces the last are left out, and that is said', async t => {
  const paragraphs = '<p>word</p>'.repeat(htmlPieces)
  const { cut, html } = htmlFragment(paragraphs, htmlLength)
  t.ok(cut)
  t.match(html, /<p>word<\/p> word word/)
  t.ok(htmlToText(paragraphs).endsWith('\n[…]'))
  t.notOk(htmlFragment('<p>word</p>'.repeat(1000), htmlLength).cut)
})

t.test('a rule is a line of its own, and not much of a text', async t => {
  t.equal(htmlToText('<p>a</p><hr><p>b</p>'), `a\n\n${'-'.repeat(20)}\n\nb`)
  t.ok(htmlToText('<hr>'.repeat(1000)).length < 23 * 1000)
})

t.test('lists are numbered in Roman letters as far as there are any', async t => {
  t.match(htmlToText('<ol type=i start=3998><li>a</ol>'), / mmmcmxcviii\. a/)
  for (const start of ['3999', '4000', '999999999', '1e300', 'x', '-5']) {
    t.match(htmlToText(`<ol type=I start=${start}><li>a<li>b</ol>`), /a\n.*b/, start)
  }
  t.match(htmlToText(`<ol type=i>${'<li>a'.repeat(4500)}</ol>`), / 4500\. a/)
})

t.test('what escapes comes back as text', async t => {
  t.equal(escapeHtml(`<a href="x">'&`), '&lt;a href=&quot;x&quot;&gt;&#39;&amp;')
  t.equal(htmlToText(escapeHtml('<script>a & b</script>')), '<script>a & b</script>')
})

t.test('nothing takes long', async t => {
  const size = manyTimes
  const repeated = [
    ...[
      '<div>',
      '<b>',
      '<x>',
      '<',
      '<blockquote><br>',
      '<table><tr><td>',
      '<a href=x>',
      '<a x=1 ',
      '&',
      '<!--',
    ],
    ...[
      '<p>',
      '</p>',
      '<ul><li>',
      ' ',
      '<br>',
      '<script>',
      '<pre>',
      '<svg>',
      '<hr>',
      '</b>',
      '<b>a</b>',
      '<?x',
    ],
  ]
  const hostile = [
    ...repeated.map(part => part.repeat(size / part.length)),
    '<b>'.repeat(80_000) + '</i>'.repeat(60_000),
    '<b>'.repeat(499) + '</i>'.repeat(120_000),
    '<b>'.repeat(490) + '<u></u>'.repeat(70_000),
    '<blockquote>'.repeat(30) + '<br>x'.repeat(100_000),
    `<b ${Array.from({ length: 60_000 }, (_, i) => `a${i}=1`).join(' ')}>`,
    `<b style="color:${'-'.repeat(size)}">`,
    `<${'a'.repeat(size)}`,
  ]
  for (const html of hostile) {
    isHtml(html)
    t.type(htmlToText(html), 'string', html.slice(0, 20))
  }
})

t.test('what stands in two blocks is two words, whichever elements they are', async t => {
  for (const name of [
    'center',
    'address',
    'dt',
    'dd',
    'dl',
    'figure',
    'figcaption',
    'summary',
    'menu',
    'caption',
  ])
    t.equal(htmlToText(`<${name}>Your code</${name}><${name}>482913</${name}>`), 'Your code\n482913', name)
})
