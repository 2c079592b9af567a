import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createClientAddress } from '../../lib/http/client-address.ts'

/** Whom a server takes a request to be from that came with these fields. */
async function serverOf(t: Test, isTrusted: (address: string) => boolean) {
  const client = createClientAddress(isTrusted)
  const server = createServer((request, response) => response.end(client(request)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  return async (forwarded?: string) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    return (await fetch(`http://127.0.0.1:${port}/`, { headers })).text()
  }
}

t.test('X-Forwarded-For of who is no proxy of ours says nothing', async t => {
  const from = await serverOf(t, () => false)
  t.equal(await from('192.0.2.1'), '127.0.0.1')
  t.equal(await from('192.0.2.1, 127.0.0.1'), '127.0.0.1')
  t.equal(await from(), '127.0.0.1')
})

t.test('a proxy says whom it had, and not whom that one claims to have had', async t => {
  const from = await serverOf(t, address => ['127.0.0.1', '10.0.0.1'].includes(address))
  t.equal(await from('192.0.2.1'), '192.0.2.1')
  t.equal(await from('198.51.100.7, 192.0.2.1'), '192.0.2.1')
  t.equal(await from('198.51.100.7, 192.0.2.1, 10.0.0.1'), '192.0.2.1', 'behind two')
  t.equal(await from('10.0.0.1'), '10.0.0.1', 'nobody but proxies')
  t.equal(await from('not an address'), '127.0.0.1')
  t.equal(await from('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(await from(), '127.0.0.1')
})

t.test('a client that is gone before it is asked for has no address, and that is no fault', async t => {
  const asked: string[] = []
  const client = createClientAddress(address => {
    asked.push(address)
    return false
  })
  const server = createServer(async request => {
    request.socket.destroy()
    await once(request.socket, 'close')
    asked.push(client(request))
    server.emit('asked')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const isAsked = once(server, 'asked')
  await t.rejects(fetch(`http://127.0.0.1:${port}/`))
  await isAsked
  t.strictSame(asked, ['', ''])
})
