import { request } from 'node:http'
import t from 'tap'
import { operator } from '../../lib/core/app/caller.ts'
import { createDomain, verifyDomain } from '../../lib/core/domains/domains.ts'
import { readStsId, readStsPolicy } from '../../lib/mail/domain/mta-sts.ts'
import { startApi } from '../support/api-app.ts'
import { startDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'

function get(port: number, host: string): Promise<{ status: number; type: string; text: string }> {
  return new Promise((resolve, reject) => {
    const page = { host: '127.0.0.1', port, path: '/.well-known/mta-sts.txt', headers: { host } }
    const asking = request(page, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? '', text }),
      )
    })
    asking.on('error', reject).end()
  })
}

t.test('the policy is served for domains that are verified, at their name for it', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { app, port } = await startApi(t, { dns: dns.server, toml: '[mta_sts]\nmode = "enforce"' })
  const domain = await createDomain(app, operator, { domain: 'mine.example' })
  t.match(await get(port, 'mta-sts.mine.example'), { status: 404 }, 'not verified yet')
  publish(dns, domain)
  const checked = await verifyDomain(app, operator, domain.id)
  t.equal(checked.status, 'verified')
  const of = (purpose: string) => checked.records.find(one => one.purpose === purpose)
  t.match(of('mta-sts'), { type: 'TXT', name: '_mta-sts.mine.example', status: 'valid', problem: null })
  t.ok(readStsId([of('mta-sts')!.value]))
  t.match(of('mta-sts-host'), {
    type: 'CNAME',
    name: 'mta-sts.mine.example',
    value: app.config.hostname,
    status: 'valid',
  })
  const served = await get(port, 'MTA-STS.mine.example:8443')
  t.match(served, { status: 200, type: /^text\/plain/ })
  t.same(readStsPolicy(served.text), { mode: 'enforce', mx: [app.config.hostname], maxAgeSeconds: 604_800 })
  for (const host of ['mine.example', 'mta-sts.other.example', 'mta-sts', 'x.mta-sts.mine.example'])
    t.match(await get(port, host), { status: 404 }, host)
})

t.test('off unless it is set', async t => {
  const { app, port, api } = await startApi(t)
  t.match(await get(port, `mta-sts.${app.config.account_domain}`), { status: 404 })
  const { body } = await api.post('/v1/domains', { domain: 'mine.example' })
  t.notOk(body.records.some((one: { purpose: string }) => one.purpose.startsWith('mta-sts')))
})
