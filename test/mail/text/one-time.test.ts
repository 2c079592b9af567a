import t from 'tap'
import { htmlToText } from '../../../lib/mail/text/html.ts'
import { extract } from '../../../lib/reading/extraction.ts'
import { heldBack } from './codes/held-back.ts'
import type { Judged } from './codes/judged.ts'
import { tuned } from './codes/tuned.ts'

/** The share of right ones, of codes, of links and of mail that brings none; what is wrong is said. */
function read(judged: readonly Judged[]) {
  const shares: Record<string, { right: number; all: number }> = {}
  const wrong: string[] = []
  for (const [subject, body, brings] of judged) {
    const html = body.startsWith('<') ? body : ''
    const text = html === '' ? body : htmlToText(html)
    const { otp, oneTime } = extract({ subject, text, html })
    const kind = brings === null ? 'none' : typeof brings === 'string' ? 'code' : 'link'
    const wanted = brings === null ? null : typeof brings === 'string' ? brings : brings.link
    const isRight = (oneTime?.value ?? null) === wanted && otp === (kind === 'code' ? wanted : null)
    shares[kind] ??= { right: 0, all: 0 }
    shares[kind].all++
    if (isRight) shares[kind].right++
    else wrong.push(`${subject} | ${text.slice(0, 60)}: ${JSON.stringify(oneTime)}`)
  }
  return { shares, wrong, right: judged.length - wrong.length }
}

t.test(
  'codes and links of public templates, and what is none: the half by which the rules were written',
  async t => {
    const { shares, wrong, right } = read(tuned)
    t.comment(`${right} of ${tuned.length}`, shares, wrong)
    t.equal(tuned.length, 150)
    t.ok(right >= 0.97 * tuned.length, wrong.join('\n'))
  },
)

t.test('the half that was held back', async t => {
  const { shares, wrong, right } = read(heldBack)
  t.comment(`${right} of ${heldBack.length}`, shares, wrong)
  t.equal(heldBack.length, 150)
  t.equal(shares.none?.right, shares.none?.all, 'none is found where none is')
  t.ok(right >= 0.9 * heldBack.length, wrong.join('\n'))
})
