import t from 'tap'
import { tellFindings, worstFirst } from '../../lib/cli/findings.ts'
import type { Finding } from '../../lib/core/domains/diagnosis.ts'

t.test('the worst is told first, and of one level what was found first', async t => {
  const levels = ['hint', 'warning', 'error', 'hint', 'error', 'warning'] as const
  const findings = levels.map((level, index) => ({
    level,
    code: `c${index}`,
    subject: 'x',
    message: 'm',
    paste: null,
  })) as unknown as Finding[]
  const worst = ['c2', 'c4', 'c1', 'c5', 'c0', 'c3']
  t.strictSame(
    worstFirst(findings).map(({ code }) => code),
    worst,
  )
  t.strictSame(
    [...tellFindings(findings).matchAll(/\((c\d)\)/g)].map(([, code]) => code),
    worst,
  )
})
