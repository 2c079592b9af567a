const head = [
  'From: Ann <ann@example.com>',
  'To: bob@example.net',
  'Subject: Hello',
  'Date: Fri, 1 Jan 2027 00:00:00 +0000',
  'Message-ID: <1@example.com>',
]
const textType = ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8']

function message(fields: readonly string[], body: string, encoding: BufferEncoding = 'utf8'): Buffer {
  return Buffer.from(`${fields.join('\r\n')}\r\n\r\n${body}`, encoding)
}

function including(...fields: string[]): string[] {
  return [...head, ...fields]
}

function replacing(name: string, ...fields: string[]): string[] {
  return [...head.filter(field => !field.startsWith(`${name}:`)), ...fields]
}

const lines = (count: number, line: string): string => `${line}\r\n`.repeat(count)

/** Messages to sign and verify: what signers have been seen to get wrong, all with CRLF alone. */
export const dkimMessages: Readonly<Record<string, Buffer>> = {
  plain: message(head, 'Hello Bob\r\n'),
  'fifty recipients, folded': message(
    replacing('To', `To: ${Array.from({ length: 50 }, (_, i) => `user${i}@example.net`).join(',\r\n ')}`),
    'x\r\n',
  ),
  'folded with tabs': message(replacing('Subject', 'Subject: one\r\n\ttwo\r\n\t three'), 'x\r\n'),
  'folded, first line empty': message(replacing('Subject', 'Subject:\r\n one\r\n two'), 'x\r\n'),
  'header line of 998 bytes': message(replacing('Subject', `Subject: ${'a'.repeat(989)}`), 'x\r\n'),
  'UTF-8 header': message(replacing('Subject', 'Subject: Grüße 世界 🎉'), 'x\r\n'),
  'UTF-8 body': message(including(...textType), 'Grüße 世界 🎉\r\n'),
  'latin1 body': message(including(...textType), 'Gr\xfc\xdfe\r\n', 'latin1'),
  'latin1 header': message(replacing('Subject', 'Subject: Gr\xfc\xdfe'), 'x\r\n', 'latin1'),
  'iso-2022-jp body': message(
    including('Content-Type: text/plain; charset=iso-2022-jp'),
    '\x1b$B$3$s\x1b(B\r\n',
  ),
  'trailing blank lines': message(head, `x\r\n${lines(5, '')}`),
  'five thousand trailing blank lines': message(head, `x\r\n${lines(5000, '')}`),
  'no final line end': message(head, 'x'),
  'no final line end after spaces': message(head, 'x  \t '),
  'empty body': message(head, ''),
  'one blank line': message(head, '\r\n'),
  'only blank lines': message(head, lines(3, '')),
  'only lines of spaces': message(head, ' \r\n\t\r\n  \t\r\n'),
  'no empty line after the header': Buffer.from(`${head.join('\r\n')}\r\n`),
  'leading blank lines': message(head, '\r\n\r\nx\r\n'),
  'blank lines between': message(head, 'a\r\n\r\n\r\n\r\nb\r\n'),
  'lines of spaces between': message(head, 'a\r\n  \r\n\t\r\nb\r\n'),
  'runs of spaces and tabs': message(head, 'a  b\t\tc \t d\r\n  e\r\n\tf\r\n'),
  'trailing spaces': message(head, 'a \r\nb\t\r\nc  \t \r\n'),
  'unicode spaces': message(head, 'a\u00a0b\u3000c\u2028d\u2029e\ufefff\r\n\u00a0\r\n'),
  'no-break space in a header': message(replacing('Subject', 'Subject: a\u00a0\u00a0b\u3000'), 'x\r\n'),
  'vertical tab and form feed': message(head, 'a\x0b\x0bb\x0c c\r\n\x0c\r\n'),
  'other control characters': message(head, 'a\x01\x02\x1b[0m\x7f\r\n'),
  'many Received and an older signature': message(
    [
      'Received: from a by b; Fri, 1 Jan 2027 00:00:00 +0000',
      'Received: from c by d; Fri, 1 Jan 2027 00:00:00 +0000',
      'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=other.example; s=s; h=from; bh=AAAA; b=AAAA',
      ...head,
    ],
    'x\r\n',
  ),
  'two Reply-To': message(including('Reply-To: a@example.com', 'Reply-To: b@example.com'), 'x\r\n'),
  'two Subject': message(including('Subject: the second'), 'x\r\n'),
  'three To': message(including('To: c@example.net', 'to: d@example.net'), 'x\r\n'),
  'odd case of names': message(
    ['FROM: ann@example.com', 'tO: bob@example.net', 'SUBJECT: x', 'dATE: Fri, 1 Jan 2027 00:00:00 +0000'],
    'x\r\n',
  ),
  'no space after the colon': message(replacing('Subject', 'Subject:x'), 'x\r\n'),
  'spaces round the value': message(replacing('Subject', 'Subject: \t  x y  \t'), 'x\r\n'),
  'empty subject': message(replacing('Subject', 'Subject:'), 'x\r\n'),
  'subject of spaces': message(replacing('Subject', 'Subject:    '), 'x\r\n'),
  'only From': message(['From: ann@example.com'], 'x\r\n'),
  'a reply': message(
    including(
      'In-Reply-To: <a@b>',
      `References: ${Array.from({ length: 40 }, (_, i) => `<${i}@b>`).join('\r\n ')}`,
    ),
    'x\r\n',
  ),
  'automatic, with List-Unsubscribe': message(
    including(
      'Auto-Submitted: auto-generated',
      'List-Unsubscribe: <https://example.com/u>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    ),
    'x\r\n',
  ),
  'lines of dots': message(head, '.\r\n..\r\n.x\r\n\r\n.\r\n'),
  'From at the start of a line': message(head, 'From here\r\n>From there\r\n'),
  'colons, semicolons and b= in fields': message(
    replacing('Subject', 'Subject: b=x; bh=y; h=From: z'),
    'b=\r\nbh=x;\r\n',
  ),
  multipart: message(
    including('MIME-Version: 1.0', 'Content-Type: multipart/mixed;\r\n boundary="=_b"'),
    'preamble\r\n--=_b\r\nContent-Type: text/plain\r\n\r\na \r\n--=_b\r\n\r\nb\r\n--=_b--\r\nepilogue\r\n\r\n',
  ),
  'body line of 5000 bytes': message(head, `${'word '.repeat(1000)}\r\n`),
  'body line of 10,000 spaces': message(head, `a${' '.repeat(10_000)}b\r\n`),
  'a megabyte of text': message(head, lines(13_000, `${'lorem ipsum  '.repeat(6)} `)),
  'a megabyte of base64': message(head, lines(13_000, 'QUJD'.repeat(19))),
  'just over two slices, blank lines across their borders': message(
    head,
    `${'x'.repeat(1024 * 1024 - 1)}\r\n\r\n \r\n${'y'.repeat(1024 * 1024 - 8)} \r\n\r\nz\r\n`,
  ),
  'space at the border of a slice': message(head, `${'x'.repeat(1024 * 1024 - 1)}  \t y\r\n`),
}
