import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t from 'tap'
import { tlsBrokenMs } from '../../../lib/courier/smtp/tls-memory.ts'
import { writeCertificate } from '../../support/certificate.ts'
import { until } from '../../support/until.ts'
import { delivery, loopback, outcomeOf, raw } from '../loopback.ts'
import type { Script } from './scripted-peer.ts'

const { cert, key } = await writeCertificate(t.testdir(), 'somebody-else.example')
const offer = '250-peer\r\n250-PIPELINING\r\n250 STARTTLS'

/** A real SMTP server with STARTTLS at 127.0.0.2, for loopback(t, [undefined]). */
async function realServer(port: number, options: SMTPServerOptions = {}) {
  const received: { isSecure: boolean; sni: string | undefined; text: string }[] = []
  const server = new SMTPServer({
    cert: readFileSync(cert),
    key: readFileSync(key),
    authOptional: true,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { secure, servername } = session
        received.push({
          isSecure: secure,
          sni: servername || undefined,
          text: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  server.listen(port, '127.0.0.2')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  return received
}

t.test('encrypts when offered, whatever the certificate says', async t => {
  const { courier, port } = await loopback(t, [undefined])
  const received = await realServer(port)
  const outcome = await courier.carry(delivery(), raw)
  t.match(outcome, { result: 'delivered', tls: /^TLSv1\.3 TLS_/ })
  t.match(received, [{ isSecure: true, text: raw.toString() }])
  t.match(
    await courier.carry(delivery(), raw),
    { result: 'delivered', tls: /^TLSv1\.3/ },
    'and again on the same',
  )
})

t.test('TLS 1.2 is enough', async t => {
  const { courier, port } = await loopback(t, [undefined])
  const received = await realServer(port, { maxVersion: 'TLSv1.2' })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', tls: /^TLSv1\.2 ECDHE-/ })
  t.equal(received.length, 1)
})

t.test('where no handshake succeeds, plaintext to the same host', async t => {
  const { courier, port } = await loopback(t, [undefined])
  const received = await realServer(port, {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const outcome = await outcomeOf(courier, delivery(), raw)
  t.match(outcome, { result: 'delivered', address: '127.0.0.2' })
  t.equal(outcome.tls, undefined)
  t.match(received, [{ isSecure: false }])
})

const broken: Readonly<Record<string, Script>> = {
  'garbage for a handshake': {
    STARTTLS: '220 go',
    handshake: { say: 'HTTP/1.1 400 Bad Request', next: 'silence' },
  },
  'closed in the handshake': { STARTTLS: '220 go', handshake: { next: 'close' } },
  'reset in the handshake': { STARTTLS: '220 go', handshake: { next: 'reset' } },
  'silence in the handshake': { STARTTLS: '220 go', handshake: { next: 'silence' } },
  'refused for now': { STARTTLS: '454 4.7.0 TLS not available' },
  'refused for good': { STARTTLS: '502 5.5.1 not implemented' },
  'closed at STARTTLS': { STARTTLS: { next: 'close' } },
}

t.test('STARTTLS that is only advertised', async t => {
  for (const [name, script] of Object.entries(broken)) {
    const timeouts = name.startsWith('silence') ? { greetingMs: 200 } : {}
    const { courier, peers } = await loopback(t, [{ EHLO: offer, ...script }, {}], { timeouts })
    const outcome = await outcomeOf(courier, delivery(), raw)
    if (name === 'closed at STARTTLS') {
      t.match(outcome, { result: 'delivered', address: '127.0.0.3' }, name)
      continue
    }
    t.match(outcome, { result: 'delivered', address: '127.0.0.2' }, name)
    t.equal(peers[0]?.connections, 2, name)
    t.equal(outcome.tls, undefined, name)
  }
})

t.test('STARTTLS that failed is not tried again for a while', async t => {
  const script = { EHLO: offer, STARTTLS: '454 4.7.0 TLS not available' }
  const { courier, peers } = await loopback(t, [script], { idleMs: 0 })
  for (let count = 1; count <= 3; count++) {
    t.match(await courier.carry(delivery(), raw), {
      result: 'delivered',
      tlsResults: [{ policyType: 'no-policy-found', type: 'starttls-not-supported' }],
    })
    // In one that still waits nothing would be seen of TLS.
    const isEnded = () => peers[0]?.commands.filter(line => line === 'QUIT').length === count
    await until('its session ended', isEnded)
  }
  t.equal(peers[0]?.commands.filter(line => line === 'STARTTLS').length, 1)
})

t.test('TLS that fails for one name of an address is tried for another', async t => {
  const { courier, dns, port } = await loopback(t, [undefined])
  dns.set('mx1.there.example', 'A', ['127.0.0.2'])
  dns.set('evil.example', 'MX', [{ priority: 1, exchange: 'mx.evil.example' }])
  dns.set('mx.evil.example', 'A', ['127.0.0.2'])
  const context = createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) })
  const received = await realServer(port, {
    // For other names it has none, and the handshake fails.
    SNICallback: (name, done) => done(null, name === 'mx1.there.example' ? context : ({} as SecureContext)),
  })
  t.match(await courier.carry(delivery({ domain: 'evil.example' }), raw), { result: 'delivered' })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', tls: /^TLSv1\.3/ })
  t.match(received, [{ isSecure: false }, { isSecure: true, sni: 'mx1.there.example' }])
  await courier.carry(delivery({ domain: 'evil.example' }), raw)
  t.match(received[2], { isSecure: true }, 'a session that is encrypted is for all names')
})

t.test('421 to STARTTLS is no reason for plaintext', async t => {
  const { courier, peers } = await loopback(t, [
    { EHLO: offer, STARTTLS: { say: '421 4.7.0 later', next: 'close' } },
  ])
  t.match(await courier.carry(delivery(), raw), { result: 'transient', code: 421 })
  t.equal(peers[0]?.connections, 1)
})

t.test('never AUTH', async t => {
  const EHLO = '250-peer\r\n250-AUTH PLAIN LOGIN\r\n250 AUTH=PLAIN'
  const { courier, peers } = await loopback(t, [{ EHLO }])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
  t.notOk(peers[0]?.commands.some(line => line.startsWith('AUTH')))
})

t.test('STARTTLS that failed is tried again after a while', async t => {
  let nowMs = 0
  const clock = { now: () => new Date(), monotonicMs: () => nowMs }
  const script = { EHLO: offer, STARTTLS: '454 4.7.0 TLS not available' }
  const { courier, peers } = await loopback(t, [script], { idleMs: 0, clock })
  const said = (verb: string) => peers[0]!.commands.filter(line => line === verb).length
  const carry = async () => {
    const before = said('QUIT')
    t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
    await until('its session ended', () => said('QUIT') > before)
  }
  await carry()
  await carry()
  t.equal(said('STARTTLS'), 1)
  nowMs += tlsBrokenMs
  await carry()
  t.equal(said('STARTTLS'), 2)
})
