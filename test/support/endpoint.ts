import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** One address that leads to whichever server the test says, as a proxy or a managed service does for the primary. */
export async function startEndpoint(t: Test, first: string) {
  let port = Number(new URL(first).port)
  const open = new Set<Socket>()
  const server = createServer(socket => {
    const beyond = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      open.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const one of open) one.destroy()
  })
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Leads to this server from now on; connections to the one before are cut. */
    lead(to: string) {
      port = Number(new URL(to).port)
      for (const one of open) one.destroy()
    },
  }
}
