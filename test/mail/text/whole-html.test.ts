import t from 'tap'
import { unflow } from '../../../lib/mail/text/flowed.ts'
import { htmlToText, isHtml } from '../../../lib/mail/text/html.ts'
import { htmlFragment } from '../../../lib/mail/text/html-fragment.ts'
import { findLinks } from '../../../lib/mail/text/links.ts'
import { withoutQuotes } from '../../../lib/mail/text/own-html.ts'
import { byLength, type Facts, sameFacts } from '../../support/kept-facts.ts'

const documents = [
  '',
  'plain & simple',
  'a < b > c',
  '<p>one</p><p>two</p>',
  '<p>one<p>two',
  'one<br>two<br/><br />three',
  '<div>a<div>b</div>c</div>',
  '<h1>T</h1>x<h2>U</h2>y',
  '<ul><li>a<li>b<ul><li>c</ul></ul>d',
  '<ol start="3"><li>a</li><li>b</li></ol>',
  '<ol reversed><li>a</li><li>b</li></ol>',
  '<table><tr><td>a<td>b<tr><th>c<th>d</table>',
  '<table><tr><td><table><tr><td>in</table></table>out',
  '<blockquote>q<blockquote>r</blockquote>s</blockquote>t',
  '<pre>  a\n   b\n</pre>c',
  '<p>  a \n  b\t c&nbsp;&nbsp;d  </p>',
  '<b>a</b><i>b</i> <u>c</u>',
  '<a href="https://example.com/a">here</a> and <a href="mailto:a@b.example">mail</a> and <a>none</a>',
  '<a href="https://example.com/a">https://example.com/a</a>',
  '<a href="https://example.com/a">example.com/a</a>',
  '<a href=" https://example.com/ ">  a   b </a><a href="https://example.com/">second</a>',
  '<a href="javascript:alert(1)">x</a><a href="//example.com">y</a><a href="HTTP://EXAMPLE.com/Z">z</a>',
  '<a href="https://example.com/i"><img alt="An image" src="https://example.com/i.png"></a>',
  '<a href="https://example.com/o">a<a href="https://example.com/p">b</a>c</a>',
  '<img src="cid:x" alt="alt text"><img src=x><img alt="">',
  '<hr>between<hr/>',
  '<script>alert("<p>x</p>")</script>a<style>p{}</style>b<title>t</title>c',
  '<noscript>n</noscript><template>m</template><textarea>t</textarea><select><option>o</select>',
  '<div style="display:none">hidden</div><span style="DISPLAY : NONE !important">too</span><p hidden>three</p>shown',
  '<div style="visibility:hidden">v</div><div style="max-height:0;overflow:hidden">m</div><div style="font-size:0">f</div><div style="opacity:0">o</div>x',
  '<div style="color:red;background:url(x);position:fixed;margin:-3px;padding:1px">styled</div>',
  '<p onclick="x()" class=c id=i title="T" align=left dir=rtl lang=he>attributes</p>',
  '<!-- comment --><![CDATA[cdata]]><?php x ?><!DOCTYPE html>behind',
  '<!--[if mso]><p>Outlook</p><![endif]-->others',
  '<o:p>&nbsp;</o:p><v:shape>v</v:shape><custom-tag>c</custom-tag>',
  '<p>&lt;b&gt; &amp;amp; &#8364; &#x20ac; &euro; &notanentity; &copy &#0; &#xD800; &#1114112;</p>',
  '<p>a\0b</p>',
  '<html><head><title>T</title></head><body bgcolor=red><p>body</p></body></html>',
  '<font color="#123456" size=3 face="Arial">f</font><center>c</center><big>b</big>',
  '<dl><dt>term<dd>said<dt>other<dd>said</dl>',
  '<q>quoted</q><sub>2</sub><sup>3</sup><code>x</code><kbd>y</kbd><del>z</del>',
  '<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>',
  '<p>unclosed <b>bold <i>both</p><p>after',
  '</p></div>closing first',
  '<p>attr "unquoted=yes> <p a=\'b"c\'>x',
  '<',
  '<p',
  '</',
  '&',
  `${'<div>'.repeat(60)}deep${'</div>'.repeat(60)}`,
  `${'<ul>'.repeat(40)}<li>deep`,
  '<div>new</div><div class="gmail_quote">On x wrote:<blockquote class="gmail_quote">old</blockquote></div>',
  '<div>new</div><div class="gmail_quote"><div class="gmail_attr">On x</div><blockquote class="gmail_quote">old<div>new?</div></blockquote>below</div>after',
  '<div>new</div><blockquote type="cite"><div>old</div></blockquote><div>below</div>',
  '<p>new</p><div id="divRplyFwdMsg"><b>From:</b> x</div><p>old</p>',
  '<p>new</p><div id="appendonsend"></div><hr tabindex="-1"><div id="divRplyFwdMsg">From</div>old',
  '<p>new</p><hr tabindex="-1">old',
  '<p>new</p><div class="x_gmail_quote yiv123gmail_quote">old</div>',
  '<p>new</p><div class="ydp12yahoo_quoted">old</div>tail',
  '<p>new</p><div style="border:none;border-top:solid #B5C4DF 1.0pt">From: x</div>old',
  '<p>new</p><div style="border-top-style: solid; border-color: rgb(229, 229, 229)">From: x</div>old',
  '<p>new</p><div class="gmail_signature">Ann</div><div class="gmail_quote">old</div>',
  '<p>new</p><div class="moz-cite-prefix">On x:</div><blockquote cite="mid:1">old</blockquote><p>more</p>',
  '<includetail><div>old</div></includetail>new',
  '<div class="gmail_quote">forwarded<div class="gmail_quote">older</div></div>',
]

const texts = [
  'see https://example.com/a, and (https://example.com/b) or <https://example.com/c>.',
  'https://example.com/a_(b) https://example.com/[c] https://example.com/d). https://example.com/e!?',
  'http://x HTTP://Y https:// https://[::1]/ ftp://no https://例え.テスト/パス',
  'https://example.com/a https://example.com/a https://example.com/b',
  'nohttps://example.com x-https://example.com/y',
]

t.test('HTML as text, as a fragment, its links, and what of it is new', async t => {
  sameFacts(t, 'html', [
    ...documents.map(
      (html): Facts => [
        `html ${JSON.stringify(html).slice(0, 200)}`,
        {
          isHtml: isHtml(html),
          text: htmlToText(html),
          fragment: htmlFragment(html, 10_000),
          links: findLinks({ text: '', html }),
          own: withoutQuotes(html, false),
          forwarded: withoutQuotes(html, true),
        },
      ],
    ),
    ...texts.map((text): Facts => [`text ${text}`, findLinks({ text, html: '' })]),
  ])
})

t.test('HTML, cut off at each length', async t => {
  const html =
    '<p style="color:red">a &amp; <b>b<br>c</b></p><ul><li>d<a href="https://example.com/">e</a></ul><pre> f\n g</pre>&euro;<!-- h -->i'
  sameFacts(t, 'html-cut-off', [
    ['text', byLength(Buffer.from(html), beginning => htmlToText(beginning.toString()))],
    ['fragment', byLength(Buffer.from(html), beginning => htmlFragment(beginning.toString(), 1000))],
    ['room', byLength(Buffer.from(html), beginning => htmlFragment(html, beginning.length))],
    [
      'flowed',
      byLength(Buffer.from('a \nb \n> c \n> d\n>> e \n> f\n  g \n-- \nh \ni'), beginning => [
        unflow(beginning.toString(), false),
        unflow(beginning.toString(), true),
      ]),
    ],
  ])
})
