import t from 'tap'
import { htmlToText } from '../../../lib/mail/text/html.ts'
import { extract } from '../../../lib/reading/extraction.ts'
import { isHeldBack, readWritten } from '../../support/halves.ts'

interface Written {
  readonly id: string
  readonly subject: string
  readonly text: string
  readonly html?: string
  readonly want: string | { readonly link: string } | null
}

/** Read otherwise, and why. */
const otherwise: Record<string, string> = {
  c024: 'the code of a door',
  'w2-33': 'the code of a locker',
  c122: 'it is called a number, and nothing in the message a code',
  'w2-42': 'what a bank calls an auth code on a receipt',
}

t.test('codes in thirty-five languages, links, and a hundred numbers that are none', async t => {
  const judged = [...readWritten<Written>('codes'), ...readWritten<Written>('codes-2')].map(
    ({ id, subject, text, html = '', want }) => {
      const { otp, oneTime } = extract({ subject, text: text === '' ? htmlToText(html) : text, html })
      const kind = want === null ? 'none' : typeof want === 'string' ? 'code' : 'link'
      const value = want === null ? null : typeof want === 'string' ? want : want.link
      const isRight = (oneTime?.value ?? null) === value && otp === (kind === 'code' ? value : null)
      return { id, kind, isRight, subject, oneTime }
    },
  )
  for (const half of [false, true]) {
    for (const [kind, some] of Map.groupBy(
      judged.filter(({ id }) => isHeldBack(id) === half),
      one => one.kind,
    )) {
      const right = some.filter(one => one.isRight)
      t.comment(`${half ? 'held back' : 'written by'}, ${kind}: ${right.length} of ${some.length}`)
    }
  }
  t.ok(judged.length >= 270)
  for (const { id, kind, isRight, subject, oneTime } of judged) {
    t.ok(isRight || otherwise[id], `${id} ${kind} ${subject}: ${JSON.stringify(oneTime)}`)
  }
})
