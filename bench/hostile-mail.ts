const mebibyte = 1024 * 1024
/** As much as the door takes, less a header. */
const large = 24 * mebibyte

const filled = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))
/** Text in lines of at most 990 characters. */
const lines = (text: string, bytes: number) => filled(`${filled(text, 980)}\r\n`, bytes)
const html = (body: string) => `Content-Type: text/html; charset=utf-8\r\n\r\n${body}`
const base64 = (bytes: number) => filled(`${'QUJD'.repeat(19)}\r\n`, bytes)

/** What a message is after From and Subject: its further fields, the empty line and its body, with dots as they cross the wire. */
export interface HostileMail {
  readonly content: string
  /** How often it is sent at once, to how many inboxes; 1 where not said. */
  readonly count?: number
  readonly inboxes?: number
}

/** Messages that are made to cost, each within what the door lets pass. */
export const hostileMail: Readonly<Record<string, HostileMail>> = {
  'letter of 4 kB': { content: `\r\n${lines('Hello. ', 4096)}` },
  '24 MB of base64': {
    content: `Content-Type: application/zip\r\nContent-Disposition: attachment; filename=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64(large)}`,
  },
  '24 MB of soft breaks': {
    content: `Content-Transfer-Encoding: quoted-printable\r\n\r\n${filled('=\r\n', large)}`,
  },
  '12 × 24 MB of soft breaks': {
    content: `Content-Transfer-Encoding: quoted-printable\r\n\r\n${filled('=\r\n', large)}`,
    count: 12,
  },
  '24 MB of empty lines': { content: filled('\r\n', large) },
  '24 MB of lines that begin with a dot': { content: `\r\n${filled('..\r\n', large)}` },
  '24 MB of spaces, ten signatures': {
    content: `${'DKIM-Signature: v=1; a=rsa-sha256; d=x.example; s=s; h=from; l=1; bh=AA==; b=AA==\r\n'.repeat(10)}\r\n${lines(' ', large)}`,
  },
  '24 MB of parts': {
    content: `Content-Type: multipart/mixed; boundary=b\r\n\r\n${filled('--b\r\n\r\nx\r\n', large)}`,
  },
  '24 MB of delimiters that are none': {
    content: `Content-Type: multipart/mixed; boundary=b\r\n\r\n${filled('--bb\r\n', large)}`,
  },
  '64 kB of recipients in To': {
    content: `To: ${filled('a@b.example,\r\n ', 60_000)}c@d.example\r\n\r\nx\r\n`,
  },
  attributions: { content: `\r\n${lines('on 2020 1č', mebibyte)}x:` },
  'codes and links': { content: `\r\n${lines('code 482913 https://x.example/?a=b&c=d ', mebibyte)}` },
  'HTML, <b><i><p>': { content: html(lines('<b><i><p>', mebibyte)) },
  'HTML, <h1>a</h1>': { content: html(lines('<h1>a</h1>', mebibyte)) },
  'HTML, <p>': { content: html(lines('<p>', mebibyte)) },
  'HTML, <a href=…>a</a>': { content: html(lines('<a href=x>a</a>', mebibyte)) },
  'HTML, <table>': { content: html(lines('<table><tr><td>a', mebibyte)) },
  '2 MB of words and HTML': {
    content: `Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\n${lines('čeština slovo ', mebibyte)}--b\r\nContent-Type: text/html\r\n\r\n<p>${lines('čeština slovo ', mebibyte)}--b--\r\n`,
  },
  '1 MB of words to 90 inboxes': { content: `\r\n${lines('word after word ', mebibyte)}`, inboxes: 90 },
  '20 × 1 MB of words': { content: `\r\n${lines('word after word ', mebibyte)}`, count: 20 },
  '20 × 200 kB to 90 inboxes': {
    content: `\r\n${lines('word after word ', 200_000)}`,
    count: 20,
    inboxes: 90,
  },
}
