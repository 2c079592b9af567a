import { gzipSync } from 'node:zlib'

const mebibyte = 1024 * 1024
/** As much as a send has room for: 25 MB of attachments, as bytes and as base64. */
const attachmentBytes = 25 * mebibyte
const contentBytes = Math.floor((attachmentBytes * 4) / 3)
const texts = 2 * mebibyte

const filled = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))

export interface HostileRequest {
  readonly contentType: string
  readonly body: Buffer
  readonly encoding?: string
}

const json = (text: string, encoding?: string): HostileRequest => ({
  contentType: 'application/json',
  body: encoding === 'gzip' ? gzipSync(text) : Buffer.from(text),
  ...(encoding && { encoding }),
})
const send = (more: object) => JSON.stringify({ to: 'bob@sink.test', subject: 'x', body: 'x', ...more })
/** The text of a send with one attachment whose content, in the text, is this. */
const withContent = (content: string, more: object = {}) =>
  send({
    attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', content: '@', ...more }],
  }).replace('"@"', () => `"${content}"`)

const boundary = 'bbbbbbbb'
const form = (...parts: readonly (readonly [header: string, content: string])[]): HostileRequest => ({
  contentType: `multipart/form-data; boundary=${boundary}`,
  body: Buffer.from(
    `${parts.map(([header, content]) => `--${boundary}\r\nContent-Disposition: form-data; ${header}\r\n\r\n${content}\r\n`).join('')}--${boundary}--\r\n`,
    'latin1',
  ),
})
const fields = [
  ['name="to"', 'bob@sink.test'],
  ['name="subject"', 'x'],
  ['name="body"', 'x'],
] as const
const file = 'name="attachments"; filename="a.bin"'

/** Sends that are made to cost, each within what a body may be; made when they are asked for, for they are large. */
export const hostileSends: Readonly<Record<string, () => HostileRequest>> = {
  'a small send': () => json(send({})),
  'JSON, 25 MB attached': () => json(withContent(filled('QUJD', contentBytes))),
  'JSON, 25 MB attached, escaped': () => json(withContent(filled('\\u0051', contentBytes))),
  'JSON, 25 MB attached, spaced': () => json(withContent(filled('QUJD \\n', contentBytes))),
  'JSON, 25 MB attached, not base64': () => json(withContent(`${filled('QUJD', contentBytes)}!`)),
  'JSON, 25 MB attached as a message': () =>
    json(
      withContent(
        Buffer.from(`From: a@b\r\n\r\n${filled('x\r\n', attachmentBytes - 100)}`).toString('base64'),
        {
          contentType: 'message/rfc822',
        },
      ),
    ),
  'JSON, 25 MB attached, packed': () => json(withContent(filled('QUJD', contentBytes)), 'gzip'),
  'JSON, 100 × 250 kB attached': () =>
    json(
      send({
        attachments: Array.from({ length: 100 }, (_, n) => ({
          filename: `${n}.bin`,
          content: filled('QUJD', 340_000),
        })),
      }),
    ),
  'JSON, 500 × 16 kB attached': () =>
    json(
      send({
        attachments: Array.from({ length: 500 }, (_, n) => ({
          filename: `${n}.bin`,
          content: filled('QUJD', 16 * 1024 - 8),
        })),
      }),
    ),
  'JSON, a text of 4 MB': () => json(send({ body: filled('x', 4 * mebibyte - 200) })),
  'JSON, a text of 4 MB, escaped': () =>
    json(send({ body: '@' }).replace('@', () => filled('\\u0051', 4 * mebibyte - 200))),
  'JSON, 4 MB of spaces': () => json(`${send({})}${filled(' ', 4 * mebibyte - 200)}`),
  'JSON, 8 MB of brackets': () => json(filled('[', 8 * mebibyte)),
  'JSON, 9,900 names in 4 MB': () =>
    json(`{${Array.from({ length: 9_900 }, (_, n) => `"${n}${filled('k', 400)}":1`).join(',')}}`),
  'JSON, 19,900 values': () => json(send({ cc: Array.from({ length: 19_900 }, () => 1) })),
  'JSON, 19,900 objects': () => json(send({ attachments: Array.from({ length: 19_900 }, () => ({})) })),
  'form, 25 MB attached': () => form(...fields, [file, filled('x', attachmentBytes)]),
  'form, 25 MB that look like delimiters': () =>
    form(...fields, [file, filled(`\r\n--${boundary.slice(1)}`, attachmentBytes)]),
  'form, a text of 26 MB': () => form(['name="body"', filled('x', attachmentBytes + texts - mebibyte)]),
  'form, a text of 2 MB': () => form(['name="body"', filled('x', texts)]),
  'form, a text of 26 MB, UTF-8': () =>
    form(['name="body"', filled('\u00c4\u008d', attachmentBytes + texts - mebibyte)]),
  'form, a list of 26 MB': () =>
    form(...fields, ['name="cc"', `[${filled('1,', attachmentBytes + texts - mebibyte)}1]`]),
  'form, 390 × 70 kB': () =>
    form(...Array.from({ length: 390 }, () => ['name="cc"', filled('x', 70_000)] as const)),
  'form, 390 files of 64 kB': () =>
    form(...fields, ...Array.from({ length: 390 }, () => [file, filled('x', 64_000)] as const)),
  'form, 2 MB of text and HTML': () =>
    form(
      ['name="to"', 'bob@sink.test'],
      ['name="subject"', 'x'],
      ['name="body"', filled('x', 100_000)],
      ['name="bodyHtml"', filled('<b>', texts - 200_000)],
    ),
  'HTML of 100 kB as the text': () => json(send({ body: filled('<b><i><p>', 99_000) })),
  'HTML of 500 kB, unlike words': () =>
    json(send({ body: filled('č', 99_000), bodyHtml: filled('<h1>č</h1>', 499_000) })),
}
