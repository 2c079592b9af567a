import t from 'tap'
import { Problem } from '../../lib/base/problem.ts'
import { inWordsOfOptions } from '../../lib/cli/words-of-options.ts'

t.test('what a refusal sends one to is called as mailboxctl calls it', async t => {
  for (const [code, command] of [
    ['invalid_domain', 'mailboxctl domain list lists'],
    ['invalid_pod', '(mailboxctl pod list)'],
    ['recipient_not_permitted', '(mailboxctl policy get)'],
    ['domain_exists', 'mailboxctl domain list finds'],
    ['recipient_suppressed', '(mailboxctl suppression remove)'],
  ] as const) {
    const { message } = inWordsOfOptions(new Problem(code))
    t.ok(message.includes(command), message)
    t.notMatch(message, /\/v1\//)
  }
  const { message } = inWordsOfOptions(
    new Problem('invalid_domain', 'it waits. GET /v1/domains/01a2-b3 lists the records to publish'),
  )
  t.equal(message, 'it waits. mailboxctl domain records 01a2-b3 lists the records to publish')
})
