import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { isoAfter } from '../../../lib/base/time.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import {
  sendTlsReports,
  tlsReportsToAddress,
  tlsReportsToDomain,
} from '../../../lib/core/delivery/tls-reports.ts'
import { putStsPolicy } from '../../../lib/store/sts-policies.ts'
import { countTlsResults, listTlsResults, listUnreported } from '../../../lib/store/tls-results.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test(
  'a day is reported once to who asks for it, in spite of TLS, and the report is not counted',
  async t => {
    const mxPort = await freePort('127.0.0.9')
    const dns = await startDns({
      'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
      'mx.theirs.example': { A: ['127.0.0.9'] },
      '_smtp._tls.theirs.example': {
        TXT: ['v=TLSRPTv1; rua=https://x.example/r,mailto:tls@theirs.example'],
      },
      '_smtp._tls.two.example': {
        TXT: ['v=TLSRPTv1; rua=mailto:a@two.example', 'v=TLSRPTv1; rua=mailto:b@two.example'],
      },
    })
    t.teardown(() => dns.close())
    const EHLO = '250-peer\r\n250 STARTTLS'
    const peer = await startPeer('127.0.0.9', mxPort, { EHLO, STARTTLS: '454 4.7.0 no TLS here' })
    t.teardown(() => peer.close())
    const toml = '[delivery]\nmode = "mx"\ntls_reports = true'
    const { app } = await openDoor(t, { dns: dns.server, mxPort, toml })
    const now = app.clock.now()
    const yesterday = new Date(now.getTime() - 86_400_000).toISOString()
    const day = yesterday.slice(0, 10)
    const today = now.toISOString().slice(0, 10)
    const good = {
      policyDomain: 'theirs.example',
      policyType: 'sts',
      type: 'success',
      host: 'mx.theirs.example',
    }
    const bad = { ...good, type: 'certificate-expired' }
    await app.store.write(async db => {
      await countTlsResults(
        db,
        [good, good, bad, { ...bad, type: 'sts-policy-invalid', host: '' }],
        yesterday,
      )
      await countTlsResults(db, [{ ...good, policyDomain: 'two.example' }], yesterday)
      await countTlsResults(db, [{ ...good, policyDomain: 'silent.example' }], yesterday)
      await countTlsResults(db, [good], now.toISOString())
    })
    await app.store.write(db =>
      putStsPolicy(db, {
        domain: 'theirs.example',
        policyId: '1',
        mode: 'testing',
        mx: '["*.theirs.example","mx.other.example"]',
        maxAgeSeconds: 86_400,
        fetchedAt: `${day}T23:59:59.999Z`,
        expiresAt: isoAfter(now, 1),
      }),
    )
    dns.fail('_smtp._tls.silent.example', 'SERVFAIL')
    t.equal(await sendTlsReports(app), 2)
    t.same(
      await listUnreported(app.store.read, today, 10),
      [{ day, domain: 'silent.example' }],
      'asked again later',
    )
    t.equal(await sendTlsReports(app), 0)

    const entries = await claim(app.queue, 'delivery', 10)
    t.equal(entries.length, 1)
    await deliver(app, entries[0]!)
    const [mail = ''] = peer.messages
    t.ok(peer.commands.some(line => line.startsWith('MAIL FROM:<>')))
    t.match(mail, /^DKIM-Signature: /)
    t.match(mail, /^TLS-Report-Domain: theirs\.example\r$/m)
    t.match(mail, /^Content-Type: multipart\/report; report-type="tlsrpt";\r$/m)
    const [, base64 = ''] = /filename="[^"]+\.json\.gz"\r\n\r\n([\s\S]+?)\r\n--/.exec(mail) ?? []
    t.match(JSON.parse(gunzipSync(Buffer.from(base64, 'base64')).toString()), {
      'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
      policies: [
        {
          // RFC 8460 §4.4, and its appendix B.
          policy: {
            'policy-type': 'sts',
            'policy-string': [
              'version: STSv1',
              'mode: testing',
              'mx: *.theirs.example',
              'mx: mx.other.example',
              'max_age: 86400',
            ],
            'policy-domain': 'theirs.example',
            'mx-host': ['*.theirs.example', 'mx.other.example'],
          },
          summary: { 'total-successful-session-count': 2, 'total-failure-session-count': 2 },
          'failure-details': [
            {
              'result-type': 'certificate-expired',
              'receiving-mx-hostname': 'mx.theirs.example',
              'failed-session-count': 1,
            },
            { 'result-type': 'sts-policy-invalid', 'failed-session-count': 1 },
          ],
        },
      ],
    })
    t.match(await listTlsResults(app.store.read, today, 'theirs.example'), [{ type: 'success', count: 1 }])
  },
)

t.test('whoever names an address, and how many do, it gets so many reports a day', async t => {
  const domains = Array.from({ length: tlsReportsToDomain + 30 }, (_, n) => `d${n}.evil.example`)
  const dns = await startDns(
    Object.fromEntries(
      domains.map((name, n) => {
        const address = n < 20 ? 'One@victim.example' : `u${n}@victim.example`
        return [`_smtp._tls.${name}`, { TXT: [`v=TLSRPTv1; rua=mailto:${address}`] }]
      }),
    ),
  )
  t.teardown(() => dns.close())
  const { app } = await openDoor(t, { dns: dns.server, toml: '[delivery]\nmode = "mx"\ntls_reports = true' })
  const yesterday = new Date(app.clock.now().getTime() - 86_400_000).toISOString()
  await app.store.write(async db => {
    for (const policyDomain of domains)
      await countTlsResults(db, [{ policyDomain, policyType: 'sts', type: 'success', host: 'mx' }], yesterday)
  })
  let done = 0
  for (let some = await sendTlsReports(app); some > 0; some = await sendTlsReports(app)) done += some
  t.equal(done, domains.length, 'the others are done with, too')
  const rows = await app.store.read.selectFrom('delivery').select('recipient').execute()
  const ofOne = rows.filter(({ recipient }) => recipient.toLowerCase() === 'one@victim.example')
  t.equal(ofOne.length, tlsReportsToAddress)
  t.equal(rows.length, tlsReportsToDomain)
})

t.test('nobody is told where that is not set, or where no mail leaves', async t => {
  for (const toml of [
    '[delivery]\nmode = "mx"\ntls_reports = false',
    '[delivery]\nmode = "capture"\ntls_reports = true',
  ]) {
    const dns = await startDns({
      '_smtp._tls.theirs.example': { TXT: ['v=TLSRPTv1; rua=mailto:tls@theirs.example'] },
    })
    t.teardown(() => dns.close())
    const { app } = await openDoor(t, { dns: dns.server, toml })
    const yesterday = new Date(app.clock.now().getTime() - 86_400_000).toISOString()
    const result = { policyDomain: 'theirs.example', policyType: 'sts', type: 'success', host: 'mx' }
    await app.store.write(async db => countTlsResults(db, [result], yesterday))
    t.equal(await sendTlsReports(app), 0, toml)
    t.same(await app.store.read.selectFrom('delivery').selectAll().execute(), [])
  }
})

t.test('a day about which DNS says nothing waits for another day, and no longer', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  dns.fail('_smtp._tls.silent.example', 'SERVFAIL')
  const { app } = await openDoor(t, { dns: dns.server, toml: '[delivery]\nmode = "mx"\ntls_reports = true' })
  const now = app.clock.now()
  const [yesterday, dayBefore, ...older] = [1, 2, 3, 4].map(days => isoAfter(now, -days * 86_400_000))
  const result = { policyDomain: 'silent.example', policyType: 'sts', type: 'success', host: 'mx' }
  await app.store.write(async db => {
    for (const at of [yesterday!, dayBefore!, ...older]) await countTlsResults(db, [result], at)
  })
  t.equal(await sendTlsReports(app), older.length)
  const left = await listUnreported(app.store.read, isoAfter(now, 0).slice(0, 10), 10)
  t.strictSame(
    left.map(({ day }) => day),
    [dayBefore!.slice(0, 10), yesterday!.slice(0, 10)],
  )
  t.equal(await sendTlsReports(app), 0)
})
