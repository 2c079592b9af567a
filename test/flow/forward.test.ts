import t from 'tap'
import { createDns } from '../../lib/courier/dns.ts'
import { generateDkimKey, signDkim } from '../../lib/mail/compose/dkim.ts'
import { listQueuedDeliveries } from '../../lib/store/queued-deliveries.ts'
import { testAuthenticator } from '../support/authenticator.ts'
import { linkIn } from '../support/confirmation.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

t.test(
  'an address consents, gets copies that verify, and is left alone when it is gone',
  { skip: without('postfix') },
  async t => {
    const mxPort = await freePort('127.0.0.22')
    const key = await generateDkimKey()
    const dns = await startDns({
      'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
      'mx.theirs.example': { A: ['127.0.0.22'] },
      's._domainkey.sender.example': { TXT: [`v=DKIM1; k=rsa; p=${key.publicKeyBase64}`] },
      '_dmarc.sender.example': { TXT: ['v=DMARC1; p=reject'] },
      // As the records of the domain have it.
      'mail.ours.example': { A: ['127.0.0.1'] },
      'bounce.ours.example': { TXT: ['v=spf1 a:mail.ours.example -all'] },
    })
    t.teardown(() => dns.close())
    const daemon = await startDaemon(t, { dns: dns.server, mxPort })
    const postfix = await startPostfix({
      dir: temporaryDir(t),
      hostname: 'mx.theirs.example',
      address: '127.0.0.22',
      port: mxPort,
      mailboxes: ['ann@theirs.example'],
      routes: { 'ours.example': `127.0.0.1:${daemon.smtpPort}` },
    })
    t.teardown(() => postfix.stop())
    const agent = await createInbox(daemon, 'agent')
    const path = `/v1/inboxes/${agent.id}`
    const status = async () => (await agent.api.get(path)).body.forwardStatus
    const mail = async (subject: string) => {
      const raw = [
        'From: Bob <bob@sender.example>',
        `To: ${agent.address}`,
        `Subject: ${subject}`,
        'Message-ID: <1@sender.example>',
        'Date: Fri, 20 Nov 2026 10:00:00 +0000',
        'Content-Type: text/plain; charset=utf-8',
        '',
        'Grüße',
        '',
      ].join('\r\n')
      const signer = { domain: 'sender.example', selector: 's', privateKeyPem: key.privateKeyPem }
      const signed = await signDkim(Buffer.from(raw), { ...signer, signedAt: new Date() })
      await postfix.send({ from: 'bob@sender.example', to: [agent.address], raw: signed })
    }
    const copyOf = (messageId: string) =>
      until('the end of the copy', async () => {
        const { body } = await agent.api.get(`/v1/messages/${messageId}/deliveries`)
        return ['delivered', 'failed'].includes(body.data[0]?.state) ? body.data[0] : undefined
      })

    t.match(await agent.api.patch(path, { forwardTo: 'Ann@Theirs.example' }), {
      status: 200,
      body: { forwardTo: 'ann@theirs.example', forwardStatus: 'pending' },
    })
    const [question] = await postfix.messages('ann@theirs.example')
    const link = linkIn(question!)
    t.ok(link.startsWith(`${daemon.baseUrl}/forwarding/confirm?token=`), link)
    t.match(await (await fetch(link)).text(), '<button type="submit">')
    t.equal(await status(), 'pending')
    await mail('too early')
    const [early] = await agent.received()
    t.equal((await fetch(link, { method: 'POST' })).status, 200)
    t.equal(await status(), 'active')
    t.strictSame((await agent.api.get(`/v1/messages/${early!.id}/deliveries`)).body.data, [])

    await mail('copied')
    const [, received] = await agent.received(2)
    t.match(await copyOf(received!.id), {
      recipient: 'ann@theirs.example',
      purpose: 'forward',
      state: 'delivered',
      remoteHost: 'mx.theirs.example',
    })
    const [, copy] = await postfix.messages('ann@theirs.example', 2)
    const text = copy!.toString()
    t.match(text, /^From: Bob <bob@sender\.example>\r?$/m)
    t.match(text, /^X-Forwarded-For: agent@ours\.example ann@theirs\.example\r?$/m)
    const returnPath = /^Return-Path: <(.*)>/m.exec(text)![1]!
    t.match(returnPath, /^srs0=\w{10}=\w\w=sender\.example=bob@bounce\.ours\.example$/)
    const authenticator = testAuthenticator(createDns({ servers: [dns.server], timeoutMs: 1000 }))
    const seen = await authenticator.authenticate({
      raw: copy!,
      remoteAddress: '127.0.0.1',
      helo: 'mail.ours.example',
      mailFrom: returnPath,
    })
    t.match(seen, { spf: 'pass', dkim: 'pass', dmarc: 'pass', spfDomain: 'bounce.ours.example' })

    await daemon.ctl('member', 'add', 'gone@theirs.example')
    t.match((await agent.api.patch(path, { forwardTo: 'gone@theirs.example' })).body, {
      forwardStatus: 'active',
    })
    for (let count = 3; count <= 5; count++) {
      t.equal(await status(), 'active')
      t.equal((await agent.api.get('/v1/suppressions')).body.total, 0, 'or the third would never be seen')
      await mail(`bounces ${count}`)
      const bounced = (await agent.received(count)).at(-1)!
      t.match(await copyOf(bounced.id), { state: 'failed', replyCode: 550, replyEnhanced: '5.1.1' })
      t.equal((await agent.api.get(`/v1/messages/${bounced.id}`)).body.status, 'received')
    }
    t.equal(await status(), 'disabled')
    t.match((await agent.api.get('/v1/suppressions')).body.data, [
      { recipient: 'gone@theirs.example', reason: 'bounce', evidence: /5\.1\.1/ },
    ])
    t.match(await agent.api.patch(path, { forwardTo: 'gone@theirs.example' }), {
      body: { forwardStatus: 'active' },
    })
    t.equal((await agent.api.get('/v1/suppressions')).body.total, 0, 'it is set again')

    const log = JSON.stringify(daemon.log())
    t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
    t.match(log, 'forwarding disabled')
    t.notOk(log.includes(new URL(link).searchParams.get('token')!), 'the log does not tell the token')
    t.equal(daemon.log().filter(entry => Number(entry.level) >= 50).length, 0)
  },
)

t.test('the question outlives the process that was to carry it', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const daemon = await startDaemon(t, { dns: dns.server })
  const agent = await createInbox(daemon, 'agent')
  dns.fail('theirs.example', 'SERVFAIL')
  await agent.api.patch(`/v1/inboxes/${agent.id}`, { forwardTo: 'ann@theirs.example' })
  await daemon.end('SIGKILL')
  await daemon.restart()
  t.match(await daemon.withRows(({ store }) => listQueuedDeliveries(store.read, {}, 100, 0)), [
    { recipient: 'ann@theirs.example' },
  ])
})
