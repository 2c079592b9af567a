import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readMessageIds, referencesMax } from '../../../lib/mail/header/message-id.ts'
import { readMessage } from '../../../lib/mail/message/read.ts'
import { parentCandidates, replySubject, replyThreading } from '../../../lib/mail/message/thread.ts'

const corpus = new URL('../../../../shared/corpora/threading/imaptest/', import.meta.url)

t.test('Message-IDs as they are found', async t => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['<a@b>', ['<a@b>']],
    ['<a@b> (comment) <c@d>', ['<a@b>', '<c@d>']],
    ['<a@b><c@d>,<a@b>', ['<a@b>', '<c@d>']],
    ['Message from "Joe" of "Friday" <a@b>', ['<a@b>']],
    ['<long\r\n\tid@b>', ['<longid@b>']],
    ['bare@b other@c', ['<bare@b>', '<other@c>']],
    ['<no-at-sign>', ['<no-at-sign>']],
    ['&lt;a@b&gt; &LT;c@d&GT;', ['<a@b>', '<c@d>']],
    ['<mailto:a@b> <MAILTO:c@d>', ['<a@b>', '<c@d>']],
    ['mailto:a@b', ['<a@b>']],
    ['<"a"@b>', ['<"a"@b>']],
    ['', []],
    ['<>', []],
    ['nothing here', []],
    [`<${'a'.repeat(2000)}@b>`, []],
    ['<'.repeat(100_000), []],
    ['a@'.repeat(50_000), []],
  ]
  for (const [value, ids] of cases) t.same(readMessageIds(value), ids, value.slice(0, 40))
})

t.test('where the parent may be', async t => {
  t.same(parentCandidates({ inReplyTo: ['<2@x>'], references: ['<0@x>', '<1@x>', '<2@x>'] }), [
    '<2@x>',
    '<1@x>',
    '<0@x>',
  ])
  t.same(parentCandidates({ inReplyTo: [], references: [] }), [])
  const spelled = parentCandidates({
    inReplyTo: ['<0A-B@Ours.Example>'],
    references: ['<"0a-c"@x>', '<0a-d@x>'],
  })
  t.same(
    spelled,
    ['<0A-B@Ours.Example>', '<0a-b@ours.example>', '<0a-d@x>', '<"0a-c"@x>', '<0a-c@x>'],
    'as ours are spelled, too',
  )
  const many = Array.from({ length: 500 }, (_, i) => `<${i}@x>`)
  const candidates = parentCandidates({ inReplyTo: ['<a@x>'], references: many })
  t.same([candidates.length, candidates[0], candidates[1]], [referencesMax, '<a@x>', '<499@x>'])
})

t.test('what a reply refers to', async t => {
  t.same(replyThreading({ rfcMessageId: '<2@x>', references: ['<0@x>', '<1@x>'] }), {
    inReplyTo: '<2@x>',
    references: ['<0@x>', '<1@x>', '<2@x>'],
  })
  t.same(
    replyThreading({ rfcMessageId: '<1@x>', references: [], inReplyTo: '<0@x>' }).references,
    ['<0@x>', '<1@x>'],
    'In-Reply-To stands in for References',
  )
  t.same(replyThreading({ rfcMessageId: null, references: ['<0@x>'] }), {
    inReplyTo: null,
    references: ['<0@x>'],
  })
  t.same(replyThreading({ rfcMessageId: '<1@x>', references: ['<1@x>', '<0@x>'] }).references, [
    '<0@x>',
    '<1@x>',
  ])
  const chain = Array.from({ length: 80 }, (_, i) => `<${i}@x>`)
  const { references } = replyThreading({ rfcMessageId: '<80@x>', references: chain })
  t.same([references.length, references[0], references[1], references[49]], [50, '<0@x>', '<32@x>', '<80@x>'])
})

t.test('the subject of a reply', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['Hello', 'Re: Hello'],
    ['', 'Re:'],
    ['Re: Hello', 'Re: Hello'],
    ['RE:Hello', 'RE:Hello'],
    ['re[2]: Hello', 're[2]: Hello'],
    ['Re^3: Hello', 'Re^3: Hello'],
    ['AW: Hallo', 'AW: Hallo'],
    ['SV: Hej', 'SV: Hej'],
    ['回复：你好', '回复：你好'],
    ['Отв: x', 'Re: Отв: x'],
    ['Fwd: Re: Hello', 'Re: Fwd: Re: Hello'],
    ['Reminder: x', 'Re: Reminder: x'],
    ['Regarding you', 'Re: Regarding you'],
  ]
  for (const [subject, reply] of cases) t.equal(replySubject(subject), reply, subject)
})

t.test(
  'mailboxes of imaptest',
  { skip: existsSync(corpus) ? false : 'the corpora are not here' },
  async t => {
    // Numbers of the messages in each thread. Where REFERENCES (RFC 5256) joins by subject, or by a parent that never
    // came, we do not: threads are found as messages arrive.
    const expected: Record<string, number[][]> = {
      thread2: [[1], [2]],
      thread3: [[1], [2]],
      thread4: [[1], [2]],
      thread5: [[1, 2, 3, 4, 5]],
      thread6: [[1], [2]],
      thread7: [[1, 2, 3, 4]],
      thread8: [[1, 2, 3]],
    }
    for (const [name, threads] of Object.entries(expected)) {
      t.same(await threadsOf(readFileSync(new URL(`${name}.mbox`, corpus), 'utf8')), threads, name)
    }
  },
)

async function threadsOf(mbox: string): Promise<number[][]> {
  const known = new Map<string, number[]>()
  const threads: number[][] = []
  const messages = mbox.split(/^From .*\n/m).slice(1)
  for (const [index, raw] of messages.entries()) {
    const parsed = readMessage(Buffer.from(raw))
    const parent = parentCandidates(parsed).find(id => known.has(id))
    const thread = parent === undefined ? [] : known.get(parent)!
    if (parent === undefined) threads.push(thread)
    thread.push(index + 1)
    if (parsed.rfcMessageId !== null) known.set(parsed.rfcMessageId, thread)
  }
  return threads
}
