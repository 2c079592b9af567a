import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t, { type Test } from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { createDomain, rotateDomainKeys, verifyDomain } from '../../../lib/core/domains/domains.ts'
import { dkimSigner, expireKeys, rotateDueKeys } from '../../../lib/core/domains/keys.ts'
import { signDkim } from '../../../lib/mail/compose/dkim.ts'
import type { Domain } from '../../../lib/model/domain.ts'
import { listDomainKeys } from '../../../lib/store/domain-keys.ts'
import { findDomainById } from '../../../lib/store/domains.ts'
import { type ApiApp, startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'
import { publish } from '../../support/published.ts'

const day = 86_400_000

async function setUp(t: Test, toml = '') {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const server = await startApi(t, { dns: dns.server, toml })
  const domain = await createDomain(server.app, operator, { domain: 'mine.example' })
  return { ...server, dns, domain }
}

/** The algorithm, selector and result of each signature that a mail of the domain gets now, as mailauth finds them. */
async function signatures({ app }: Pick<ApiApp, 'app'>, id: string): Promise<string[]> {
  const row = (await findDomainById(app.store.read, id))!
  const raw = Buffer.from('From: ann@mine.example\r\nSubject: x\r\n\r\nbody\r\n')
  const signed = await signDkim(raw, await dkimSigner(app, row, app.clock.now()))
  const resolver = (name: string, type: string) => app.dns.resolve(name, type) as Promise<string[][]>
  const { results } = await dkimVerify(signed, { resolver, curTime: app.clock.now() })
  return results.map(one => `${one.algo} ${one.selector} ${one.status.result}`)
}

const named = ({ records }: Domain, purpose: string) => records.filter(one => one.purpose === purpose)

t.test('Ed25519 signs beside RSA as soon as its record is found', async t => {
  const server = await setUp(t)
  const { app, dns, domain } = server
  const [second] = named(domain, 'dkim-ed25519')
  t.match(second, { name: 'mailboxd-ed25519._domainkey.mine.example', status: 'missing' })
  t.match(second?.value, /^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/)
  publish(dns, { ...domain, records: domain.records.filter(one => one !== second) })
  t.match(await verifyDomain(app, operator, domain.id), { status: 'verified' }, 'it is not needed')
  t.same(await signatures(server, domain.id), ['rsa-sha256 mailboxd pass'])
  publish(dns, domain)
  const checked = await verifyDomain(app, operator, domain.id)
  t.match(named(checked, 'dkim-ed25519'), [{ status: 'valid', problem: null }])
  t.same(await signatures(server, domain.id), [
    'rsa-sha256 mailboxd pass',
    'ed25519-sha256 mailboxd-ed25519 pass',
  ])
  dns.set(second!.name, 'TXT', ['v=DKIM1; k=ed25519; p=MCowBQYDK2VwAyEA'])
  await verifyDomain(app, operator, domain.id)
  t.same(await signatures(server, domain.id), ['rsa-sha256 mailboxd pass'], 'nobody could check it')
})

t.test('new keys are shown, then seen, then used; the old ones are kept for seven days', async t => {
  const server = await setUp(t)
  const { app, dns, domain, clock } = server
  publish(dns, domain)
  await verifyDomain(app, operator, domain.id)
  const before = await signatures(server, domain.id)
  const rotated = await rotateDomainKeys(app, 'mine.example')
  const next = named(rotated, 'dkim-next')
  t.match(next, [{ status: 'missing' }, { status: 'missing' }])
  await t.rejects(rotateDomainKeys(app, 'mine.example'), { code: 'invalid_request' })
  await verifyDomain(app, operator, domain.id)
  t.same(await signatures(server, domain.id), before, 'nothing is signed by what nobody sees')
  publish(dns, rotated)
  const used = await verifyDomain(app, operator, domain.id)
  t.equal(used.status, 'verified')
  const stem = next.map(one => one.name.split('.')[0]).sort()[0]
  t.same(await signatures(server, domain.id), [`rsa-sha256 ${stem} pass`, `ed25519-sha256 ${stem}e pass`])
  t.match(named(used, 'dkim'), [{ name: `${stem}._domainkey.mine.example`, status: 'valid' }])
  t.same(
    named(used, 'dkim-previous').map(one => one.name),
    ['mailboxd', 'mailboxd-ed25519'].map(selector => `${selector}._domainkey.mine.example`),
  )
  for (const row of await listDomainKeys(app.store.read, domain.id))
    t.equal(row.privateKey === null, row.state === 'previous', 'what is over can sign nothing')
  clock.advance(6 * day)
  t.equal(await expireKeys(app), 0)
  clock.advance(2 * day)
  t.equal(await expireKeys(app), 2)
  t.equal((await listDomainKeys(app.store.read, domain.id)).length, 1)
})

t.test('of a key that was never seen in DNS nothing is left when new ones are made', async t => {
  const server = await setUp(t)
  const { app, dns, domain } = server
  const [unseen] = named(domain, 'dkim-ed25519')
  publish(dns, { ...domain, records: domain.records.filter(one => one !== unseen) })
  await verifyDomain(app, operator, domain.id)
  const rotated = await rotateDomainKeys(app, 'mine.example')
  t.notOk(rotated.records.some(({ name }) => name === unseen!.name))
  const states = (await listDomainKeys(app.store.read, domain.id)).map(
    ({ state, algorithm }) => `${algorithm} ${state}`,
  )
  t.strictSame(states.sort(), ['ed25519 next', 'rsa next'])
  publish(dns, { ...rotated, records: [...rotated.records, unseen!] })
  const used = await verifyDomain(app, operator, domain.id)
  t.strictSame(
    (await signatures(server, domain.id)).map(one => one.replace(/ mailboxd-\d{12}/, ' mailboxd-TIME')),
    ['rsa-sha256 mailboxd-TIME pass', 'ed25519-sha256 mailboxd-TIMEe pass'],
  )
  t.strictSame(
    named(used, 'dkim-previous').map(({ name }) => name),
    ['mailboxd._domainkey.mine.example'],
  )
})

t.test('on a schedule, once until they are used', async t => {
  const { app, dns, domain, clock } = await setUp(t, '[dkim]\nrotate_every = "30d"')
  publish(dns, domain)
  await verifyDomain(app, operator, domain.id)
  t.equal(await rotateDueKeys(app), 0)
  clock.advance(31 * day)
  t.equal(await rotateDueKeys(app), 1)
  t.equal(await rotateDueKeys(app), 0)
})

t.test('new keys twice in a minute are refused: a selector never names two keys', async t => {
  const { app, dns, domain, clock } = await setUp(t)
  publish(dns, domain)
  await verifyDomain(app, operator, domain.id)
  // From the first second of a minute on.
  clock.advance(60_000 - (app.clock.now().getTime() % 60_000))
  clock.stand()
  publish(dns, await rotateDomainKeys(app, 'mine.example'))
  await verifyDomain(app, operator, domain.id)
  clock.advance(55_000)
  await t.rejects(rotateDomainKeys(app, 'mine.example'), {
    code: 'invalid_request',
    message: /in this minute/,
  })
  clock.advance(5_000)
  const again = named(await rotateDomainKeys(app, 'mine.example'), 'dkim-next')
  t.equal(again.length, 2)
})
