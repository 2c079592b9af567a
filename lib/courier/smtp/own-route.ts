import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/**
 * Whether this machine has a way to the address, by its own addresses and table of routes. No packet leaves, so nobody outside
 * has a say: a router near an address answers a connection with the same errors as our own system ("network unreachable",
 * RFC 4443 §3.1), and whose router that is a stranger chooses.
 * @param from the local address, where that is given
 */
export async function hasRoute(address: string, from: string | undefined): Promise<boolean> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  try {
    if (from !== undefined) {
      socket.bind(0, from)
      await once(socket, 'listening')
    }
    // Any port will do: to connect a datagram socket looks for a route, and no more.
    socket.connect(9, address)
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.close()
  }
}
