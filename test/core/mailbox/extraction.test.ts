import t from 'tap'
import { extractionOf, extractionWithin } from '../../../lib/core/mailbox/extraction.ts'
import { extract } from '../../../lib/reading/extraction.ts'
import { extractionColumn, nothingFound, nothingFoundTrimmed } from '../../../lib/reading/found.ts'

const code = 'Your verification code is 482913.'
const texts = ['Hi', 'Hi\n', '\n Hi "there" \n\n', '', '\n', code, `${code}\n`, 'See https://a.example/x\n']
const answer = 'Yes\n\nOn Mon, 3 Feb 2025 at 10:00, Ann <ann@a.example> wrote:\n> Shall we?\n'

t.test('what was found comes back from the row, and a reply that is the text is kept once', async t => {
  for (const text of [...texts, answer]) {
    const found = extract({ subject: '', text, html: '' })
    const extracted = extractionColumn({ text }, found)
    const kind = { direction: 'inbound', verdict: 'clean', category: 'personal' } as const
    const row = { ...kind, subject: '', bodyText: text, bodyHtml: '', extracted }
    t.strictSame(await extractionOf(row), found, JSON.stringify(text))
    const begun = { ...row, extractedBegin: extracted.slice(0, 200), extractedEnd: extracted }
    const { isReplyCut, ...within } = extractionWithin(begun as never)
    t.strictSame(within, found, `${JSON.stringify(text)}, the column not read`)
    t.strictSame(
      [JSON.parse(extracted).replyText, isReplyCut],
      text === answer ? ['Yes', false] : [null, undefined],
    )
  }
})

t.test('the columns of most messages', async t => {
  const columnOf = (text: string) => extractionColumn({ text }, extract({ subject: '', text, html: '' }))
  t.strictSame([columnOf('Hi'), columnOf('Hi\n')], [nothingFound, nothingFoundTrimmed])
})

t.test('no code and no link to sign in is offered of mail that may be forged', async t => {
  const text =
    'Your verification code is 482913.\nOr sign in: https://a.example/login?token=abcdef1234567890abcdef\n'
  const extracted = extractionColumn({ text }, extract({ subject: 'Your verification code', text, html: '' }))
  for (const [verdict, offered] of [
    ['clean', '482913'],
    ['spam', null],
    ['malicious', null],
  ] as const) {
    const row = {
      direction: 'inbound',
      verdict,
      category: 'automated',
      subject: '',
      bodyText: text,
      bodyHtml: '',
      extracted,
    } as const
    const { otp, oneTime, replyText } = await extractionOf(row)
    t.strictSame([otp, oneTime?.value ?? null], [offered, offered], verdict)
    const begun = { ...row, extractedBegin: extracted.slice(0, 200), extractedEnd: extracted }
    const within = extractionWithin(begun as never)
    t.strictSame([within.otp, within.oneTime?.value ?? null, within.replyText], [offered, offered, replyText])
  }
})
