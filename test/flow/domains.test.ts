import t from 'tap'
import type { Domain } from '../../lib/model/domain.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns, type TestDns } from '../support/dns.ts'
import { verifyWithOpendkim } from '../support/opendkim.ts'
import { startOpenSmtpd } from '../support/opensmtpd.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { publish } from '../support/published.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** As others want it, too: at an address that they can send to, which leads back to its name. */
function publishWell(dns: TestDns, domain: Domain): void {
  publish(dns, domain, '193.0.0.25')
  dns.set('25.0.0.193.in-addr.arpa', 'PTR', ['mail.ours.example'])
}

t.test(
  'a domain of its own: added, published, verified; its inbox takes mail and sends it with its own key',
  { skip: without('opensmtpd', 'opendkim') },
  async t => {
    const mxPort = await freePort('127.0.0.6')
    const dns = await startDns({
      'bsd.example': { MX: [{ priority: 10, exchange: 'mx.bsd.example' }] },
      'mx.bsd.example': { A: ['127.0.0.6'] },
    })
    t.teardown(() => dns.close())
    const daemon = await startDaemon(t, { dns: dns.server, mxPort })
    const opensmtpd = await startOpenSmtpd({
      dir: temporaryDir(t),
      hostname: 'mx.bsd.example',
      address: '127.0.0.6',
      port: mxPort,
      mailboxes: ['bob@bsd.example'],
    })
    t.teardown(() => opensmtpd.stop())
    const { token } = await daemon.createKey()
    const api = apiOf(daemon.baseUrl, token)

    const { body: domain } = await api.post('/v1/domains', { domain: 'acme.example' })
    const unpublished = await daemon.ctlResult('domain', 'check', 'acme.example')
    t.equal(unpublished.code, 1)
    t.match(JSON.parse(unpublished.stdout), { id: domain.id, status: 'pending' })
    publish(dns, domain)
    // The daemon comes to it by itself within a minute or two; who is in a hurry asks.
    const { body: verified } = await api.post(`/v1/domains/${domain.id}/verify`)
    t.equal(verified.status, 'verified', JSON.stringify(verified))
    const unwell = await daemon.ctlResult('domain', 'check', 'acme.example')
    t.equal(unwell.code, 1)
    t.match(JSON.parse(unwell.stdout), { id: domain.id, status: 'not_well' })
    publishWell(dns, domain)
    const well = await daemon.ctlResult('domain', 'check', 'acme.example')
    t.match(well, { code: 0 }, well.stdout)

    const { body: inbox } = await api.post('/v1/inboxes', { mailboxName: 'sales', domain: 'acme.example' })
    t.equal(inbox.address, 'sales@acme.example')
    const sent = await api.send(inbox.id, {
      to: 'bob@bsd.example',
      subject: 'Hi',
      body: 'From our own domain.',
    })
    t.equal(sent.status, 200, JSON.stringify(sent.body))
    const [raw] = await opensmtpd.messages('bob@bsd.example')
    t.match(raw!.toString(), /^DKIM-Signature: .*\r\n\td=acme\.example; s=mailboxd;/m)
    const key = verified.records.find((record: Domain['records'][number]) => record.purpose === 'dkim')
    t.match(await verifyWithOpendkim(raw!, { [key.name]: key.value }), { ok: true })
    const { data: accounts } = await daemon.ctl('domain', 'records')
    const otherKey = (accounts as Domain['records']).find(record => record.purpose === 'dkim')!
    t.match(
      await verifyWithOpendkim(raw!, { [key.name]: otherKey.value }),
      { ok: false },
      "and not with the account's key",
    )

    const dialog = await greetedDialog(daemon.smtpPort)
    await dialog.envelope('bob@bsd.example', 'sales@acme.example')
    t.match((await dialog.data('From: <bob@bsd.example>\r\nSubject: Re: Hi\r\n\r\nGood.')).text, /^250 /)
    await until('the answer', async () => {
      const { body } = await api.get(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)
      return body.total === 1
    })
  },
)

t.test('the domains of mailboxctl', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const daemon = await startDaemon(t, { dns: dns.server })
  await daemon.end('SIGTERM')
  t.match(
    await daemon.ctl('domain', 'show'),
    { domain: 'ours.example', status: 'pending' },
    "the account's own",
  )
  t.equal((await daemon.ctlResult('domain', 'check')).code, 1)
  publishWell(dns, (await daemon.ctl('domain', 'show')) as unknown as Domain)
  t.match(await daemon.ctl('domain', 'check'), { domain: 'ours.example', status: 'verified' })
  const added = await daemon.ctl('domain', 'add', 'acme.example')
  t.match(await daemon.ctl('domain', 'list'), {
    total: 2,
    data: [{ id: added.id }, { domain: 'ours.example' }],
  })
  t.match(await daemon.ctl('domain', 'hold', 'acme.example'), { status: 'under_review' })
  const held = await daemon.ctlResult('domain', 'check', 'acme.example')
  t.match([held.code, JSON.parse(held.stderr).error], [1, 'domain_under_review'])
  t.match(await daemon.ctl('domain', 'approve', 'acme.example'), { status: 'pending' })
  await daemon.ctl('domain', 'delete', 'acme.example', '--yes')
  const gone = await daemon.ctlResult('domain', 'show', 'acme.example')
  t.match([gone.code, JSON.parse(gone.stderr).error], [1, 'not_found'])
  const own = await daemon.ctlResult('domain', 'delete', 'ours.example', '--yes')
  t.match([own.code, JSON.parse(own.stderr).error], [1, 'refused'], 'the account has its own always')
})
