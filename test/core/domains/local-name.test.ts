import t from 'tap'
import type { Config } from '../../../lib/config/load.ts'
import { hasLocalName } from '../../../lib/core/domains/local-name.ts'

t.test('local mode is where no mail leaves, under a name that nobody else can look up', async t => {
  const isLocal = (mode: 'capture' | 'mx', hostname: string, domain = hostname) =>
    hasLocalName({ hostname, account_domain: domain, delivery: { mode } } as Config)
  t.equal(isLocal('capture', 'mailboxd.localhost'), true)
  t.equal(isLocal('capture', 'mail.ours.example'), false, 'a laboratory has records to publish')
  t.equal(
    isLocal('capture', 'mailboxd.localhost', 'ours.example'),
    false,
    'whose addresses strangers are told none of',
  )
  t.equal(isLocal('mx', 'mailboxd.localhost'), false)
})
