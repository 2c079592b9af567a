import { webcrypto } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import * as x509 from '@peculiar/x509'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import { openAccountKey } from '../../../lib/tls/acme/account-key.ts'
import { acmeNonceRetries, acmeRetryAfterMs, connectToCa } from '../../../lib/tls/acme/client.ts'
import { AcmeFault } from '../../../lib/tls/acme/fault.ts'
import { acmeAnswerBytes, createAcmeHttp } from '../../../lib/tls/acme/http.ts'
import { acmeOrderMs, orderCertificate } from '../../../lib/tls/acme/order.ts'
import { openResponder } from '../../../lib/tls/acme/responder.ts'
import { writeCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/ports.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

interface Said {
  readonly status?: number
  readonly header?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The request for a certificate (PKCS #10 in base64url) in what is posted to finalize (RFC 8555 §7.4). */
function requestIn(jws: string): string {
  const { payload } = JSON.parse(jws)
  return JSON.parse(Buffer.from(payload, 'base64url').toString()).csr
}

/** A certificate for the key in a request, and for whatever names the CA likes. */
async function certify(csr: string, names: readonly string[]): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const { privateKey } = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const request = new x509.Pkcs10CertificateRequest(Buffer.from(csr, 'base64url'))
  const made = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${names[0]}`,
      issuer: 'CN=A CA',
      notBefore: new Date('2020-01-01'),
      notAfter: new Date('2099-01-01'),
      publicKey: request.publicKey,
      signingKey: privateKey,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension(names.map(value => ({ type: 'dns', value })))],
    },
    webcrypto as Crypto,
  )
  return made.toString('pem')
}

/** A CA that says what the test wants, by path; `%` in it is its own address. */
async function startCa(
  t: Test,
  says: (path: string, asked: number, csr: string) => Said | undefined | Promise<Said | undefined>,
  clock: Clock = systemClock,
) {
  const dir = temporaryDir(t)
  const { cert, key } = await writeCertificate(dir, '127.0.0.1')
  const asked = new Map<string, number>()
  let origin = ''
  const server = createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    async (request, response) => {
      const path = request.url!
      const count = (asked.get(path) ?? 0) + 1
      asked.set(path, count)
      const usual: Record<string, Said> = {
        '/dir': { body: { newNonce: '%/nonce', newAccount: '%/account', newOrder: '%/order' } },
        '/nonce': {},
        '/account': { status: 201, header: { location: '%/me' }, body: { contact: [] } },
      }
      const csr = path === '/finalize' ? requestIn(await text(request)) : ''
      const said = (await says(path, count, csr)) ?? usual[path] ?? { status: 404 }
      const { status = 200, header = {}, body = '' } = said
      const own = (text: string) => text.replaceAll('%', origin)
      response.writeHead(status, {
        'Replay-Nonce': `n${count}`,
        ...Object.fromEntries(Object.entries(header).map(([name, value]) => [name, own(value)])),
      })
      response.end(own(typeof body === 'string' ? body : JSON.stringify(body)))
      request.resume()
    },
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const http = createAcmeHttp(new AbortController().signal, readFileSync(cert, 'utf8'))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await http.close()
  })
  const accountKey = await openAccountKey(join(dir, 'account.pem'))
  const connect = (contact?: string) =>
    connectToCa({ http, key: accountKey, clock, directory: `${origin}/dir`, contact })
  /** How an order ends. */
  const order = async (): Promise<AcmeFault> => {
    const responder = await openResponder([{ host: '127.0.0.1', port: await freePort('127.0.0.1') }])
    try {
      const client = await connect()
      const { signal } = new AbortController()
      await orderCertificate({ client, responder, names: ['a.example'], clock, signal })
    } catch (error) {
      if (error instanceof AcmeFault) return error
      throw error
    } finally {
      await responder.close()
    }
    throw new Error('there was no fault')
  }
  return { connect, order, asked }
}

t.test('an account is told its contact where it has another one', async t => {
  const ops = 'ops@example.net'
  for (const [known, contact, told] of [
    [undefined, undefined, undefined],
    [[], undefined, undefined],
    [[`mailto:${ops}`], ops, undefined],
    [[`mailto:${ops}`], undefined, 1],
    [['mailto:old@example.net'], ops, 1],
    [[], ops, 1],
    // Not every CA says what it keeps.
    [undefined, ops, 1],
  ] as const) {
    const { connect, asked } = await startCa(t, path =>
      path === '/account'
        ? { status: 201, header: { location: '%/me' }, body: { status: 'valid', contact: known } }
        : path === '/me'
          ? { body: {} }
          : undefined,
    )
    await connect(contact)
    t.equal(asked.get('/me'), told, `${known}, and ${contact}`)
  }
})

t.test('nonces that are never good are not tried for ever', async t => {
  const { order, asked } = await startCa(t, path =>
    path === '/account'
      ? { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce', detail: 'no' } }
      : undefined,
  )
  t.match((await order()).message, 'the CA refuses: badNonce: no')
  t.equal(asked.get('/account'), acmeNonceRetries + 1)
})

t.test('what a CA refuses is told in one bounded line, with how long it wants to be left alone', async t => {
  const { order } = await startCa(t, path =>
    path === '/order'
      ? {
          status: 429,
          header: { 'retry-after': '9999999999' },
          body: {
            type: 'urn:ietf:params:acme:error:rateLimited',
            detail: `too\r\n\u001b[31m many ${'x'.repeat(9999)}`,
          },
        }
      : undefined,
  )
  const fault = await order()
  t.match(fault.message, /^the CA refuses: rateLimited: too \[31m many x{500,}$/)
  t.ok(fault.message.length < 1100)
  t.equal(fault.retryAfterMs, acmeRetryAfterMs)
})

t.test('answers that are too large, plain http, or no answers end the order', async t => {
  const pending = { status: 'pending', authorizations: ['%/authz'], finalize: '%/finalize' }
  const placed = { status: 201, header: { location: '%/order/1' }, body: pending }
  const cases: [says: (path: string) => Said | undefined, message: RegExp][] = [
    [
      path => (path === '/dir' ? { body: 'x'.repeat(acmeAnswerBytes + 1) } : undefined),
      /^no answer from .*\/dir: /,
    ],
    [path => (path === '/dir' ? { body: '[]' } : undefined), /is no directory of ACME/],
    [
      path => (path === '/dir' ? { status: 302, header: { location: '%/other' } } : undefined),
      /is no directory of ACME \(HTTP 302\)/,
    ],
    [path => (path === '/account' ? { status: 201, body: {} } : undefined), /gives the account no address/],
    [
      path =>
        path === '/order'
          ? { ...placed, body: { ...pending, authorizations: ['http://127.0.0.1:1/'] } }
          : undefined,
      /^not an https address: http:\/\/127\.0\.0\.1:1\/$/,
    ],
    [
      path =>
        path === '/order'
          ? placed
          : path === '/authz'
            ? { body: { status: 'pending', challenges: [null, 5] } }
            : undefined,
      /offers no http-01 challenge/,
    ],
    [
      path =>
        path === '/order'
          ? placed
          : path === '/authz'
            ? { body: { status: 'pending', challenges: [{ type: 'http-01', token: '../x', url: '%/c' }] } }
            : undefined,
      /a token that is none/,
    ],
    [
      path =>
        path === '/order'
          ? placed
          : path === '/authz'
            ? { body: { status: 'valid' } }
            : path === '/order/1'
              ? {
                  body: {
                    status: 'invalid',
                    error: { type: 'urn:ietf:params:acme:error:caa', detail: 'forbidden' },
                  },
                }
              : undefined,
      /^the CA says invalid: caa: forbidden$/,
    ],
    [
      path =>
        ({
          '/order': placed,
          '/authz': { body: { status: 'valid' } },
          '/order/1': { body: { status: 'valid', finalize: '%/finalize', certificate: '%/cert' } },
          '/finalize': { body: {} },
          '/cert': { body: 'no certificate' },
        })[path],
      /^the CA's certificate holds no certificate/,
    ],
  ]
  for (const [says, message] of cases) {
    const { order } = await startCa(t, says)
    t.match((await order()).message, message)
  }
})

t.test('a CA that comes to no end, or wants more proven than was asked for, is left alone', async t => {
  const order = {
    status: 'processing',
    authorizations: ['%/authz', '%/other'],
    finalize: '%/finalize',
  }
  let nowMs = 0
  /** Each look at it comes when the order's time is over. */
  const clock = {
    now: systemClock.now,
    monotonicMs() {
      nowMs += acmeOrderMs
      return nowMs
    },
  }
  const ca = await startCa(
    t,
    (path, asked) =>
      ({
        '/order': { status: 201, header: { location: '%/order/1' }, body: order },
        '/authz': { body: { status: 'valid' } },
        '/other': { body: { status: 'valid' } },
        '/order/1': { body: asked > 5 ? { status: 'invalid' } : order },
      })[path],
    clock,
  )
  t.match((await ca.order()).message, 'the CA did not come to an end in time')
  t.strictSame([ca.asked.get('/authz'), ca.asked.get('/other')], [1, undefined], 'one name, one proof')
})

t.test('a certificate for other names than were asked for is not taken, however well it is made', async t => {
  for (const names of [['b.example'], ['*.example'], ['a.example.b.example']]) {
    let cert = ''
    const { order } = await startCa(t, async (path, _asked, csr) => {
      if (path === '/finalize') cert = await certify(csr, names)
      const order = { status: 'valid', authorizations: [], finalize: '%/finalize', certificate: '%/cert' }
      return (
        {
          '/order': { status: 201, header: { location: '%/order/1' }, body: order },
          '/order/1': { body: order },
          '/finalize': { body: order },
          '/cert': { body: cert },
        } as Readonly<Record<string, Said>>
      )[path]
    })
    t.match((await order()).message, "the CA's certificate is not for a.example", `${names}`)
  }
})
