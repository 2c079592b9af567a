import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readMail } from '../../lib/reading/read-mail.ts'
import { fuzz } from '../support/fuzz.ts'

const folder = join(import.meta.dirname, '../data/bounces/messages')
const bounces = readdirSync(folder).map(name => readFileSync(join(folder, name)))
const letter = `From: =?utf-8?B?QW5u?= <ann@theirs.example>, "B \\"x" <b@[192.0.2.1]> (c (d))\r
To: undisclosed-recipients:;, Bob <bob@ours.example>\r
Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?= =?utf-8?q?code_=3D?=\r
Message-ID: <1@theirs.example>\r
References: <a@x> <b@y>\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed; boundary="b"; charset*0*=utf-8''%41; charset*1=x\r
\r
--b\r
Content-Type: multipart/alternative; boundary=c\r
\r
--c\r
Content-Type: text/plain; charset=utf-8; format=flowed\r
Content-Transfer-Encoding: quoted-printable\r
\r
Your code is 482 913 =E2=82=AC=\r
\r
On Mon, 1 Jan 2026 at 10:00, Bob <bob@ours.example> wrote:\r
> old\r
--c\r
Content-Type: text/html\r
\r
<div dir="ltr"><a href="https://x.example/verify?t=1">go</a><blockquote type=cite>q</blockquote><style>a{</style>&lt;&#x41;\r
--c--\r
--b\r
Content-Type: application/octet-stream; name*=utf-8''a%20b.txt\r
Content-Disposition: attachment; filename="=?utf-8?q?x?="\r
Content-Transfer-Encoding: base64\r
\r
aGVsbG8gd29ybGQ=\r
begin 644 x.txt\r
#0V%T\r
\`\r
end\r
--b--\r
`

t.test('whatever a message holds, it is read, and what is read can be stored and shown', t =>
  fuzz(
    t,
    {
      seeds: [letter, letter, letter, ...bounces],
      words: [
        '\r\n',
        '\r\n\r\n',
        '--b',
        '--',
        ' ',
        '\0',
        '\t',
        '=?utf-8?B?',
        '=?x-unknown?Q?=ff?=',
        '?=',
        '<',
        '>',
        '"',
        '(',
        ',',
        ';',
        ':',
        '=0',
        '=\r\n',
        '%',
        "*0*=utf-7''",
        'boundary=',
        'charset=utf-16',
        'charset=gb18030',
        'charset=utf-7',
        'Content-Type: message/rfc822\r\n\r\n',
        'Content-Type: multipart/report; boundary=b\r\n',
        'Content-Type: message/delivery-status\r\n\r\n',
        'Content-Transfer-Encoding: x-uuencode\r\n',
        'Final-Recipient: rfc822; bob@theirs.example\r\nAction: failed\r\nStatus: 5.1.1\r\n',
        'Feedback-Type: abuse\r\n',
        'From: a@b\r\n',
        '<blockquote>',
        '<!--',
        '<![CDATA[',
        '&#xd800;',
        '\u202e',
        '\ud83d',
        '550 5.1.1 <bob@theirs.example>: no such user\r\n',
      ],
    },
    input => {
      const request = { mailFrom: '', mayReport: true, deliveredTo: ['bob@theirs.example'], peer: undefined }
      const { message, extracted, classified } = readMail(input, request as never)
      for (const text of [
        message.subject,
        message.text,
        message.html,
        message.rfcMessageId ?? '',
        extracted,
      ]) {
        if (text.includes('\0')) throw new Error('NUL in what is stored')
        if (!text.isWellFormed()) throw new Error('half a character in what is stored')
      }
      for (const { sizeBytes, filename } of message.attachments) {
        if (sizeBytes < 0 || sizeBytes > input.length)
          throw new Error('an attachment larger than the message')
        if (/[\0-\x1f/\\]/.test(filename ?? '')) throw new Error('a name of a file with a path')
      }
      if (/[\r\n]/.test(message.subject)) throw new Error('a subject of several lines')
      JSON.stringify([message, classified])
    },
  ),
)
