import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { createSecureDns, type SecureDns } from '../../../lib/courier/encryption/secure-dns.ts'
import { writeIssuedCertificate } from '../../support/certificate.ts'
import { startExim } from '../../support/exim.ts'
import { startOpenSmtpd } from '../../support/opensmtpd.ts'
import { without } from '../../support/peers.ts'
import { startPostfix } from '../../support/postfix.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { startUnbound } from '../../support/unbound.ts'
import { delivery, loopback, raw } from '../loopback.ts'
import { type Script, startPeer } from './scripted-peer.ts'

const skip = without('unbound', 'ldns-signzone')
const { leaf, intermediate, root, key } = await writeIssuedCertificate(t.testdir(), 'mx.dane.example')

function tlsa(usage: number, selector: number, pem: string): string {
  const certificate = new X509Certificate(pem)
  const bytes =
    selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  return `${usage} ${selector} 1 ${hash('sha256', bytes)}`
}

/** Each host of the signed zone by its TLSA records; all are at 127.0.0.2, and shown the same certificate. */
const hosts: Readonly<Record<string, readonly string[]>> = {
  ee: [tlsa(3, 1, leaf)],
  eecert: [tlsa(3, 0, leaf)],
  // The second of two keys, as in a change of them.
  rollover: [tlsa(3, 1, root), tlsa(3, 1, leaf)],
  mx: [tlsa(2, 1, intermediate)],
  mxroot: [tlsa(2, 0, root)],
  wrong: [tlsa(3, 1, root)],
  wrongname: [tlsa(2, 0, intermediate)],
  unusable: [`1 1 1 ${'ab'.repeat(32)}`, '3 1 1 abcd'],
  none: [],
}

t.test('DANE, with Unbound and a signed zone', { skip }, async t => {
  const { dns, port } = await loopback(t, [undefined])
  const zone = ['mx', ...Object.keys(hosts)].flatMap(name => [
    `${name} A 127.0.0.2`,
    `to-${name} MX 10 ${name}`,
    ...(hosts[name] ?? []).map(record => `_${port}._tcp.${name} TLSA ${record}`),
  ])
  const more = [
    // A host elsewhere, whose addresses nobody signed: its TLSA records say nothing.
    'to-elsewhere MX 10 mx1.there.example.',
    // A mail server by another name, with the records of the one that it leads to.
    'alias CNAME ee',
    'to-alias MX 10 alias',
    'to-both MX 10 wrong',
    'to-both MX 20 ee',
  ]
  const server = await startUnbound(
    t,
    [
      { name: 'dane.example', records: [...new Set(zone), ...more] },
      { name: 'bogus.example', records: ['@ MX 10 mx', 'mx A 127.0.0.2'], isBogus: true },
    ],
    { name: 'there.example', server: dns.server },
  )
  const received: { name: string | undefined; isSecure: boolean }[] = []
  const mta = new SMTPServer({
    cert: leaf + intermediate + root,
    key: readFileSync(key),
    authOptional: true,
    logger: false,
    onData(stream, session, done) {
      stream.resume()
      stream.on('end', () => {
        received.push({ name: session.servername || undefined, isSecure: session.secure })
        done()
      })
    },
  })
  mta.on('error', () => {})
  mta.listen(port, '127.0.0.2')
  await once(mta.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => mta.close(resolve)))
  const secureDns = createSecureDns({ server, timeoutMs: 5000 })
  const { courier } = await loopback(t, [], { secureDns, port })
  const carry = (name: string) =>
    courier.carry(delivery({ rcptTo: `b@${name}.dane.example`, domain: `${name}.dane.example` }), raw)
  const policyType = 'tlsa'

  for (const name of ['ee', 'eecert', 'rollover', 'mx', 'unusable', 'alias']) {
    const outcome = await carry(`to-${name}`)
    t.match(
      outcome,
      { result: 'delivered', tls: /^TLSv1/, tlsResults: [{ policyType, type: 'success' }] },
      name,
    )
  }
  t.match(await carry('to-none'), { result: 'delivered', tlsResults: [{ policyType: 'no-policy-found' }] })
  // In the session that the one before had: nothing is demanded of either.
  t.match(await carry('to-elsewhere'), { result: 'delivered', tlsResults: undefined })
  const count = received.length
  t.match(await carry('to-wrong'), {
    result: 'transient',
    enhanced: '4.7.5',
    text: 'not sent to wrong.dane.example, as the policy of its domain demands: no TLSA record matches its certificate',
    tlsResults: [
      { policyDomain: 'to-wrong.dane.example', policyType, type: 'tlsa-invalid', host: 'wrong.dane.example' },
    ],
  })
  t.match(await carry('to-wrongname'), {
    result: 'transient',
    text: /its certificate is not for wrongname\.dane\.example$/,
  })
  t.match(await carry('to-mxroot'), { result: 'transient', text: /its certificate is not for mxroot/ })
  t.equal(received.length, count, 'nothing was said there')
  // Who keeps answers back on their way to the resolver must not get a host taken for one that demands nothing.
  const without6: SecureDns = {
    async ask(name, type) {
      if (type === 'AAAA') throw Object.assign(new Error('DNS answered SERVFAIL'), { code: 'ESERVFAIL' })
      return secureDns.ask(name, type)
    },
  }
  const kept = await loopback(t, [], { secureDns: without6, port, useIpv6: true })
  // The second is a host that has no MX of its own.
  for (const name of ['to-wrong', 'wrong']) {
    const to = { rcptTo: `b@${name}.dane.example`, domain: `${name}.dane.example` }
    const outcome = await kept.courier.carry(delivery(to), raw)
    t.match(outcome, { result: 'transient', tlsResults: [{ policyType, type: 'tlsa-invalid' }] }, name)
  }
  t.equal(received.length, count, 'nor there')
  t.match(await carry('to-both'), { result: 'delivered', host: 'ee.dane.example' }, 'the next one')

  t.match(
    await courier.carry(delivery({ rcptTo: 'b@bogus.example', domain: 'bogus.example' }), raw),
    { result: 'transient', enhanced: '4.4.3', text: /ESERVFAIL/ },
    'what does not validate is nowhere to go',
  )
  const isTlsReport = true
  t.match(
    await courier.carry(delivery({ domain: 'to-wrong.dane.example', isTlsReport }), raw),
    { result: 'delivered', tlsResults: undefined },
    'a report arrives all the same',
  )
})

t.test(
  'DANE with Postfix, Exim and OpenSMTPD',
  { skip: skip || without('postfix', 'exim', 'opensmtpd') },
  async t => {
    const { dns, port } = await loopback(t, [undefined, undefined, undefined])
    const starts = { postfix: startPostfix, exim: startExim, opensmtpd: startOpenSmtpd }
    const names = Object.keys(starts) as (keyof typeof starts)[]
    const records: string[] = []
    for (const [index, name] of names.entries()) {
      const dir = temporaryDir(t)
      const address = `127.0.0.${index + 2}`
      const hostname = `${name}.dane.example`
      const server = await starts[name]({
        dir,
        hostname,
        address,
        port,
        ...(name === 'opensmtpd' && { brokenStartTls: true }),
        mailboxes: [`b@to-${name}.dane.example`, `b@not-${name}.dane.example`],
      })
      t.teardown(() => server.stop())
      const [path = ''] = globSync(`${dir}/**/cert.pem`)
      records.push(`${name} A ${address}`, `wrong-${name} A ${address}`)
      records.push(`to-${name} MX 10 ${name}`, `not-${name} MX 10 wrong-${name}`)
      records.push(`_${port}._tcp.${name} TLSA ${tlsa(3, 1, readFileSync(path, 'utf8'))}`)
      records.push(`_${port}._tcp.wrong-${name} TLSA ${tlsa(3, 1, root)}`)
    }
    const unsigned = { name: 'there.example', server: dns.server }
    const server = await startUnbound(t, [{ name: 'dane.example', records }], unsigned)
    const secureDns = createSecureDns({ server, timeoutMs: 5000 })
    const { courier } = await loopback(t, [], { secureDns, port, idleMs: 0 })
    for (const name of names) {
      const to = (domain: string) => delivery({ rcptTo: `b@${domain}`, domain })
      const tlsResults = [{ policyType: 'tlsa', type: 'success' }]
      if (name === 'opensmtpd') {
        // Its handshake fails, and in plaintext it would take the mail.
        const outcome = await courier.carry(to(`to-${name}.dane.example`), raw)
        t.match(outcome, { result: 'transient', tlsResults: [{ type: 'validation-failure' }] })
        continue
      }
      for (let count = 0; count < 2; count++)
        t.match(
          await courier.carry(to(`to-${name}.dane.example`), raw),
          { result: 'delivered', tlsResults },
          name,
        )
      const refused = await courier.carry(to(`not-${name}.dane.example`), raw)
      t.match(refused, { result: 'transient', enhanced: '4.7.5', text: /no TLSA record matches/ }, name)
    }
  },
)

t.test('where records demand it, never plaintext', { skip }, async t => {
  const scripts: Readonly<Record<string, Script>> = {
    'not offered': {},
    refused: { EHLO: '250-peer\r\n250 STARTTLS', STARTTLS: '454 4.7.0 not now' },
    broken: { EHLO: '250-peer\r\n250 STARTTLS', STARTTLS: '220 go', handshake: { next: 'close' } },
  }
  const { dns, port } = await loopback(t, [])
  const records = ['@ MX 10 mx', 'mx A 127.0.0.2', `_${port}._tcp.mx TLSA ${tlsa(3, 1, leaf)}`]
  const server = await startUnbound(t, [{ name: 'dane.example', records }], {
    name: 'there.example',
    server: dns.server,
  })
  const secureDns = createSecureDns({ server, timeoutMs: 5000 })
  for (const [name, script] of Object.entries(scripts)) {
    const { courier } = await loopback(t, [], { secureDns, port })
    const peer = await startPeer('127.0.0.2', port, script)
    const outcome = await courier.carry(delivery({ domain: 'dane.example' }), raw)
    const enhanced = name === 'broken' ? '4.7.5' : '4.7.10'
    t.match(outcome, { result: 'transient', enhanced, tlsResults: [{ policyType: 'tlsa' }] }, name)
    t.notOk(
      peer.commands.some(line => line.startsWith('MAIL')),
      name,
    )
    await peer.close()
  }
})

t.test('a resolver that does not answer', async t => {
  const { courier } = await loopback(t, [{}], {
    secureDns: createSecureDns({ server: '127.0.0.1:1', timeoutMs: 100 }),
  })
  t.match(await courier.carry(delivery(), raw), { result: 'transient', enhanced: '4.4.3' })
})
