import t, { type Test } from 'tap'
import { diagnose, tellDiagnosis } from '../../lib/cli/dns.ts'
import type { App } from '../../lib/core/app/app.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { createDomain } from '../../lib/core/domains/domains.ts'
import type { Domain } from '../../lib/model/domain.ts'
import { startApi } from '../support/api-app.ts'
import { startDns, type TestDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'

const address = '127.0.0.1'

/** A domain with all its records, and a server whose name has no PTR. */
async function published(t: Test): Promise<{ app: App; dns: TestDns; domain: Domain }> {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const domain = await createDomain(app, operator, { domain: 'theirs.example' })
  publish(dns, domain, address)
  return { app, dns, domain }
}

const errorsOf = ({ findings }: Awaited<ReturnType<typeof diagnose>>) =>
  findings.filter(({ level }) => level === 'error').map(({ code }) => code)

t.test('who waits waits for errors beside the records, too', async t => {
  const { app, dns, domain } = await published(t)
  const once = await diagnose(app, domain.id, undefined)
  t.strictSame([once.domain.status, errorsOf(once)], ['not_well', ['ptr_mismatch']])
  let pauses = 0
  const found = await diagnose(app, domain.id, async () => {
    pauses++
    dns.set(address, 'PTR', ['mail.ours.example'])
  })
  t.strictSame([found.domain.status, errorsOf(found), pauses], ['verified', [], 1])
})

t.test('in local mode DNS is not asked, nothing is to be published, and nobody waits', async t => {
  const { app, domain } = await published(t)
  const { config } = app
  const delivery = { ...config.delivery, mode: 'capture' }
  const local: App = Object.create(app, {
    config: {
      value: { ...config, hostname: 'mailboxd.localhost', account_domain: 'mailboxd.localhost', delivery },
    },
  })
  const found = await diagnose(local, domain.id, async () => void t.fail('it waits for what never comes'))
  t.match(found, {
    domain: { domain: 'theirs.example', status: 'pending' },
    findings: [{ level: 'hint', code: 'local_name', subject: 'mailboxd.localhost', paste: null }],
  })
  t.match(tellDiagnosis(found), /^theirs\.example is pending: 0 errors, 0 warnings, 1 hint\n/)
})

t.test('of a domain that DNS says nothing about nobody says that it is verified', async t => {
  const { app, dns, domain } = await published(t)
  dns.set(address, 'PTR', ['mail.ours.example'])
  t.match(
    tellDiagnosis(await diagnose(app, domain.id, undefined)),
    /^theirs\.example is verified: 0 errors, /,
  )
  const names = [...new Set(domain.records.map(({ name }) => name))]
  for (const name of names) dns.fail(name, 'SERVFAIL')
  const silent = await diagnose(app, domain.id, undefined)
  t.equal(silent.domain.status, 'unknown')
  t.match(
    tellDiagnosis(silent),
    /^theirs\.example was verified on \d{4}-\d\d-\d\d, and DNS gives no answer now for what it needs: 0 errors, /,
  )
  let pauses = 0
  const answered = await diagnose(app, domain.id, async () => {
    pauses++
    for (const name of names) dns.clear(name)
  })
  t.strictSame([answered.domain.status, pauses], ['verified', 1])
})

t.test('one is not many', async t => {
  const { app, domain } = await published(t)
  const found = await diagnose(app, domain.id, undefined)
  const of = (...codes: string[]) => found.findings.filter(({ code }) => codes.includes(code))
  const one = { ...found, findings: of('ptr_mismatch') }
  t.match(tellDiagnosis(one), /^theirs\.example is not well: 1 error, 0 warnings, 0 hints\n/)
})
