import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a client and a server, and counts how often the client speaks after the server did: round trips. */
export interface CountingProxy {
  readonly port: number
  trips(): number
  stop(): void
}

export async function startCountingProxy(to: { host: string; port: number }): Promise<CountingProxy> {
  const sockets = new Set<Socket>()
  let trips = 0
  const server = createServer(client => {
    const upstream = connect(to)
    let isAnswered = true
    client.on('data', () => {
      if (isAnswered) trips++
      isAnswered = false
    })
    upstream.on('data', () => {
      isAnswered = true
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    trips: () => trips,
    stop() {
      server.close()
      for (const one of sockets) one.destroy()
    },
  }
}
