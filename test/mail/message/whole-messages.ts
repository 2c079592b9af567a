import { writeTnef } from '../tnef/written.ts'

/** Messages of many shapes, each short: what is read of them is kept whole (`whole-readings.test.ts`). */

const head = 'From: Ann <ann@example.com>\nTo: kim@dest.example\nSubject: Plan\nMIME-Version: 1.0\n'
const part = (header: string, content: string) => `--b\n${header}\n\n${content}\n`
const mixed = (kind: string, ...parts: readonly string[]) =>
  `${head}Content-Type: multipart/${kind}; boundary=b\n\n${parts.join('')}--b--\n`
const single = (header: string, content: string) => `${head}${header}\n\n${content}`
const plain = (text: string) => part('Content-Type: text/plain; charset=utf-8', text)
const html = (text: string) => part('Content-Type: text/html; charset=utf-8', text)
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

const written: Readonly<Record<string, string>> = {
  'a letter': single('Content-Type: text/plain; charset=utf-8', 'Hello Kim,\n\nsee you.\n\n-- \nAnn\n'),
  'no header': '\nHello\n',
  'no body': 'From: ann@example.com\nSubject: x\n',
  'no empty line': 'From: ann@example.com\nThis is no field\nSubject: behind\n',
  'a field without a name': 'From: ann@example.com\n: nothing\nSubject: behind\n\nx\n',
  'folded fields':
    'From: Ann\n <ann@example.com>\nSubject: one\n\ttwo\n  three\nTo: a@example.com,\n b@example.com\n\nx\n',
  'all fields':
    'Message-ID: <1@example.com>\nIn-Reply-To: <0@example.com> <00@example.com>\nReferences: <a@b>\n <c@d> junk <e@f>\nFrom: "Ann, Lee" <Ann@Example.COM>\nSender: Sec <sec@example.com>\nTo: Team: kim@dest.example, Bob <bob@example.net>;\nCc: =?utf-8?Q?J=C3=BCrgen?= <j@example.net>\nReply-To: list@example.com\nDate: Mon, 2 Nov 2026 09:41:05 +0100 (CET)\nThread-Index: AQHUmL3pVvmYWoNCAEqzhrXkYh4kUqYAABcd\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?= and =?utf-8?B?4oKs?=\n\nx\n',
  'two of each':
    'From: a@example.com\nFrom: b@example.com\nSubject: one\nSubject: two\nTo: x@a.example\nTo: y@b.example\n\nx\n',
  'no From': 'Sender: s@example.com\nSubject: x\n\nx\n',
  'several authors': 'From: a@example.com, b@example.com\nSender: a@example.com\n\nx\n',
  'a From that is none': 'From: nobody at all\n\nx\n',
  'a group as From': 'From: Undisclosed:;\n\nx\n',
  'text and HTML': mixed('alternative', plain('Hello *Kim*'), html('<p>Hello <b>Kim</b></p>')),
  'HTML alone': single(
    'Content-Type: text/html; charset=utf-8',
    '<h1>Plan</h1><p>See <a href="https://example.com/a?b=1&amp;c=2">it</a>.</p>',
  ),
  'text twice': mixed('mixed', plain('one'), plain('two'), html('<p>three</p>')),
  'a file': mixed(
    'mixed',
    plain('see'),
    part(
      'Content-Type: application/pdf; name="a.pdf"\nContent-Disposition: attachment; filename="b.pdf"\nContent-Transfer-Encoding: base64',
      base64('%PDF'),
    ),
  ),
  'a text that is a file': mixed(
    'mixed',
    plain('see'),
    part('Content-Type: text/plain; name=notes.txt\nContent-Disposition: inline', 'notes'),
  ),
  'a text with a name first': mixed(
    'mixed',
    part('Content-Type: text/plain; name=body.txt', 'body'),
    plain('more'),
  ),
  'an image in HTML': mixed(
    'related',
    html('<img src="cid:1@x">'),
    part('Content-Type: image/png\nContent-ID: <1@x>\nContent-Transfer-Encoding: base64', base64('PNG')),
  ),
  'names in pieces': mixed(
    'mixed',
    plain('x'),
    part(
      'Content-Type: application/octet-stream\nContent-Disposition: attachment;\n filename*0*=utf-8\'\'%e2%82%ac;\n filename*1=" and ";\n filename*2*=%41.pdf',
      'x',
    ),
  ),
  'a name in a charset': mixed(
    'mixed',
    plain('x'),
    part(
      "Content-Type: application/zip\nContent-Disposition: attachment; filename*=iso-8859-1'de'Gr%FC%DFe.zip",
      'x',
    ),
    part('Content-Type: application/zip; name="=?utf-8?Q?=C3=A4.zip?="', 'y'),
  ),
  'hostile names': mixed(
    'mixed',
    plain('x'),
    ...['../../etc/passwd', 'C:\\\\x\\\\y.exe', 'a\u202efdp.exe', '...', '', ' ', 'a'.repeat(300)].map(name =>
      part(`Content-Type: image/jpeg\nContent-Disposition: attachment; filename="${name}"`, 'x'),
    ),
  ),
  'types of names': mixed(
    'mixed',
    plain('x'),
    ...['a.PDF', 'b.jpeg', 'c.html', 'd.docx', 'e.unknown', 'noend'].map(name =>
      part(
        `Content-Type: application/octet-stream\nContent-Disposition: attachment; filename="${name}"`,
        'x',
      ),
    ),
  ),
  'a message in it': mixed(
    'mixed',
    plain('see'),
    part('Content-Type: message/rfc822', 'From: bob@example.net\nSubject: inner\n\ninner text'),
  ),
  'a multipart that is not closed': `${head}Content-Type: multipart/mixed; boundary=b\n\n${plain('one')}${plain('two')}`,
  'a boundary that never comes': `${head}Content-Type: multipart/mixed; boundary=other\n\n${plain('one')}--b--\n`,
  'no boundary said': `${head}Content-Type: multipart/mixed\n\n${plain('one')}--b--\n`,
  'a boundary with spaces behind': `${head}Content-Type: multipart/mixed; boundary="b c"\n\n--b c  \nContent-Type: text/plain\n\none\n--b c--  \nepilogue\n`,
  'one in another': mixed(
    'mixed',
    part(
      'Content-Type: multipart/alternative; boundary=c',
      '--c\nContent-Type: text/plain\n\none\n--c\nContent-Type: text/html\n\n<p>one</p>\n--c--',
    ),
    plain('two'),
  ),
  'one in another, the inner not closed': mixed(
    'mixed',
    part('Content-Type: multipart/alternative; boundary=c', '--c\nContent-Type: text/plain\n\none'),
    plain('two'),
  ),
  deep: `${Array.from(
    { length: 25 },
    (_, at) => `Content-Type: multipart/mixed; boundary=d${at}\n\n--d${at}\n`,
  ).join('')}Content-Type: text/plain\n\ndeep\n`,
  'a part without a header': mixed('mixed', '--b\n\nbare\n', '--b\nno field here\n\nbehind\n'),
  'an empty part': mixed('mixed', '--b\n', '--b\n\n', plain('x')),
  base64: single('Content-Transfer-Encoding: BASE64', `${base64('Hello, one ')}\n${base64('two')}\n`),
  'base64 with more behind it': single(
    'Content-Transfer-Encoding: base64',
    `${base64('Hello one')}=\n${base64('two!')}\n______\nfooter of a list\n`,
  ),
  'base64 that is none': single('Content-Transfer-Encoding: base64', 'S*G-V s#bG8\n=== x\n'),
  'quoted-printable': single(
    'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable',
    'Gr=C3=BC=C3=9Fe =\nand a soft break=20\n=3D =zz =4 =\n',
  ),
  'an unknown encoding': single('Content-Transfer-Encoding: x-none', 'as it is =41'),
  'uuencode as an encoding': mixed(
    'mixed',
    plain('x'),
    part(
      'Content-Type: application/octet-stream\nContent-Transfer-Encoding: x-uuencode',
      'begin 644 a.txt\n#0V%T\n`\nend',
    ),
  ),
  'uuencode in a text': single(
    'Content-Type: text/plain',
    'before\nbegin 644 cat.txt\n#0V%T\n`\nend\nbetween\nbegin 755 dog.bin\n#1&]G\n`\nend\nafter\n',
  ),
  'uuencode at once': single('Content-Type: text/plain', 'begin 644 cat.txt\n#0V%T\n`\nend\n'),
  'uuencode with an empty line in it': single(
    'Content-Type: text/plain',
    'before\nbegin 644 cat.txt\n#0V%T\n\n#1&]G\n`\nend\nafter\n',
  ),
  'uuencode without an end': single('Content-Type: text/plain', 'before\nbegin 644 cat.txt\n#0V%T\n'),
  flowed: single(
    'Content-Type: text/plain; charset=utf-8; format=flowed',
    'one \ntwo \nthree\n> quoted \n> goes on\n>> deeper \n> less\n stuffed\n-- \nAnn \n',
  ),
  'flowed with DelSp': single('Content-Type: text/plain; format=flowed; delsp=yes', 'wo \nrd and \nmore\n'),
  'UTF-16': single(
    'Content-Type: text/plain; charset=utf-16le\nContent-Transfer-Encoding: base64',
    base64(Buffer.from('Grüße €', 'utf16le')),
  ),
  'UTF-7': single('Content-Type: text/plain; charset=utf-7', 'Gr+APwA3w-e 1+-1 +2D3eAA- x+'),
  'ISO-2022-JP unsaid': single('Content-Type: text/plain', '\x1b$B$3$s\x1b(B and'),
  'a charset in the HTML': single(
    'Content-Type: text/html',
    '<html><head><meta charset="iso-8859-2"></head>\xb1\xe6</html>',
  ),
  NUL: single('Content-Type: text/plain', 'a\0b\0'),
  'a report': mixed(
    'report; report-type=delivery-status',
    plain('It did not arrive.'),
    part(
      'Content-Type: message/delivery-status',
      'Reporting-MTA: dns; mx.example\n\nOriginal-Recipient: rfc822;kim@dest.example\nFinal-Recipient: rfc822; KIM@dest.example\nAction: failed\nStatus: 5.1.1\nRemote-MTA: dns; far.example\nDiagnostic-Code: smtp; 550 5.1.1 no\n such user\n\nFinal-Recipient: rfc822; bob@dest.example\nAction: delayed\nStatus: 4.4.1\n',
    ),
    part('Content-Type: message/rfc822', 'Message-ID: <1@ours.example>\nSubject: x\n\nx'),
  ),
  'a report in UTF-8': mixed(
    'report; report-type=delivery-status',
    plain('no'),
    part(
      'Content-Type: message/global-delivery-status',
      'Reporting-MTA: x\n\nFinal-Recipient: utf-8; j\\x{FC}rgen@dest.example\nStatus: 5.2.2 (full)\nDiagnostic-Code: 552 mailbox full\nFinal-Recipient: x400; nothing\nAction: expired\n',
    ),
  ),
  'a report of success': mixed(
    'report; report-type=delivery-status',
    part(
      'Content-Type: message/delivery-status',
      'Reporting-MTA: dns;a\n\nFinal-Recipient: rfc822;kim@dest.example\nAction: delivered\nStatus: 2.0.0\n',
    ),
  ),
  'a report passed on': mixed(
    'mixed',
    plain('see below'),
    part(
      'Content-Type: message/rfc822',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=z\n\n--z\nContent-Type: message/delivery-status\n\nReporting-MTA: dns;a\n\nFinal-Recipient: rfc822;kim@dest.example\nAction: failed\nStatus: 5.1.1\n\n--z\nContent-Type: text/rfc822-headers\n\nSubject: mine\n--z--',
    ),
  ),
  'a feedback report': mixed(
    'report; report-type=feedback-report',
    plain('spam'),
    part(
      'Content-Type: message/feedback-report',
      'Feedback-Type: abuse\nUser-Agent: x/1\nVersion: 1\nOriginal-Mail-From: <b-abcdefghijklmnopqrstuvwx@bounce.ours.example>\nOriginal-Rcpt-To: <kim@dest.example>\nArrival-Date: Mon, 2 Nov 2026 09:41:05 +0100\nReported-Domain: ours.example\nSource-IP: 192.0.2.1\nIncidents: 2\n',
    ),
    part(
      'Content-Type: text/rfc822-headers',
      'Message-ID: <1@ours.example>\nTo: kim@dest.example\nFrom: ann@ours.example\nSubject: x\n',
    ),
  ),
  'not spam': mixed(
    'report; report-type=feedback-report',
    part('Content-Type: message/feedback-report', 'Feedback-Type: not-spam\nVersion: 1\n'),
  ),
  'an answer of a program': `${head}Auto-Submitted: auto-replied (vacation)\n\nI am away.\n`,
  'a list': `${head}List-Id: <l.example>\nPrecedence: list\n\nnews\n`,
  bulk: `${head}Precedence: Bulk\n\nnews\n`,
  'suppressed answers': `${head}X-Auto-Response-Suppress: DR, OOF\n\nx\n`,
  'suppressed reports alone': `${head}X-Auto-Response-Suppress: DR, NDR\n\nx\n`,
  'from a program': 'From: no-reply@example.com\nSubject: Your order has shipped\n\nx\n',
  'an absence': 'From: bob@example.net\nSubject: Abwesenheitsnotiz: Plan\n\nweg\n',
  'a code': 'From: bob@example.net\nSubject: Sign in\n\nYour code is 482913. It expires in 10 minutes.\n',
  'a link to sign in': single(
    'Content-Type: text/html; charset=utf-8',
    '<p>Click to sign in:</p><a href="https://example.com/login?token=3f9a8c1e7b2d4f60a1c2e3d4">Sign in</a><p><a href="https://example.com/help">Help</a></p>',
  ),
  'a reply in Gmail': mixed(
    'alternative',
    plain('Yes.\n\nOn Mon, Nov 2, 2026 at 9:41 AM Kim <kim@dest.example> wrote:\n\n> Come?\n> Kim'),
    html(
      '<div dir="ltr">Yes.</div><br><div class="gmail_quote"><div class="gmail_attr">On Mon Kim wrote:</div><blockquote class="gmail_quote">Come?</blockquote></div>',
    ),
  ),
  'a reply in Outlook': mixed(
    'alternative',
    plain(
      'Yes.\n\n________________________________\nFrom: Kim <kim@dest.example>\nSent: Monday, November 2, 2026 9:41 AM\nTo: Ann\nSubject: Plan\n\nCome?',
    ),
    html(
      '<p>Yes.</p><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p>From: Kim</p></div><p>Come?</p>',
    ),
  ),
  'a forward': `${head.replace('Plan', 'Fwd: Plan')}\nsee below\n\n---------- Forwarded message ----------\nFrom: Kim <kim@dest.example>\nDate: Mon, 2 Nov 2026\nSubject: Plan\nTo: Ann\n\nCome?\n\n> older\n`,
  'a calendar': mixed(
    'alternative',
    plain('Meeting'),
    part(
      'Content-Type: text/calendar; method=REQUEST; charset=utf-8',
      'BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR',
    ),
  ),
  'a winmail.dat': mixed(
    'mixed',
    plain('x'),
    part('Content-Type: application/zip', 'zip'),
    part(
      'Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64',
      base64(writeTnef({ files: [1, 2, 3].map(n => ({ content: Buffer.from(`${n}`) })) })),
    ),
    part('Content-Type: application/pdf', 'pdf'),
  ),
  'a winmail.dat that is cut off': mixed(
    'mixed',
    plain('x'),
    part(
      'Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64',
      base64(
        writeTnef({
          files: [
            { title: 'a.txt', content: Buffer.from('a') },
            { title: 'b.txt', content: Buffer.from('b') },
          ],
        }).subarray(0, -40),
      ),
    ),
  ),
  'signed with S/MIME': mixed(
    'signed; protocol="application/pkcs7-signature"',
    plain('x'),
    part(
      'Content-Type: application/pkcs7-signature; name=smime.p7s\nContent-Transfer-Encoding: base64',
      base64('sig'),
    ),
  ),
}

/** With the line ends that mail has. */
export const messages: Readonly<Record<string, Buffer>> = Object.fromEntries(
  Object.entries(written).map(([title, text]) => {
    // Of what is no UTF-8 each character is a byte.
    const isBytes = title.startsWith('a charset')
    return [title, Buffer.from(text.replaceAll('\n', '\r\n'), isBytes ? 'latin1' : 'utf8')]
  }),
)
