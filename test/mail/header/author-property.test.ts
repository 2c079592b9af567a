import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { normaliseAddress } from '../../../lib/mail/address/address.ts'
import { readAuthor } from '../../../lib/mail/header/author.ts'
import { readFields } from '../../../lib/mail/header/fields.ts'
import { readHeader } from '../../../lib/mail/header/header.ts'

const python = fileURLToPath(new URL('python-author.py', import.meta.url))
const isPython = spawnSync('python3', ['--version']).status === 0
const skip = isPython ? false : 'python3 is not installed'
const settings = { seed: Number(process.env.MAILBOXD_PROPERTY_SEED ?? 5322) }
const runs = Number(process.env.MAILBOXD_PROPERTY_RUNS ?? 6000)

const base64 = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
const quoted = (text: string) => `=?utf-8?Q?${Buffer.from(text).toString('hex').replace(/../g, '=$&')}?=`

/** Pieces of which a stranger may put a From together; what is not ASCII is written as Latin-1 stands for bytes. */
const address = fc.constantFrom(
  'a@evil.com',
  'boss@trusted.com',
  '"a b"@evil.com',
  'a@b.example',
  'a@sub.evil.com',
  'a . b@evil . com',
  'a(x)@(y)evil.com',
  'root',
  'a@evil.com@trusted.com',
  'a@[192.0.2.1]',
  'a@xn--trusted-oka.com',
  'a@tr\xfcsted.com',
  Buffer.from('a@bücher.example').toString('latin1'),
  Buffer.from('a@ｔrusted.com').toString('latin1'),
)
const name = fc.constantFrom(
  'Ann',
  'John Q. Public',
  '"Smith, Ann"',
  '"boss@trusted.com"',
  '"x <boss@trusted.com>"',
  'boss@trusted.com',
  'J\xfcrgen',
  Buffer.from('Jürgen').toString('latin1'),
  '(boss@trusted.com)',
  '"open',
  '[LIST]',
  '\x1b$B<boss@trusted.com>\x1b(B',
  base64('Boss <boss@trusted.com>'),
  quoted('boss@trusted.com,'),
  base64('\r\nFrom: boss@trusted.com'),
  '=?iso-2022-jp?B?GyRCPA==?=',
  '=?utf-8?Q?a, b?=',
  '=?utf-8?Q?"?= <boss@trusted.com> =?utf-8?Q?"?=',
  '=?utf-8?Q? " ?= <boss@trusted.com> =?utf-8?Q? " ?=',
  '=?utf-8?Q?(?= <boss@trusted.com> =?utf-8?Q?)?=',
  'a "<boss@trusted.com>" b',
  'a <boss@trusted.com> b',
)
const mailbox = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(name, address).map(([who, where]) => `${who} <${where}>`) },
  { weight: 2, arbitrary: address },
  fc.tuple(address, name).map(([where, who]) => `${where} (${who})`),
  address.map(where => `<${where}>`),
  address.map(where => `<@relay.example:${where}>`),
)
const noise = fc.constantFrom(
  '',
  ' ',
  ',',
  ';',
  ':',
  '<',
  '>',
  '"',
  '(',
  ')',
  '\\',
  '\0',
  '\r\n ',
  '\t',
  '@',
  '.',
  '(c)',
)
const value = fc
  .tuple(
    noise,
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: mailbox },
        fc.tuple(name, mailbox).map(([who, whom]) => `${who}: ${whom};`),
        name.map(who => `${who}:;`),
        name,
      ),
      { minLength: 1, maxLength: 3 },
    ),
    noise,
    fc.constantFrom(', ', ',', ';', ' ', ',\r\n '),
  )
  .map(([before, list, after, separator]) => before + list.join(separator) + after)
const line = fc.oneof(
  { weight: 6, arbitrary: value.map(from => `From: ${from}`) },
  { weight: 4, arbitrary: mailbox.map(from => `From: ${from}`) },
  mailbox.map(from => `From : ${from}`),
  mailbox.map(from => `FROM:${from}`),
  mailbox.map(from => `Sender: ${from}`),
  mailbox.map(from => `X: y\r\n From: ${from}`),
  mailbox.map(from => `\x1b(BFrom: ${from}`),
  fc.constantFrom(
    'Content-Type: text/plain; charset=iso-2022-jp',
    'Content-Type: text/plain; charset=utf-16',
    'Subject: =?utf-8?B?DQpGcm9tOiBib3Nz?=',
    'a line that is no field',
    'From;',
    'X: a;\r\nFrom;',
    '\xef\xbb\xbfFrom: boss@trusted.com',
    '>From boss@trusted.com',
    ' \t',
    'From boss@trusted.com Mon Jan 1',
  ),
)
const section = fc
  .array(line, { minLength: 1, maxLength: 3 })
  .map(lines => Buffer.from(`${lines.join('\r\n')}\r\nTo: x@y.example\r\n\r\n`, 'latin1'))

interface Read {
  readonly failed?: string
  readonly fields?: number
  readonly addresses?: readonly string[]
  readonly groups?: number
  readonly defects?: readonly string[]
}

/** Whether Python found this mailbox and no other; domains are mapped (UTS 46) here alone, so both are. */
function isSame({ fields, addresses = [], groups }: Read, address: string): boolean {
  const theirs = addresses.map(each => normaliseAddress(each.replace(/ (?=[@.])|(?<=[@.]) /g, '')))
  return fields === 1 && groups === 0 && theirs.length === 1 && theirs[0] === normaliseAddress(address)
}

/** Where Python differs and is wrong. In none of these does it find somebody else: it finds nobody. */
const errors: Readonly<Record<string, (read: Read, raw: Buffer) => boolean>> = {
  // RFC 2047 gives the text of a word no such power; it stands in a name, where we make it a space.
  'an encoded word that holds a line end makes it give up': ({ failed }) => failed === 'ValueError',
  // An old relay lost the white space of a folded line; the fields after it are the message's.
  'a line that is no field ends its header': ({ fields }, raw) =>
    fields === 0 && raw.toString('latin1').includes('a line that is no field\r\n'),
  // No phrase of RFC 5322, but written by many programs, and nobody reads another address out of it.
  'a bracket in a name is no mailbox to it': ({ defects, addresses }, raw) =>
    defects?.includes('InvalidHeaderDefect') === true &&
    addresses?.join() === '<>' &&
    raw.toString('latin1').includes('[LIST] <'),
}

t.test(
  'thousands of headers: who is shown is who is judged, and whom another reader finds',
  { skip },
  async t => {
    const sections = fc.sample(section, { ...settings, numRuns: runs })
    const input = sections.map(raw => raw.toString('hex')).join('\n')
    const { stdout, status } = spawnSync('python3', [python], { input, maxBuffer: 1 << 28, encoding: 'utf8' })
    t.equal(status, 0)
    const answers = stdout
      .trim()
      .split('\n')
      .map(answer => JSON.parse(answer) as Read)
    t.equal(answers.length, sections.length)
    const counts: Record<string, number> = { sections: sections.length, agreed: 0 }
    for (const [index, raw] of sections.entries()) {
      const header = readHeader(raw)
      const author = readAuthor(header)
      if ('fault' in author) continue
      const answer = answers[index]!
      t.strictSame(readFields(header).from, author.mailbox)
      if (isSame(answer, author.mailbox.address)) {
        counts.agreed!++
        continue
      }
      const [why] = Object.entries(errors).find(([, holds]) => holds(answer, raw)) ?? []
      const shown = JSON.stringify(raw.toString('latin1')).replace(/[^ -~]/g, '?')
      if (why === undefined) t.fail(`${shown}: ${author.mailbox.address} and not ${JSON.stringify(answer)}`)
      else counts[why] = (counts[why] ?? 0) + 1
    }
    t.comment(counts)
    t.ok(counts.agreed! > runs / 20, 'many are sure, and the same')
  },
)
