import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { writeCertificate } from '../../support/certificate.ts'
import { bytePeer, publicAddress, webhookLoopback } from './loopback.ts'

const dir = t.testdir()
async function certificateFor(host: string) {
  mkdirSync(join(dir, host))
  const { cert, key } = await writeCertificate(join(dir, host), host)
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
}
const right = await certificateFor('there.example')
const wrong = await certificateFor('somebody-else.example')

async function tlsPeer(t: Test, { cert, key }: { cert: string; key: string }, more: object = {}) {
  const sockets: Socket[] = []
  const names: (string | false | null | undefined)[] = []
  let requests = 0
  const server = createServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'], ...more }, (_, response) => {
    requests++
    response.end('safe')
  })
  server.on('connection', socket => sockets.push(socket))
  server.on('secureConnection', (socket: TLSSocket) => names.push(socket.servername))
  server.on('tlsClientError', () => {})
  server.listen(0, publicAddress)
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the peer has no port')
  return { port: bound.port, sockets, names, requests: () => requests }
}

t.test('a certificate that is trusted and names the host', async t => {
  const { call } = await webhookLoopback(t, {}, { ca: right.cert, allowHttp: false })
  const peer = await tlsPeer(t, right)
  for (let n = 0; n < 3; n++)
    t.match(await call(`https://there.example:${peer.port}/`), {
      result: 'delivered',
      answer: 'safe',
      address: publicAddress,
    })
  t.equal(peer.sockets.length, 1, 'one connection carries all')
  t.same(peer.names, ['there.example'], 'with the name that the certificate is chosen by')
})

t.test('the name is verified without the final dot', async t => {
  const { call } = await webhookLoopback(t, {}, { ca: right.cert })
  const peer = await tlsPeer(t, right)
  t.match(await call(`https://there.example.:${peer.port}/`), { result: 'delivered' })
})

t.test('a certificate of another name, an untrusted one, and an address that it does not name', async t => {
  const peer = await tlsPeer(t, wrong)
  const { call } = await webhookLoopback(t, {}, { ca: wrong.cert })
  const url = `https://there.example:${peer.port}/`
  t.match(await call(url), { result: 'failed', error: /^TLS failed: .*altnames/, address: publicAddress })
  t.match(await call(`https://${publicAddress}:${peer.port}/`), { result: 'failed', error: /^TLS failed/ })

  const believing = await webhookLoopback(t)
  t.match(await believing.call(url), { result: 'failed', error: /^TLS failed: self-signed certificate/ })
  t.equal(peer.requests(), 0, 'nothing was asked of them')
})

t.test('a server without TLS, one that is silent in the handshake, and one with TLS of long ago', async t => {
  const { call } = await webhookLoopback(t, {}, { ca: right.cert, timeoutMs: 400 })
  const plain = await bytePeer(t, socket => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
  t.match(await call(`https://there.example:${plain.port}/`), { result: 'failed', error: /^TLS failed/ })
  const silent = await bytePeer(t, () => {})
  t.match(await call(`https://there.example:${silent.port}/`), {
    result: 'failed',
    error: /no answer within 0\.4 s/,
  })
  const closing = await bytePeer(t, socket => socket.once('data', () => socket.end()))
  t.match(await call(`https://there.example:${closing.port}/`), {
    result: 'failed',
    error: /closed|disconnected/,
  })
  const old = await tlsPeer(t, right, {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  t.match(await call(`https://there.example:${old.port}/`), { result: 'failed', error: /^TLS failed/ })
})

t.test('an address that does not answer makes way for the next', async t => {
  const peer = await tlsPeer(t, right)
  const { call } = await webhookLoopback(
    t,
    { 'there.example': { A: ['127.0.0.3', publicAddress] } },
    { ca: right.cert },
    { allowNetworks: ['127.0.0.2/31'] },
  )
  t.match(await call(`https://there.example:${peer.port}/`), { result: 'delivered', address: publicAddress })
})
