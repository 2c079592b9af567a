import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { zoneToPublish } from '../../../lib/cli/domain-report.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { createDomain, lookAtDomain } from '../../../lib/core/domains/domains.ts'
import { findMailElsewhere } from '../../../lib/core/domains/existing-mail.ts'
import { recordsToPublish } from '../../../lib/core/domains/host-records.ts'
import type { Domain } from '../../../lib/model/domain.ts'
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

t.test('the first answer about a domain that has mail advises what a check advises', async t => {
  const dns = await startDns({
    'company.example': { MX: [{ priority: 1, exchange: 'mx.example.net' }] },
    '_dmarc.company.example': { TXT: ['v=DMARC1; p=reject'] },
    'mailboxd._domainkey.company.example': { TXT: ['v=DKIM1; p=b2xk'] },
    'none.example': { MX: [{ priority: 0, exchange: '' }] },
    'both.example': {
      MX: [
        { priority: 10, exchange: 'mail.ours.example' },
        { priority: 10, exchange: 'mx.example.net' },
      ],
    },
  })
  t.teardown(() => dns.close())
  dns.fail('silent.example', 'SERVFAIL')
  const { api, app } = await startApi(t, { dns: dns.server })
  const add = async (domain: string) => {
    const { body } = await api.post('/v1/domains', { domain })
    const { records, warnings }: Domain = (await api.post(`/v1/domains/${body.id}/verify`)).body
    t.strictSame([body.records, body.warnings], [records, warnings], domain)
    t.strictSame((await lookAtDomain(app, domain)).records, records, domain)
    const mx = records.find(({ purpose }) => purpose === 'mx')
    const toPublish = await recordsToPublish(app, body)
    return { mx, zone: zoneToPublish(toPublish, warnings) }
  }
  const { mx, zone } = await add('company.example')
  t.match(mx, { status: 'invalid', found: ['1 mx.example.net'], problem: /Another server receives its mail/ })
  t.match(
    zone,
    /^; .*remove the other MX records first.* Found: 1 mx\.example\.net\n; company\.example\. 3600 IN MX/,
  )
  t.notMatch(zone, 'DMARC1')

  const silent = await add('silent.example')
  t.match(silent.mx, { status: 'missing', problem: /^Not known yet: DNS did not say/ })
  t.match(silent.zone, /^; Not known yet.*\n; silent\.example\. 3600 IN MX/)

  t.match((await add('none.example')).mx, { status: 'invalid', problem: /null MX/ })
  t.match(
    (await add('none2.example')).zone,
    /^none2\.example\. 3600 IN MX/,
    'a domain without mail is at risk of nothing',
  )
  t.match(
    (await add('both.example')).zone,
    /^; mx\.example\.net receives mail of this domain .*remove these MX/,
  )
})

t.test('who publishes each record of the API as it stands weakens no DMARC policy', async t => {
  const dns = await startDns({
    '_dmarc.company.example': { TXT: ['v=DMARC1; p=reject; rua=mailto:dmarc@company.example'] },
    '_dmarc.two.example': { TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] },
    '_dmarc.long.example': { TXT: [`v=DMARC1; p=reject; rua=mailto:${'x'.repeat(600)}@long.example`] },
  })
  t.teardown(() => dns.close())
  dns.fail('_dmarc.silent.example', 'SERVFAIL')
  const { api } = await startApi(t, { dns: dns.server })
  const shown = async (domain: string) => {
    const { body } = await api.post('/v1/domains', { domain })
    const checked = await api.post(`/v1/domains/${body.id}/verify`)
    const values = [body as Domain, checked.body as Domain].map(
      ({ records }) => records.find(({ purpose }) => purpose === 'dmarc')?.value,
    )
    t.equal(values[0], values[1], `${domain}: before the first check as after it`)
    return values[0]
  }
  t.equal(await shown('company.example'), 'v=DMARC1; p=reject; rua=mailto:dmarc@company.example')
  t.equal(await shown('agents.company.example'), undefined, 'a policy is inherited')
  t.equal(await shown('two.example'), 'v=DMARC1; p=reject', 'the strictest of several')
  t.equal(await shown('long.example'), undefined, 'half of a policy is none')
  t.equal(await shown('silent.example'), undefined, 'DNS does not say')
  t.equal(await shown('new.example'), 'v=DMARC1; p=none')
})

t.test('verify names the slip of a record that was published wrongly', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { api } = await startApi(t, { dns: dns.server })
  const { body } = await api.post('/v1/domains', { domain: 'slips.example' })
  const records: Domain['records'] = body.records
  const problemAfter = async (wanted: string, type: 'TXT' | 'MX', change: (value: string) => unknown) => {
    const { name, value } = records.find(({ purpose }) => purpose === wanted)!
    dns.set(name, type, [change(value)] as never)
    const checked: Domain = (await api.post(`/v1/domains/${body.id}/verify`)).body
    const { status, problem } = checked.records.find(({ purpose }) => purpose === wanted)!
    t.equal(status, 'invalid')
    return problem
  }
  t.match(await problemAfter('dkim', 'TXT', value => value.replaceAll(';', '\\;')), /backslashes/)
  const inStrings = (value: string) => [value.slice(0, 255)]
  t.match(await problemAfter('dkim', 'TXT', inStrings), /cut off.*255 characters/)
  t.match(await problemAfter('dkim', 'TXT', () => 'v=DKIM1; p=bm90IG91cnM='), /Another key/)
  for (const purpose of ['mx', 'return-path']) {
    const { name } = records.find(one => one.purpose === purpose)!
    const appended = (value: string) => ({ priority: 10, exchange: `${value}.${name}` })
    t.match(
      await problemAfter(purpose, 'MX', appended),
      /final dot is missing.*Write mail\.ours\.example\. with/,
    )
  }
  const elsewhere = () => ({ priority: 10, exchange: 'mx.other.example' })
  t.match(await problemAfter('mx', 'MX', elsewhere), /Another server receives its mail/)
})
