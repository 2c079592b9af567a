import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { type AddressGuardOptions, createAddressGuard } from '../../../lib/courier/address-guard.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import {
  createWebhookCourier,
  type WebhookCourier,
  type WebhookCourierOptions,
  type WebhookOutcome,
} from '../../../lib/courier/webhook/courier.ts'
import { type DnsZone, startDns, type TestDns } from '../../support/dns.ts'

/** Stands for the public network in these tests: it is the one that is allowed. */
export const publicAddress = '127.0.0.2'

export interface Loopback {
  readonly dns: TestDns
  readonly courier: WebhookCourier
  call(url: string): Promise<WebhookOutcome>
}

/** A courier that may reach 127.0.0.2 only, over plain http too, and the DNS that it asks. */
export async function webhookLoopback(
  t: Test,
  zone: DnsZone = {},
  options: Partial<WebhookCourierOptions> = {},
  rules: Partial<AddressGuardOptions> = {},
): Promise<Loopback> {
  const dns = await startDns({ 'there.example': { A: [publicAddress] }, ...zone })
  const guard = createAddressGuard({
    clock: systemClock,
    allowNetworks: [`${publicAddress}/32`],
    ownAddresses: () => [],
    ownPorts: () => [],
    ...rules,
  })
  const courier = createWebhookCourier({
    dns: createDns({ servers: [dns.server], timeoutMs: 500 }),
    clock: systemClock,
    guard,
    allowHttp: true,
    ...options,
  })
  t.teardown(async () => {
    courier.close()
    await dns.close()
  })
  const call = (url: string) => courier.call({ url, body: '{"event":"webhook.test"}', headers: {} })
  return { dns, courier, call }
}

/** A server of bytes: `serve` is called for each connection. Gives its port; `sockets` counts connections. */
export async function bytePeer(t: Test, serve: (socket: Socket) => void, address = publicAddress, port = 0) {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    serve(socket)
    socket.resume()
  })
  return { port: await listen(t, server, sockets, address, port), sockets }
}

export interface Seen {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A real HTTP server. Gives its port, what it was asked, and its connections. */
export async function httpPeer(
  t: Test,
  answer: (response: ServerResponse, seen: Seen) => void = response => response.end(),
  address = publicAddress,
  port = 0,
) {
  const sockets: Socket[] = []
  const seen: Seen[] = []
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url: path, headers } = request
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() }
      seen.push(one)
      answer(response, one)
    })
  })
  server.on('connection', socket => sockets.push(socket))
  return { port: await listen(t, server, sockets, address, port), seen, sockets }
}

async function listen(t: Test, server: Server, sockets: readonly Socket[], address: string, port: number) {
  server.listen(port, address)
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the peer has no port')
  return bound.port
}
