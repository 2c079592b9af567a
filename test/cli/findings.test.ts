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

t.test('sentences fit a terminal, and what is to be pasted stays in one piece', async t => {
  const message = 'many words '.repeat(40).trim()
  const paste = 'p'.repeat(300)
  const finding = { level: 'error', code: 'c', subject: 'x', message, paste } as unknown as Finding
  const lines = tellFindings([finding], 80).split('\n')
  t.equal(lines[0], 'error    x  (c)')
  const told = lines.slice(1, lines.indexOf(''))
  t.ok(told.length > 4)
  for (const line of told) t.match(line, /^ {9}\S.{0,70}$/)
  t.equal(told.map(line => line.trim()).join(' '), message)
  t.ok(lines.includes(`           ${paste}`))
  t.equal(
    tellFindings([finding]).split('\n')[1],
    `         ${message}`,
    'into a pipe it is one line, to be found',
  )
})
