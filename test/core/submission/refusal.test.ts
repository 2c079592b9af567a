import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sendProblems } from '../../../lib/api/sending.ts'
import { Problem, type ProblemCode, statusOf } from '../../../lib/base/problem.ts'
import { Reply } from '../../../lib/base/reply.ts'
import { refusalOf } from '../../../lib/core/submission/refusal.ts'
import { root } from '../../rules/source-tree.ts'

const codes: readonly ProblemCode[] = [
  ...sendProblems,
  'unauthorized',
  'payload_too_large',
  'rate_limit_exceeded',
  'unavailable',
  'not_found',
  'invalid_request',
]

t.test('what a send is refused for is the reply that is documented', async t => {
  /** By what the first sentence of docs/agents/smtp.md says of each. */
  const others: Partial<Record<ProblemCode, string>> = {
    unauthorized: '535 5.7.8',
    invalid_request: '550 5.6.0',
    attachments_too_large: '552 5.3.4',
    payload_too_large: '552 5.3.4',
    reply_loop: '554 5.4.6',
    cold_outreach_limit: '452 4.7.1',
    storage_full: '452 4.2.2',
    rate_limit_exceeded: '450 4.7.1',
  }
  const said = new Map(
    codes.map(code => {
      const reply = refusalOf(new Problem(code))
      return [code, reply instanceof Reply ? `${reply.code} ${reply.enhanced}` : 'none']
    }),
  )
  const byStatus = (code: ProblemCode) =>
    statusOf(code) >= 500 ? '451 4.3.0' : statusOf(code) === 429 ? '450 4.7.1' : '550 5.7.1'
  for (const [code, reply] of said) t.equal(reply, others[code] ?? byStatus(code), code)
  const table = readFileSync(join(root, 'docs/agents/smtp.md'), 'utf8').split('| reply | because |')[1]!
  const documented = [...table.matchAll(/`(\d{3} \d\.\d\.\d)`/g)].map(([, reply]) => reply!)
  t.strictSame([...new Set(said.values())].sort(), documented.sort())
})

t.test('whatever a send is refused for is a reply of one short line that says what to do', async t => {
  for (const code of codes) {
    const reply = refusalOf(new Problem(code, undefined, { retryAfterSeconds: 7 }))
    if (!(reply instanceof Reply)) throw new Error(code)
    t.match(reply.enhanced, /^[45]\.\d\.\d$/)
    t.equal(String(reply.code)[0], reply.enhanced[0], code)
    t.match(reply.text, /^\S.{20,450}\(again in 7 s\)$/)
  }
  const long = refusalOf(new Problem('invalid_request', `${'x\r\n'.repeat(1000)}`))
  t.match(long, { code: 550 })
  t.notMatch((long as Reply).message, /[\r\n]/)
  t.ok((long as Reply).message.length < 500)
  const fault = new Error('a fault of ours')
  t.equal(refusalOf(fault), fault)
})
