import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { submit } from '../support/smtp-client.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const mail = (to: string, subject: string) => ({
  from: 'bob@example.net',
  to: [to],
  raw: Buffer.from(
    `From: bob@example.net\r\nTo: ${to}\r\nSubject: ${subject}\r\nList-Id: <bulk>\r\n\r\nHello\r\n`,
  ),
})

t.test('mail to postmaster and abuse goes to the operator', { skip: without('postfix') }, async t => {
  const mxPort = await freePort('127.0.0.23')
  const dns = await startDns({
    'ops.example': { MX: [{ priority: 1, exchange: 'mx.ops.example' }] },
    'mx.ops.example': { A: ['127.0.0.23'] },
  })
  t.teardown(() => dns.close())
  const daemon = await startDaemon(t, {
    dns: dns.server,
    mxPort,
    toml: 'operator_address = "root@ops.example"',
  })
  const postfix = await startPostfix({
    dir: temporaryDir(t),
    hostname: 'mx.ops.example',
    address: '127.0.0.23',
    port: mxPort,
    mailboxes: ['root@ops.example'],
  })
  t.teardown(() => postfix.stop())
  for (const to of ['postmaster@ours.example', 'abuse@ours.example']) {
    t.match(await submit('127.0.0.1', daemon.smtpPort, mail(to, to)), /^250 /)
  }
  const copies = (await postfix.messages('root@ops.example', 2)).map(String)
  for (const copy of copies) {
    t.match(copy, /^X-Forwarded-To: root@ops\.example$/im)
    t.match(copy, /^Return-Path: <SRS[^>]*@bounce\.ours\.example>$/im)
  }
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const { body } = await api.get('/v1/inboxes?system=true')
  t.strictSame([body.total, body.data[0].address], [1, 'postmaster@ours.example'])
  const { body: kept } = await api.get(`/v1/inboxes/${body.data[0].id}/messages`)
  t.equal(kept.total, 2, 'the originals stand in the inbox')
})

t.test('without an operator it stands in the system inbox, which is apart', async t => {
  const daemon = await startDaemon(t)
  t.match(await submit('127.0.0.1', daemon.smtpPort, mail('abuse@ours.example', 'x')), /^250 /)
  const { token } = await daemon.createKey()
  const account = apiOf(daemon.baseUrl, token)
  const totals = async (query = '') => (await account.get(`/v1/inboxes${query}`)).body.total
  t.equal(await totals(), 0)
  t.equal(await totals('?system=true'), 1)
  t.equal((await daemon.ctl('status')).inboxes, 0)
  const { body } = await account.post('/v1/inboxes', { mailboxName: 'ann' })
  t.strictSame([await totals(), await totals('?system=true')], [1, 2])
  const system = (await account.get('/v1/inboxes?system=true')).body.data.find(
    ({ address }: { address: string }) => address === 'postmaster@ours.example',
  )
  t.equal(
    (await account.get(`/v1/inboxes/${system.id}`)).body.address,
    'postmaster@ours.example',
    'by its id',
  )
  t.equal((await daemon.ctl('inbox', 'get', 'postmaster@ours.example')).id, system.id, 'by its address')
  const { body: kept } = await account.get(`/v1/inboxes/${system.id}/messages`)
  const { body: copies } = await account.get(`/v1/messages/${kept.data[0].id}/deliveries`)
  t.strictSame([kept.total, copies.data], [1, []])

  const pod = apiOf(daemon.baseUrl, (await daemon.createKey({ pod: body.podId })).token)
  const inbox = apiOf(
    daemon.baseUrl,
    (await account.post(`/v1/inboxes/${system.id}/api-keys`, {})).body.token,
  )
  t.equal((await pod.get('/v1/inboxes?system=true')).status, 403)
  t.equal((await pod.get('/v1/inboxes')).body.total, 1)
  const said = { to: 'bob@example.net', subject: 'x', body: 'y' }
  t.match(await pod.send(system.id, said), { status: 403, body: { error: 'forbidden' } })
  t.match(await inbox.send(system.id, said), { status: 403, body: { error: 'forbidden' } })
  t.equal((await account.send(system.id, said)).status, 200)
  t.equal((await account.delete(`/v1/inboxes/${system.id}`)).status, 403)
})
