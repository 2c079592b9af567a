import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readMessage } from '../../../lib/mail/message/read.ts'
import { storedBodyLength } from '../../../lib/mail/text/body-text.ts'

const corpus = fileURLToPath(new URL('../../../../shared/corpora/mime-torture/', import.meta.url))
const skip = existsSync(corpus) ? false : 'the corpora are not here'

interface Expected {
  readonly parts: readonly {
    readonly headers: readonly { name: string; value: Value }[]
    readonly body: Value
  }[]
  readonly text_body: readonly number[]
  readonly attachments: readonly number[]
}

interface Value {
  readonly Text?: string
  readonly Address?: {
    readonly List?: readonly Person[]
    readonly Group?: readonly { addresses: readonly Person[] }[]
  }
  readonly DateTime?: Readonly<Record<string, number>> & { readonly tz_before_gmt: boolean }
}

interface Person {
  readonly address: string | null
  readonly name: string | null
}

t.test('whatever comes, something can be said of it', { skip }, async t => {
  const files = globSync('**/*', { cwd: corpus, withFileTypes: true })
    .filter(entry => entry.isFile() && !/\.json$|SOURCE|LICENSE/.test(entry.name))
    .map(entry => `${entry.parentPath}/${entry.name}`)
  t.ok(files.length > 300)
  for (const file of files) {
    const parsed = readMessage(readFileSync(file))
    const lines = [
      parsed.subject,
      ...[parsed.from, ...parsed.to, ...parsed.cc].flatMap(mailbox =>
        mailbox ? [mailbox.address, mailbox.name] : [],
      ),
      ...parsed.attachments.map(({ filename }) => filename),
    ]
    const isSound =
      lines.every(line => !/[\0-\x1f\x7f]/.test(line) && line.isWellFormed()) &&
      [parsed.text, parsed.html].every(
        text => !text.includes('\0') && text.isWellFormed() && text.length <= storedBodyLength,
      )
    if (!isSound) t.fail(`${file} is not safe to store`)
  }
})

t.test('as another parser reads it', { skip }, async t => {
  const same: Record<string, [number, number]> = {}
  const compare = (what: string, mine: unknown, theirs: unknown) => {
    const [equal, all] = same[what] ?? [0, 0]
    same[what] = [JSON.stringify(mine) === JSON.stringify(theirs) ? equal + 1 : equal, all + 1]
  }
  for (const file of globSync('mail-parser/eml/*/*.json', { cwd: corpus })) {
    const expected = JSON.parse(readFileSync(`${corpus}${file}`, 'utf8')) as Expected
    const parsed = readMessage(readFileSync(`${corpus}${file.replace(/json$/, 'eml')}`))
    const values = (name: string) =>
      expected.parts[0]!.headers.filter(header => header.name === name).map(({ value }) => value)
    const people = (name: string) =>
      values(name)
        .flatMap(({ Address }) => Address?.List ?? Address?.Group?.flatMap(group => group.addresses) ?? [])
        .filter(({ address }) => address)
        .map(({ address, name }) => [address!.trim(), (name ?? '').replace(/\s+/g, ' ').trim()])
    const pairs = (list: typeof parsed.to) => list.map(({ address, name }) => [address, name])
    const isSpecified = (name: string) => values(name).length > 0
    if (isSpecified('from'))
      compare('from', pairs(parsed.from ? [parsed.from] : []), people('from').slice(-1))
    if (isSpecified('to')) compare('to', pairs(parsed.to), people('to'))
    const [subject, id, date] = ['subject', 'message_id', 'date'].map(name => values(name).at(-1))
    if (subject?.Text) compare('subject', parsed.subject, subject.Text.replace(/\s+/g, ' ').trim())
    if (id?.Text) compare('Message-ID', parsed.rfcMessageId, `<${id.Text}>`)
    if (date?.DateTime) compare('date', parsed.date, instant(date.DateTime))
    const text = expected.text_body.map(index => expected.parts[index]!.body.Text ?? '').join('\n')
    if (text) compare('text', parsed.text.replace(/\s+/g, ''), text.replace(/\s+/g, ''))
    compare('attachments', parsed.attachments.length, expected.attachments.length)
  }
  t.comment(same)
  // The rest is raw Latin-1 in headers, which they leave as U+FFFD, and broken multiparts.
  for (const what of ['from', 'date', 'Message-ID']) t.equal(same[what]![0], same[what]![1], what)
  for (const what of ['to', 'subject', 'text', 'attachments']) {
    t.ok(same[what]![0] >= 0.8 * same[what]![1], `${what}: ${same[what]!.join(' of ')}`)
  }
})

function instant(parts: NonNullable<Value['DateTime']>): string {
  const { year, month, day, hour, minute, second, tz_hour, tz_minute, tz_before_gmt } = parts
  const offset = (tz_hour! * 60 + tz_minute!) * (tz_before_gmt ? -1 : 1)
  return new Date(Date.UTC(year!, month! - 1, day!, hour, minute, second) - offset * 60_000).toISOString()
}
