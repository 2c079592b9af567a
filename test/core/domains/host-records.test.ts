import t from 'tap'
import { hostRecords, recordsToPublish } from '../../../lib/core/domains/host-records.ts'
import { zoneFile } from '../../../lib/mail/domain/records.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'

t.test('the name has its own addresses of this machine, or else the public ones', async t => {
  const host = 'mail.ours.example'
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const lines = async (...own: string[]) => zoneFile(await hostRecords(app, own))
  const inside = ['127.0.0.1', '10.1.2.3', 'fe80::1']
  const unknown = `; ${host}. 3600 IN A <the public address of this machine>\n`
  t.equal(await lines(...inside), unknown, 'behind NAT nothing here says it')
  t.equal(await lines(...inside, '193.0.0.25', '2a00::25'), `${host}. 3600 IN A 193.0.0.25\n`)
  const delivery = { ...app.config.delivery, public_addresses: ['193.0.0.26'] }
  const told = Object.create(app, { config: { value: { ...app.config, delivery } } })
  t.equal(zoneFile(await hostRecords(told, inside)), `${host}. 3600 IN A 193.0.0.26\n`, 'behind NAT as set')
  dns.set(host, 'A', ['10.1.2.3'])
  dns.set(host, 'AAAA', ['2a00::25'])
  t.equal(
    await lines(...inside, '193.0.0.25', '2a00::25'),
    `${host}. 3600 IN A 10.1.2.3\n${host}. 3600 IN AAAA 2a00::25\n`,
    'what the name has goes before',
  )
  dns.set(host, 'AAAA', [])
  dns.set(host, 'A', ['192.0.2.77'])
  t.equal(await lines(...inside), unknown, 'an address of another machine is not taken')
})

t.test("a domain's list has the addresses of the server where its zone, or none, has them", async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const { account_domain: own, hostname } = app.config
  const listOf = async (domain: string) =>
    (await recordsToPublish(app, { domain, records: [] })).map(({ type, name }) => [type, name])
  const address = ['A', hostname]
  t.strictSame(await listOf(own), [address])
  const below = hostname.replace(/^[^.]+\./, '')
  t.strictSame(await listOf(below), [address], 'the name is below it')
  t.strictSame(await listOf('other.example'), [], 'its zone cannot have it')
})
