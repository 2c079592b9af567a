import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { createDomain } from '../../../lib/core/domains/domains.ts'
import { findMailElsewhere } from '../../../lib/core/domains/existing-mail.ts'
import { recordsToPublish } from '../../../lib/core/domains/host-records.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'

t.test('a domain has mail elsewhere if its MX leads to another server', async t => {
  const dns = await startDns({
    'company.example': { MX: [{ priority: 10, exchange: 'MX.example.net' }] },
    'null.example': { MX: [{ priority: 0, exchange: '' }] },
    'ours.example': {
      MX: [
        { priority: 10, exchange: 'mail.ours.example' },
        { priority: 20, exchange: 'mx.example.net' },
      ],
    },
    'mail.ours.example': { A: ['127.0.0.1'] },
    'older.example': { MX: [{ priority: 10, exchange: 'mail.older.example' }] },
    'mail.older.example': { A: ['193.0.0.99'] },
  })
  t.teardown(() => dns.close())
  dns.fail('silent.example', 'SERVFAIL')
  const { app } = await startApi(t, { dns: dns.server })
  const asked = { dns: app.dns, clock: systemClock }
  const own = ['127.0.0.1', '193.0.0.1']
  const found = (domain: string) => findMailElsewhere(asked, domain, `mail.${domain}`, own)
  t.strictSame(await found('company.example'), ['mx.example.net'])
  t.strictSame(await found('null.example'), [])
  t.strictSame(await found('new.example'), [])
  t.strictSame(await found('ours.example'), [], 'this server has been put into the set on purpose')
  t.strictSame(await found('older.example'), ['mail.older.example'], 'the name is that of another machine')
  t.equal(await found('silent.example'), undefined)
})

t.test('a DMARC policy that is published, here or above, is never replaced', async t => {
  const dns = await startDns({
    '_dmarc.company.example': { TXT: ['v=DMARC1; p=reject'] },
    '_dmarc.two.example': { TXT: ['v=DMARC1; p=reject', 'v=DMARC1; p=none'] },
  })
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const proposes = async (name: string) => {
    const domain = await createDomain(app, operator, { domain: name })
    const records = await recordsToPublish(app, domain)
    return records.some(({ purpose }) => purpose === 'dmarc')
  }
  t.equal(await proposes('company.example'), false)
  t.equal(await proposes('agents.company.example'), false, 'a policy is inherited')
  t.equal(await proposes('two.example'), false, 'nor is a third one added to two')
  t.equal(await proposes('new.example'), true)
})
