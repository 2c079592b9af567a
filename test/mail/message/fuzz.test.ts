import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { composeMessage } from '../../../lib/mail/compose/compose.ts'
import { loadCharsetGuess } from '../../../lib/mail/header/charset-guess.ts'
import { readHeader } from '../../../lib/mail/header/header.ts'
import type { Part } from '../../../lib/mail/message/part.ts'
import { readPartTree } from '../../../lib/mail/message/part-tree.ts'
import { openAttachment, openAttachments, readMessage } from '../../../lib/mail/message/read.ts'
import { storedBodyLength } from '../../../lib/mail/text/body-text.ts'
import { readMail } from '../../../lib/reading/read-mail.ts'
import { messageWith, packRtf, writeTnef } from '../tnef/written.ts'

/** What failed once is found again by its seed; both say how to look for longer. */
const seed = Number(process.env.MAILBOXD_PROPERTY_SEED ?? 3676)
const runs = Number(process.env.MAILBOXD_PROPERTY_RUNS ?? 1500)
/** A run takes no longer, however slow the machine is. */
const bounded = { seed, numRuns: runs, interruptAfterTimeLimit: 40_000, markInterruptAsFailure: false }

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url))
const committed = fileURLToPath(new URL('../../data/bounces/messages/', import.meta.url))
const isThere = existsSync(corpora)
const noMessage = /\.(?:json|ya?ml|txt|mbox|rb|py|md|key|html|png|wav|jpe?g|gif|pdf|ics)$|SOURCE|LICENSE/
/** Those of a size that is read some hundred times a second. */
const messages = globSync(isThere ? '{mime-torture,bounces,reply-parsing,arf,threading}/**/*' : '*', {
  cwd: isThere ? corpora : committed,
  withFileTypes: true,
})
  .filter(entry => entry.isFile() && !noMessage.test(entry.name))
  .map(entry => readFileSync(`${entry.parentPath}/${entry.name}`))
  .filter(raw => raw.length <= 64 * 1024)
const packed = writeTnef({
  rtf: packRtf('{\\rtf1\\fromhtml1 {\\*\\htmltag <p>}Hello}'),
  files: [
    { longName: 'a.pdf', content: Buffer.from('%PDF') },
    { displayName: 'm', message: writeTnef({ text: 'Inside', files: [{ title: 'b' }] }) },
  ],
})
messages.push(messageWith(packed), messageWith(packed, 'See below'))

/** What breaks a structure where it is put. */
const pieces = fc.oneof(
  fc.constantFrom(
    '\r\n\r\n',
    '\n',
    '\r',
    '\0',
    '--',
    ' \r\n',
    ':',
    ';',
    '"',
    '=',
    '=\r\n',
    '=?utf-8?B?',
    '?=',
    '\x1b$B',
    '\xff\xfe',
    '\xe9',
    '\r\n--x\r\n',
    '\r\n--x--\r\n',
    '\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n',
    'Content-Transfer-Encoding: base64\r\n',
    'Content-Transfer-Encoding: x-uuencode\r\n',
    'Content-Type: text/html; charset=utf-16\r\n',
    'Content-Type: message/rfc822\r\n',
    '\r\nbegin 644 x\r\n#86)C\r\n`\r\nend\r\n',
    '<blockquote type=cite>',
    '---------- Forwarded message ---------\r\n',
    '> ',
    'wrote:\r\n',
  ),
  fc.uint8Array({ minLength: 1, maxLength: 8 }).map(bytes => Buffer.from(bytes).toString('latin1')),
)
const change = fc.tuple(
  fc.constantFrom('insert', 'delete', 'copy', 'cut', 'flip'),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.nat(400),
  pieces,
)
const broken = fc
  .tuple(fc.nat(messages.length - 1), fc.array(change, { maxLength: 6 }))
  .map(([index, changes]) => changes.reduce(changed, messages[index]!))

function changed(raw: Buffer, [how, where, length, piece]: [string, number, number, string]): Buffer {
  const at = Math.floor(where * raw.length)
  const [before, behind] = [raw.subarray(0, at), raw.subarray(at)]
  if (how === 'insert') return Buffer.concat([before, Buffer.from(piece, 'latin1'), behind])
  if (how === 'delete') return Buffer.concat([before, behind.subarray(length)])
  if (how === 'copy') return Buffer.concat([before, behind.subarray(0, length), behind])
  if (how === 'cut') return Buffer.from(before)
  const copy = Buffer.from(raw)
  for (let each = at; each < Math.min(at + (length % 8), copy.length); each++)
    copy[each] = copy[each]! ^ (1 << (length % 7))
  return copy
}

const request = {
  content: { kind: 'memory', bytes: Buffer.alloc(0) },
  mailFrom: '',
  peer: null,
  mayReport: true,
  deliveredTo: ['a@example.com'],
} as const

const leavesOf = (part: Part): Part[] =>
  part.children.length === 0 ? [part] : part.children.flatMap(leavesOf)
const isSafe = (text: string) => text.isWellFormed() && !text.includes('\0')

/** What holds of every reading; the first that does not is said. */
function faultOf(raw: Buffer, guess: Awaited<ReturnType<typeof loadCharsetGuess>>): string | undefined {
  const { message, extracted } = readMail(raw, request, guess)
  const { text, html, attachments } = message
  if (![text, html].every(form => isSafe(form) && form.length <= storedBodyLength))
    return 'a text is not safe to store'
  if (!isSafe(JSON.stringify([message.subject, message.to, message.cc, attachments])))
    return 'a field is not safe to store'
  const { replyText } = JSON.parse(extracted) as { replyText: string | null }
  if (text.trim() !== '' && replyText === '') return 'nothing is new in a message that says something'
  const opened = openAttachments(raw)
  if (opened.length !== attachments.length) return 'attachments are counted in two ways'
  if (opened.some((content, at) => content.length !== attachments[at]!.sizeBytes)) return 'sizes differ'
  const first = opened.length > 0 && openAttachment(raw, 0)
  if (first && !first.content.equals(opened[0]!)) return 'one attachment is opened in two ways'
  const header = readHeader(raw)
  const { root } = readPartTree(raw, header)
  let end = header.bodyOffset
  for (const leaf of leavesOf(root)) {
    if (leaf.start < end || leaf.end < leaf.start || leaf.end > raw.length) return 'parts lie over each other'
    end = leaf.end
  }
  return lostText(raw, root)
}

/** Every byte of a body is in some part, or is the structure around the parts: what stands there are delimiters and headers. */
function lostText(raw: Buffer, part: Part): string | undefined {
  if (part.children.length === 0) return undefined
  const { boundary } = part
  // A text with files in it is taken apart without a boundary: nothing is between its pieces.
  if (boundary === '') {
    const isWhole = part.children.every(
      (child, at) => child.start === (part.children[at - 1]?.end ?? part.start),
    )
    if (!isWhole || part.children.at(-1)!.end !== part.end) return 'text between uuencoded files is lost'
  }
  for (const [at, child] of part.children.entries()) {
    const next = part.children[at + 1]
    if (boundary === '' || !next) continue
    // Behind an inner multipart its own end, and what stands there, is passed over (RFC 2046 §5.1.1).
    const between = raw.toString('latin1', child.end, next.start).trimStart()
    if (child.children.length === 0 && !between.startsWith(`--${boundary}`))
      return 'text between two parts is lost'
  }
  for (const child of part.children) {
    const fault = lostText(raw, child)
    if (fault !== undefined) return fault
  }
  return undefined
}

t.test('what is changed in messages of others is read without a throw, and these hold', async t => {
  const guess = await loadCharsetGuess()
  t.ok(messages.length > (isThere ? 400 : 20), `${messages.length} messages`)
  for (const raw of messages) t.equal(faultOf(raw, guess), undefined)
  fc.assert(
    fc.property(broken, raw => {
      const fault = faultOf(raw, guess)
      if (fault !== undefined) throw new Error(fault)
    }),
    bounded,
  )
  t.comment(`${messages.length} messages, ${runs} changed ones, seed ${seed}`)
})

const words = fc
  .array(
    fc.constantFrom(
      'Hello',
      'grüße',
      'Привет',
      'こんにちは',
      '=20',
      '.',
      '--',
      '> quoted',
      'From x',
      'begin 644 a',
      '<b>',
      '🐟',
      'x'.repeat(90),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map(list => list.join(' '))
const lines = fc.array(words, { minLength: 1, maxLength: 5 }).map(list => `${list.join('\n')}\n`)
const file = fc.record({
  filename: fc.constantFrom('a.bin', 'grüße.pdf', 'a b.txt', 'こ.png'),
  contentType: fc.constantFrom('application/octet-stream', 'application/pdf', 'image/png', 'text/csv'),
  content: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
})
const composed = fc.record({
  subject: words,
  text: lines,
  html: fc.option(lines.map(text => `<p>${text.replaceAll('<', '&lt;')}</p>\n`)),
  attachments: fc.array(file, { maxLength: 3 }),
  name: fc.constantFrom('Ann', 'Jürgen Müller', 'O"Neil, B', '李'),
})

t.test('what is composed is read as it was', async t => {
  await fc.assert(
    fc.asyncProperty(composed, async ({ subject, text, html, attachments, name }) => {
      const to = [
        { address: 'bob@example.net', name },
        { address: 'c.d@example.org', name: '' },
      ]
      const { raw, rfcMessageId } = await composeMessage({
        id: 'x1',
        messageIdDomain: 'example.com',
        date: new Date('2026-11-03T08:05:59Z'),
        from: { address: 'ann@example.com', name },
        to,
        cc: [],
        replyTo: null,
        subject,
        text,
        html,
        inReplyTo: '<p@x.example>',
        references: ['<p@x.example>'],
        attachments,
        autoSubmitted: false,
      })
      const read = readMessage(raw)
      const opened = openAttachments(raw)
      const was = [
        name,
        'ann@example.com',
        to,
        subject.replace(/\s+/g, ' ').trim(),
        text,
        html ?? '',
        rfcMessageId,
      ]
      const is = [
        read.from?.name,
        read.from?.address,
        read.to,
        read.subject,
        read.text,
        read.html,
        read.rfcMessageId,
      ]
      t.same(is, was)
      t.same(
        opened,
        attachments.map(({ content }) => content),
      )
      t.same(
        read.attachments.map(({ filename, sizeBytes }) => [filename, sizeBytes]),
        attachments.map(({ filename, content }) => [filename, content.length]),
      )
    }),
    { ...bounded, numRuns: Math.min(runs, 200) },
  )
})
