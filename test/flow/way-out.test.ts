import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { listQueuedDeliveries } from '../../lib/store/queued-deliveries.ts'
import { startPeer } from '../courier/smtp/scripted-peer.ts'
import { writeIssuedCertificate } from '../support/certificate.ts'
import { startDaemon } from '../support/daemon.ts'
import { type DnsZone, startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { freePort } from '../support/ports.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const zone: DnsZone = {
  'theirs.example': { MX: [{ priority: 10, exchange: 'mx.theirs.example' }] },
  'mx.theirs.example': { A: ['127.0.0.9'] },
  'smarthost.example': { A: ['127.0.0.8'] },
}

/** A server that takes mail of who says the password, over TLS. */
async function startSmarthost(t: Test, dir: string) {
  const certificate = await writeIssuedCertificate(dir, 'smarthost.example')
  const taken: { user: string | undefined; to: string[]; isSecure: boolean }[] = []
  const server = new SMTPServer({
    cert: certificate.leaf + certificate.intermediate,
    key: readFileSync(certificate.key),
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      password === 'from the file' ? done(null, { user: username! }) : done(new Error('no such user')),
    onData(stream, { user, secure, envelope }, done) {
      stream.resume()
      stream.on('end', () => {
        taken.push({ user, to: envelope.rcptTo.map(({ address }) => address), isSecure: secure })
        done()
      })
    },
  })
  server.on('error', () => {})
  const port = await freePort('127.0.0.8')
  server.listen(port, '127.0.0.8')
  await once(server.server, 'listening')
  const stop = () => new Promise<void>(resolve => server.close(resolve))
  t.teardown(stop)
  const root = join(dir, 'root-of-smarthost.pem')
  writeFileSync(root, certificate.root)
  return { port, taken, root, stop }
}

t.test(
  'mail goes by a smarthost with TLS and a password from a file, and past it when it is down',
  async t => {
    const dir = temporaryDir(t)
    const smarthost = await startSmarthost(t, dir)
    const dns = await startDns(zone)
    t.teardown(() => dns.close())
    const mxPort = await freePort('127.0.0.9')
    const mx = await startPeer('127.0.0.9', mxPort)
    t.teardown(() => mx.close())
    const passwordFile = join(dir, 'password')
    writeFileSync(passwordFile, 'from the file\n')
    chmodSync(passwordFile, 0o600)
    const daemon = await startDaemon(t, {
      dns: dns.server,
      mxPort,
      env: { NODE_EXTRA_CA_CERTS: smarthost.root },
      toml: `[[delivery.route]]
domains = ["direct.example"]
source_address = "127.0.0.7"
[[delivery.route]]
domains = ["*"]
host = "smarthost.example"
port = ${smarthost.port}
tls = "starttls"
user = "mailboxd"
password_file = "${passwordFile}"
fallback = true`,
    })
    dns.set('direct.example', 'MX', [{ priority: 1, exchange: 'mx.theirs.example' }])
    const ann = await createInbox(daemon, 'ann')
    const write = async (to: string) => {
      const { body } = await ann.api.send(ann.id, { to, subject: 's', body: 'b' })
      return ann.settled(body.messageId)
    }
    t.equal((await write('bob@theirs.example')).status, 'sent')
    t.strictSame(smarthost.taken, [{ user: 'mailboxd', to: ['bob@theirs.example'], isSecure: true }])
    t.equal((await write('bob@direct.example')).status, 'sent')
    t.strictSame([mx.messages.length, mx.lastFrom], [1, '127.0.0.7'], 'by a route of its own')
    await smarthost.stop()
    t.equal((await write('eve@theirs.example')).status, 'sent')
    t.equal(mx.messages.length, 2, 'to the mail server itself')
  },
)

t.test(
  'what was under way is gone on with under another hostname; the queue does what it is told',
  async t => {
    const dns = await startDns(zone)
    t.teardown(() => dns.close())
    const mxPort = await freePort('127.0.0.9')
    let isBusy = true
    const mx = await startPeer('127.0.0.9', mxPort, {
      RCPT: () => {
        if (/late@/.test(mx.commands.at(-1)!)) return isBusy ? '450 4.2.0 later' : '250 2.1.5 ok'
        return isBusy ? { next: 'silence' } : '250 2.1.5 ok'
      },
    })
    t.teardown(() => mx.close())
    let daemon = await startDaemon(t, { dns: dns.server, mxPort })
    const ann = await createInbox(daemon, 'ann')
    const write = async (to: string) =>
      (await ann.api.send(ann.id, { to, subject: 's', body: 'b' })).body.messageId
    const late = await write('late@theirs.example')
    await until('it is put off', async () => {
      const { body } = await ann.api.get(`/v1/messages/${late}/deliveries`)
      return body.data[0].state === 'deferred'
    })
    await write('bob@theirs.example')
    await until('it is being carried', () => mx.commands.some(line => line.includes('bob@')))
    await daemon.end('SIGKILL')
    const config = readFileSync(daemon.configPath, 'utf8')
    writeFileSync(daemon.configPath, config.replace('mail.ours.example', 'renamed.ours.example'))
    isBusy = false
    daemon = await daemon.restart()
    await until('it is taken', () => mx.messages.length === 1)
    t.ok(mx.commands.includes('EHLO renamed.ours.example'))
    t.match(mx.messages[0], /^To: bob@theirs\.example\r$/m)

    const queued = async () => {
      const rows = await daemon.withRows(({ store }) => listQueuedDeliveries(store.read, {}, 100, 0))
      return rows.map(({ recipient }) => recipient)
    }
    await until('that is recorded', async () => (await queued()).length === 1)
    t.strictSame(await queued(), ['late@theirs.example'])
    t.match(await daemon.ctl('queue', 'hold', '--domain', 'theirs.example', '--yes'), { changed: 1 })
    t.match(await daemon.ctl('queue', 'flush'), { changed: 0 }, 'what is held is not hurried')
    t.match(await daemon.ctl('queue', 'release', '--domain', 'theirs.example', '--yes'), { changed: 1 })
    await daemon.ctl('queue', 'flush')
    await until('it is taken, too', () => mx.messages.length === 2)
  },
)
