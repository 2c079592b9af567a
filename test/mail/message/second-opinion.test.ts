import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { type Opinion, ownOpinion, secondOpinion } from './second-opinion.ts'

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url))
const skip = existsSync(corpora) ? false : 'the corpora are not here'
const folders = '{mime-torture,bounces,dkim,threading,reply-parsing,arf,arc}'
const noMessage = /\.(?:json|ya?ml|txt|mbox|rb|py|md|key|html|png|wav|jpe?g|gif|pdf|ics)$|SOURCE|LICENSE/

/** Where the two differ on the corpora, by what: each is explained in docs/decisions/mime-reader.md, and ours is meant. */
const known: Readonly<Record<string, Partial<Record<keyof Opinion, readonly RegExp[]>>>> = {
  'raw bytes of a header in windows-1252 are read': {
    subject: [
      /legacy\/(?:010|016|018|020|022|024|026|050|052)\.eml$/,
      /(?:mailformed-headers|broken-headers|invalid_subject_characters)\.eml$/,
    ],
    to: [/mailformed-headers\.eml$/],
  },
  'a field that is larger than a header may be is not read': { subject: [/long-header\.eml$/] },
  'comments, routes and spaces in an address are none of it': {
    from: [/rfc2822\/example1[03]\.eml$/],
    to: [/rfc2822\/example1[01]\.eml$/],
  },
  'the semicolon of a group is no part of an address': { to: [/missing_body\.eml$/] },
  'domains are shown in A-labels': { from: [/utf8_headers\.eml$/], to: [/utf8_headers\.eml$/] },
  'of several From and To fields one is shown, or all': {
    from: [/multiple_from\.eml$/],
    to: [/multiple_from\.eml$/],
  },
  'parts of multiparts that are not closed, or closed too late, are there': {
    attachments: [
      /lhost-domino-03\.eml$/,
      /rhost-(?:franceptt-07|google-02)\.eml$/,
      /(?:malformed\/0(?:12|20)|rfc\/007|thirdparty\/007)\.eml$/,
    ],
  },
  'the text of a part begins at the line that is no field': {
    attachments: [/lhost-(?:office365-08|x1-02)\.eml$/],
  },
  'uuencode is decoded, and a text file behind the text is a file': {
    attachments: [/legacy\/0(?:26|30|42|48)\.eml$/],
  },
}

t.test('every difference on the corpora is known', { skip }, async t => {
  const files = globSync(`${folders}/**/*`, { cwd: corpora, withFileTypes: true })
    .filter(entry => entry.isFile() && !noMessage.test(entry.name))
    .map(entry => `${entry.parentPath}/${entry.name}`)
  t.ok(files.length > 600)
  const counts: Record<string, number> = { files: files.length }
  let texts = 0
  for (const file of files) {
    const raw = readFileSync(file)
    const [own, second] = [ownOpinion(raw), await secondOpinion(raw)]
    texts += own.text === second.text ? 1 : 0
    for (const what of ['from', 'to', 'subject', 'attachments'] as const) {
      if (own[what] === second[what]) continue
      const [why] = Object.entries(known).find(([, of]) => of[what]?.some(form => form.test(file))) ?? []
      if (why === undefined)
        t.fail(`${file.slice(corpora.length)}: ${what} ${own[what]} and not ${second[what]}`)
      else counts[why] = (counts[why] ?? 0) + 1
    }
  }
  t.comment({ ...counts, texts })
})

const words = fc.array(
  fc.constantFrom('Hello', 'grüße', 'Привет', 'こんにちは', '=', '.', '--', '> quoted', 'From x'),
  {
    minLength: 1,
    maxLength: 12,
  },
)
const text = words.map(list => list.join(' '))
const bytes = fc.uint8Array({ maxLength: 300 }).map(array => Buffer.from(array))

/** A part that is written as the standards say. */
const part = fc.oneof(
  text.map(content => ({ type: 'text/plain; charset=utf-8', encoding: '8bit', body: Buffer.from(content) })),
  text.map(content => ({
    type: 'text/plain; charset="utf-8"',
    encoding: 'base64',
    body: Buffer.from(Buffer.from(content).toString('base64')),
  })),
  text.map(content => ({
    type: 'text/plain; charset=utf-8',
    encoding: 'quoted-printable',
    body: Buffer.from(
      Buffer.from(content).toString('hex').replace(/../g, '=$&').toUpperCase().replace(/.{60}/g, '$&=\r\n'),
    ),
  })),
  bytes.map(content => ({
    type: 'application/x-data; name=a.bin',
    encoding: 'base64',
    body: Buffer.from(content.toString('base64').replace(/.{76}/g, '$&\r\n')),
  })),
)
const message = fc
  .tuple(
    text,
    fc.array(part, { minLength: 1, maxLength: 5 }),
    fc.constantFrom('mixed', 'related', 'digest-no'),
  )
  .map(([subject, parts, type]) => {
    const encoded = `=?utf-8?B?${Buffer.from(subject).toString('base64')}?=`
    const head = `From: Ann <ann@example.com>\r\nTo: b@x.example, "C, D" <c@x.example>\r\nSubject: ${encoded}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/${type}; boundary="b o"\r\n\r\n`
    const inner = parts.flatMap(each => [
      Buffer.from(
        `--b o\r\nContent-Type: ${each.type}\r\nContent-Transfer-Encoding: ${each.encoding}\r\n\r\n`,
      ),
      each.body,
      Buffer.from('\r\n'),
    ])
    return Buffer.concat([Buffer.from(head), ...inner, Buffer.from('--b o--\r\n')])
  })

t.test('both read alike what is written as the standards say', async t => {
  await fc.assert(
    fc.asyncProperty(message, async raw => {
      const [own, second] = [ownOpinion(raw), await secondOpinion(raw)]
      return JSON.stringify(own) === JSON.stringify(second)
    }),
    { seed: 2045, numRuns: 400 },
  )
  t.pass('all were alike')
})
