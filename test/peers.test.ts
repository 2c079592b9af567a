import { generateKeyPairSync } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import pg from 'pg'
import t from 'tap'
import { startExim } from './support/exim.ts'
import type { Mail, MailServer, MailServerOptions } from './support/mail-server.ts'
import { verifyWithDkimpy, verifyWithOpendkim } from './support/opendkim.ts'
import { startOpenSmtpd } from './support/opensmtpd.ts'
import { type Peer, without } from './support/peers.ts'
import { freePort } from './support/ports.ts'
import { startPostfix } from './support/postfix.ts'
import { startPostgres } from './support/postgres.ts'
import { startSmtpSink } from './support/smtp-sink.ts'
import { swaks } from './support/swaks.ts'
import { temporaryDir } from './support/temporary-dir.ts'
import { until } from './support/until.ts'

// The counterparts themselves: a story that fails must not fail because of them.

type Sender = MailServer & { send(mail: Mail): Promise<void> }

const servers: Record<
  string,
  { peer: Peer; tls: boolean; start(options: MailServerOptions): Promise<Sender> }
> = {
  Postfix: { peer: 'postfix', tls: true, start: startPostfix },
  OpenSMTPD: { peer: 'opensmtpd', tls: false, start: startOpenSmtpd },
  Exim: { peer: 'exim', tls: true, start: startExim },
}

function mail(from: string, to: string): Mail {
  return {
    from,
    to: [to],
    raw: `From: ${from}\r\nTo: ${to}\r\nSubject: from ${from}\r\n\r\n.leading dot\r\n`,
  }
}

for (const [name, { peer, tls, start }] of Object.entries(servers)) {
  t.test(
    `${name} takes mail for its mailboxes and relays by its routes`,
    { skip: without(peer, 'postfix', 'swaks') },
    async t => {
      const port = await freePort('127.0.0.3', '127.0.0.4')
      const next = await startPostfix({
        dir: temporaryDir(t),
        hostname: 'mx.next.test',
        address: '127.0.0.4',
        port,
        mailboxes: ['bob@next.test'],
      })
      t.teardown(next.stop)
      const server = await start({
        dir: temporaryDir(t),
        hostname: 'mx.peer.test',
        address: '127.0.0.3',
        port,
        mailboxes: ['alice@peer.test', 'carol@other.test'],
        routes: { 'next.test': `127.0.0.4:${port}` },
      })
      t.teardown(server.stop)

      await server.send(mail('x@client.test', 'alice@peer.test'))
      const [received] = await server.messages('alice@peer.test')
      t.match(received?.toString(), /\r\nSubject: from x@client.test\r\n[\s\S]*\r\n\.leading dot\r\n$/)
      t.equal(server.count('carol@other.test'), 0)

      const at = ['--server', `127.0.0.3:${port}`, '--from', 'x@client.test']
      const toCarol = [...at, '--to', 'carol@other.test', '--header', 'Subject: by swaks']
      const taken = await swaks(tls ? [...toCarol, '--tls'] : toCarol)
      t.equal(taken.code, 0, taken.transcript)
      t.match((await server.messages('carol@other.test'))[0]?.toString(), /\r\nSubject: by swaks\r\n/)
      const refused = await swaks([...at, '--to', 'nobody@peer.test'])
      t.equal(refused.code, 24, 'no such mailbox')
      t.match(refused.transcript, /<\*\* 550 /)

      await server.send(mail('alice@peer.test', 'bob@next.test'))
      const [relayed] = await next.messages('bob@next.test')
      t.match(
        relayed?.toString(),
        /^Return-Path: <alice@peer.test>\r\n[\s\S]*with ESMTPS? id[\s\S]*\.leading dot\r\n$/,
      )
      t.match(server.log(), /alice@peer.test/)

      await server.stop()
      t.equal((await swaks([...at, '--to', 'alice@peer.test'])).code, 2, 'nothing listens any more')
    },
  )
}

t.test('Postfix keeps what it cannot deliver yet', { skip: without('postfix') }, async t => {
  const port = await freePort('127.0.0.3')
  const postfix = await startPostfix({
    dir: temporaryDir(t),
    hostname: 'mx.peer.test',
    address: '127.0.0.3',
    port,
    mailboxes: ['alice@peer.test'],
    routes: { 'next.test': `127.0.0.4:${port}` },
  })
  t.teardown(postfix.stop)
  await postfix.send(mail('alice@peer.test', 'bob@next.test'))
  await until('the deferral', async () => (await postfix.queue())[0]?.recipients[0]?.delay_reason)
  const sink = await startSmtpSink('127.0.0.4', port)
  t.teardown(sink.stop)
  await postfix.flush()
  await sink.taken(1)
  t.equal(sink.count(), 1)
  await until('an empty queue', async () => (await postfix.queue()).length === 0)
})

t.test(
  'OpenDKIM and dkimpy tell a good signature from a bad one',
  { skip: without('opendkim', 'dkimpy') },
  async t => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const raw = Buffer.from('From: a@signer.test\r\nTo: b@next.test\r\nSubject: signed\r\n\r\nas it was\r\n')
    const signer = {
      signingDomain: 'signer.test',
      selector: 'one',
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
    // Its types want the signer outside, its code reads signatureData.
    const { signatures } = await dkimSign(raw, { ...signer, signatureData: [signer] })
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    const txt = { 'one._domainkey.signer.test': `v=DKIM1; k=rsa; p=${key}` }
    const signed = Buffer.concat([Buffer.from(signatures), raw])
    const changed = Buffer.from(signed.toString().replace('as it was', 'as it is'))
    for (const verify of [verifyWithOpendkim, verifyWithDkimpy]) {
      const good = await verify(signed, txt)
      t.ok(good.ok, `${verify.name}: ${good.said}`)
      t.notOk((await verify(changed, txt)).ok, `${verify.name}: a changed body`)
      t.notOk((await verify(signed, {})).ok, `${verify.name}: no key`)
      t.notOk((await verify(raw, txt)).ok, `${verify.name}: no signature`)
    }
  },
)

t.test('a PostgreSQL of our own', { skip: without('postgres') }, async t => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)
  for (const connectionString of [postgres.url, postgres.socketUrl]) {
    const client = new pg.Client({ connectionString })
    await client.connect()
    const { rows } = await client.query("select 'ü' as text, current_setting('server_encoding') as encoding")
    t.strictSame(rows, [{ text: 'ü', encoding: 'UTF8' }])
    await client.end()
  }
  await postgres.stop()
  await t.rejects(new pg.Client({ connectionString: postgres.url }).connect(), { code: 'ECONNREFUSED' })
})

t.test('an OpenSMTPD whose TLS is broken', { skip: without('opensmtpd', 'swaks') }, async t => {
  const port = await freePort('127.0.0.3')
  const server = await startOpenSmtpd({
    dir: temporaryDir(t),
    hostname: 'mx.peer.test',
    address: '127.0.0.3',
    port,
    mailboxes: ['alice@peer.test'],
    brokenStartTls: true,
  })
  t.teardown(server.stop)
  const { code, transcript } = await swaks([
    '--server',
    `127.0.0.3:${port}`,
    '--to',
    'alice@peer.test',
    '--tls',
  ])
  t.equal(code, 29, 'STARTTLS failed')
  t.match(transcript, /Ready to start TLS/)
})
