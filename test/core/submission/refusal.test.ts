import t from 'tap'
import { sendProblems } from '../../../lib/api/sending.ts'
import { Problem, type ProblemCode } from '../../../lib/base/problem.ts'
import { Reply } from '../../../lib/base/reply.ts'
import { refusalOf } from '../../../lib/core/submission/refusal.ts'

t.test('whatever a send is refused for is a reply of one short line that says what to do', async t => {
  const codes: ProblemCode[] = [
    ...sendProblems,
    'rate_limit_exceeded',
    'unavailable',
    'not_found',
    'invalid_request',
  ]
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
