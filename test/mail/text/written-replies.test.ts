import t from 'tap'
import { htmlToText } from '../../../lib/mail/text/html.ts'
import { newText } from '../../../lib/mail/text/reply-text.ts'
import { isHeldBack, readWritten } from '../../support/halves.ts'

interface Written {
  readonly id: string
  readonly subject: string
  readonly text: string
  readonly html?: string
  readonly want: string
}

const plain = (text: string) => text.replace(/\n{2,}/g, '\n\n').trim()

t.test('what is new in replies and forwarded messages of sixty programs in forty languages', async t => {
  const judged = [...readWritten<Written>('replies'), ...readWritten<Written>('replies-2')].map(
    ({ id, subject, text, html = '', want }) => {
      const got = newText({ subject, text: text === '' ? htmlToText(html) : text, html }).text
      return { id, want: plain(want), got: plain(got) }
    },
  )
  for (const half of [false, true]) {
    const some = judged.filter(({ id }) => isHeldBack(id) === half)
    const right = some.filter(({ want, got }) => want === got)
    t.comment(`${half ? 'held back' : 'written by'}: ${right.length} of ${some.length}`)
  }
  t.ok(judged.length >= 275)
  for (const { id, want, got } of judged) t.equal(got, want, id)
})
