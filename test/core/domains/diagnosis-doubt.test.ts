import { createSocket } from 'node:dgram'
import t from 'tap'
import { StorageLocked } from '../../../lib/base/faults.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { diagnoseDomain } from '../../../lib/core/domains/diagnosis.ts'
import { createDomain, verifyDomain } from '../../../lib/core/domains/domains.ts'
import { createAuthoritativeDns } from '../../../lib/courier/authoritative-dns.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { zoneFile } from '../../../lib/mail/domain/records.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'
import { startKnot } from '../../support/knot.ts'
import { without } from '../../support/peers.ts'
import { publish } from '../../support/published.ts'

/** Nobody else listens there; port 53 is where name servers are asked. */
const address = '127.53.12.8'
const silentAddress = '127.53.12.7'

const records = [
  { type: 'MX', name: 'theirs.example', value: 'mail.ours.example', priority: 10 },
  {
    type: 'TXT',
    name: '_smtp._tls.theirs.example',
    value: 'v=TLSRPTv1; rua=mailto:a@theirs.example',
    priority: null,
  },
]

t.test('what a resolver remembers misleads nobody', { skip: without('knot') }, async t => {
  await startKnot(t, address, { 'theirs.example': zoneFile(records) })
  const resolver = await startDns({
    'theirs.example': { NS: ['ns.theirs.example'], MX: [{ priority: 1, exchange: 'mx.before.example' }] },
    'ns.theirs.example': { A: [address] },
  })
  t.teardown(() => resolver.close())
  const { app } = await startApi(t, { dns: resolver.server })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  const { domain, findings } = await diagnoseDomain(app, id)
  const told = findings.filter(({ subject }) => subject.endsWith('theirs.example')).map(({ code }) => code)
  t.notOk(told.includes('mx_invalid') || told.includes('tls_rpt_missing'), JSON.stringify(findings))
  t.equal(domain.records.find(one => one.purpose === 'mx')?.status, 'valid')
})

t.test('name servers that say nothing: the resolver is believed, and it is told', async t => {
  const nobody = createSocket('udp4')
  await new Promise<void>(resolve => nobody.bind(53, silentAddress, resolve))
  t.teardown(() => nobody.close())
  const resolver = await startDns({
    'theirs.example': { NS: ['ns.theirs.example'], MX: [{ priority: 1, exchange: 'mail.ours.example' }] },
    'ns.theirs.example': { A: [silentAddress] },
  })
  t.teardown(() => resolver.close())
  const { app } = await startApi(t, { dns: resolver.server })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  const { domain, findings } = await diagnoseDomain(app, id)
  const silent = findings.find(({ code }) => code === 'name_servers_silent')
  t.match(silent, { subject: 'theirs.example', level: 'warning' }, JSON.stringify(findings))
  t.equal(domain.records.find(one => one.purpose === 'mx')?.status, 'valid')
  t.ok(findings.some(({ code, message }) => code === 'dns_unanswered' && message.includes('DNSSEC')))
})

t.test('a zone that is broken is not taken for an empty one', async t => {
  // Those of the zone above would say that there is nothing below them.
  const resolver = await startDns({
    'above.example': { NS: ['ns.above.example'] },
    'ns.above.example': { A: [silentAddress] },
  })
  t.teardown(() => resolver.close())
  const broken = createAuthoritativeDns(createDns({ servers: [resolver.server], timeoutMs: 1000 }))
  resolver.fail('broken.above.example', 'SERVFAIL')
  t.equal(await broken.findZone('broken.above.example'), undefined)
  t.match(await broken.findZone('well.above.example'), { name: 'above.example' })
  await t.rejects(broken.resolveTxt('broken.above.example'), { code: 'ESERVFAIL' })
})

t.test('a resolver that says nothing: nothing passes, and it comes to an end', async t => {
  const resolver = await startDns({})
  t.teardown(() => resolver.close())
  const { app } = await startApi(t, { dns: resolver.server })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  for (const name of ['theirs.example', 'mail.ours.example']) resolver.fail(name, 'timeout')
  for (const below of ['bounce', '_dmarc', '_mta-sts', '_smtp._tls', 'mailboxd._domainkey'])
    resolver.fail(`${below}.theirs.example`, 'timeout')
  const { domain, findings } = await diagnoseDomain(app, id)
  t.not(domain.status, 'verified')
  const codes = new Set(findings.map(({ code, level }) => `${level} ${code}`))
  t.ok(codes.has('warning dns_unanswered'), JSON.stringify(findings))
  const told = findings.filter(({ code }) => code === 'dns_unanswered').map(({ subject }) => subject)
  for (const subject of ['mail.ours.example', 'theirs.example', 'bounce.theirs.example'])
    t.ok(told.includes(subject), `${subject}: ${JSON.stringify(findings)}`)
})

t.test(
  'whether a domain is still verified is unknown where DNS says nothing of what it is verified by',
  async t => {
    const resolver = await startDns({ '127.0.0.1': { PTR: ['mail.ours.example'] } })
    t.teardown(() => resolver.close())
    const { app } = await startApi(t, { dns: resolver.server })
    const made = await createDomain(app, operator, { domain: 'theirs.example' })
    const statusWithout = async (name: string) => {
      publish(resolver, made)
      resolver.fail(name, 'SERVFAIL')
      const { domain, findings } = await diagnoseDomain(app, made.id)
      resolver.clear(name)
      const subjects = findings.filter(({ code }) => code === 'dns_unanswered').map(({ subject }) => subject)
      t.ok(subjects.includes(name), `${name}: ${subjects}`)
      return domain.status
    }
    t.equal(await statusWithout('theirs.example'), 'pending', 'it never was')
    publish(resolver, made)
    t.equal((await verifyDomain(app, operator, made.id)).status, 'verified')
    const needed = ['mx', 'dkim', 'spf', 'return-path']
    const names = new Map(made.records.map(({ name, purpose }) => [name, needed.includes(purpose)]))
    t.strictSame(names.size, 5)
    for (const [name, isNeeded] of names)
      t.equal(await statusWithout(name), isNeeded ? 'unknown' : 'verified', name)
  },
)

t.test('a resolver that is not there is told once, and no record is called missing', async t => {
  const resolver = await startDns({})
  await resolver.close()
  const { app } = await startApi(t, { dns: resolver.server })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  const { domain, findings } = await diagnoseDomain(app, id)
  t.not(domain.status, 'verified')
  t.match(findings, [{ level: 'error', code: 'dns_unanswered', subject: 'theirs.example', paste: null }])
  t.equal(findings.length, 1, JSON.stringify(findings))
  t.ok(findings[0]?.message.includes(`Check that ${resolver.server} (dns.servers) can be reached`))
})

t.test('what stands in a zone of a stranger stays within a line', { skip: without('knot') }, async t => {
  const evil = 'v=spf1 \\027[2J\\010error  yours.example +all'
  await startKnot(t, address, {
    'theirs.example': `@ TXT "${evil}"\nbounce TXT "v=spf1 ${'a'.repeat(240)}" "${'b'.repeat(250)}" "${'c'.repeat(250)} +all"\n`,
  })
  const { app } = await startApi(t, { dns: `${address}:53` })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  const { findings } = await diagnoseDomain(app, id)
  const open = findings.filter(({ code }) => code === 'spf_allows_all' || code === 'spf_broken')
  t.equal(open.length, 2, JSON.stringify(findings))
  for (const { paste, message } of findings) {
    t.notMatch(`${paste}${message}`, /[^ -~\n]/)
    t.ok((paste ?? '').length < 2000)
    t.ok((paste ?? '').split('\n').length === 1, paste ?? '')
  }
})

t.test('a disk that is full or hangs: what a check finds is not written down, the rest is told', async t => {
  const resolver = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.before.example' }] },
  })
  t.teardown(() => resolver.close())
  const { app } = await startApi(t, { dns: resolver.server })
  const { id } = await createDomain(app, operator, { domain: 'theirs.example' })
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  const without = { ...app.store, write: () => Promise.reject(full) }
  const { domain, findings } = await diagnoseDomain(Object.create(app, { store: { value: without } }), id)
  const about = findings.filter(({ subject }) => subject === 'theirs.example').map(({ code }) => code)
  t.ok(about.includes('check_not_written'), JSON.stringify(findings))
  t.notOk(about.includes('mx_invalid'), `of the records nothing is said: ${about}`)
  t.ok(findings.some(({ subject }) => subject === 'mail.ours.example'))
  t.equal(domain.status, 'pending')
  const hung = { ...app.store, write: () => new Promise(() => {}) }
  const late = await diagnoseDomain(Object.create(app, { store: { value: hung } }), id)
  const [said] = late.findings.filter(({ code }) => code === 'check_not_written')
  t.match(said, {
    level: 'error',
    message: /was not kept within 12 seconds .*, so what a check of the records finds/,
  })
  t.ok(late.findings.some(({ subject }) => subject === 'mail.ours.example'))
  const locked = { ...app.store, write: () => Promise.reject(new StorageLocked({})) }
  const { findings: beside } = await diagnoseDomain(Object.create(app, { store: { value: locked } }), id)
  t.match(
    beside.filter(({ code }) => code === 'check_not_written'),
    [{ message: /^another program, or a slow disk, keeps the database locked: .*, so what a check/ }],
  )
  const other = { ...app.store, write: () => Promise.reject(new Error('other')) }
  await t.rejects(diagnoseDomain(Object.create(app, { store: { value: other } }), id), { message: 'other' })
})
