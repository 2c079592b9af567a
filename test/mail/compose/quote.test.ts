import t from 'tap'
import {
  type QuotedMessage,
  quoteHtml,
  quoteLength,
  quoteText,
  withQuote,
} from '../../../lib/mail/compose/quote.ts'
import { manyTimes } from '../../support/hostile.ts'

const previous: QuotedMessage = {
  text: 'Hello Ann,\r\n\r\n> earlier\nbye\n\n',
  html: null,
  date: new Date('2026-11-03T08:05:59.999Z'),
  from: { address: 'bob@example.com', name: 'Bob Löwe' },
}

t.test('text is quoted line by line under who wrote it and when', async t => {
  t.equal(
    quoteText(previous),
    'On 3 Nov 2026 at 08:05 UTC, Bob Löwe wrote:\n> Hello Ann,\n>\n> > earlier\n> bye\n',
  )
  t.match(
    quoteText({ ...previous, from: { address: 'bob@example.com', name: null } }),
    /UTC, bob@example\.com wrote:\n/,
  )
  t.match(
    quoteText({ ...previous, from: { address: 'b@x', name: 'Bob\r\nwrote:\u2028> x' } }),
    /UTC, Bob wrote: > x wrote:\n/,
  )
  t.match(quoteText({ ...previous, text: ' ', html: '<p>only<br>HTML</p>' }), '\n> only\n> HTML\n')
})

t.test('HTML is quoted as what it shows', async t => {
  const html = '<html><body><p>Hi <b>there<script>x()</script></body></html>'
  const quoted = quoteHtml({ ...previous, html })
  t.match(quoted, /^<div><br>On 3 Nov 2026 at 08:05 UTC, Bob Löwe wrote:<br><blockquote type="cite"/)
  t.ok(quoted.endsWith('<p>Hi <b>there</b></p></blockquote></div>'))
  t.match(
    quoteHtml({ ...previous, text: '<script>x()</script> & a\n b' }),
    '&lt;script&gt;x()&lt;/script&gt; &amp; a\n b',
  )
  t.match(
    quoteHtml({ ...previous, from: { address: 'b@x', name: '<img src=x>' } }),
    '&lt;img src=x&gt; wrote:',
  )
})

t.test('a body gets the quote in each of its forms', async t => {
  t.same(withQuote({ text: 'Thanks\n', html: null }, previous), {
    text: `Thanks\n\n${quoteText(previous)}`,
    html: null,
  })
  const quote = quoteHtml(previous)
  t.equal(withQuote({ text: 'x', html: '<p>Thanks</p>' }, previous).html, `<p>Thanks</p>${quote}`)
  t.equal(
    withQuote({ text: 'x', html: '<html><BODY>a</BODY></html>\n' }, previous).html,
    `<html><BODY>a${quote}</BODY></html>\n`,
  )
  t.equal(withQuote({ text: 'x', html: '<html>a</html >' }, previous).html, `<html>a${quote}</html >`)
})

t.test('a long message is cut and the quote says so', async t => {
  const text = 'line\n'.repeat(quoteLength)
  const quoted = quoteText({ ...previous, text })
  t.ok(quoted.length < 2 * quoteLength && quoted.endsWith('> line\n> […]\n'))
  const html = quoteHtml({ ...previous, html: '<p>line</p>'.repeat(quoteLength) })
  t.ok(html.length < quoteLength + 1000 && html.endsWith('<div>[…]</div></blockquote></div>'))
  const escaped = quoteHtml({ ...previous, text })
  t.ok(escaped.length < quoteLength + 1000 && escaped.endsWith('[…]</div></blockquote></div>'))
  t.ok(quoteText({ ...previous, text: '🎉'.repeat(quoteLength) }).isWellFormed())
})

t.test('hostile messages do not take long', async t => {
  for (const part of ['<div>', '</body>', '<', '</body ', '\n', ' ', '>', '<blockquote>', '</html >']) {
    const text = part.repeat(manyTimes)
    const { html } = withQuote({ text, html: text }, { ...previous, text, html: text })
    t.match(html, /<blockquote/)
  }
})
