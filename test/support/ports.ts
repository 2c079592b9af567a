import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import { until } from './until.ts'

/**
 * One port number that is free on every one of these loopback addresses: mailboxd delivers to one port, so all MX
 * hosts of a test listen on the same one.
 */
export async function freePort(...addresses: string[]): Promise<number> {
  const [first = '127.0.0.1', ...others] = addresses
  for (;;) {
    const probe = await listen(first, 0)
    const address = probe?.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const probes = [probe, ...(await Promise.all(others.map(other => listen(other, port))))]
    await Promise.all(probes.map(server => server && once(server.close(), 'close')))
    if (probes.every(server => server !== undefined)) return port
  }
}

async function listen(address: string, port: number): Promise<Server | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, address), 'listening')
    return server
  } catch {
    return undefined
  }
}

/** Waits until a server answers on `address:port` with its first bytes (an SMTP greeting), and gives them. */
export function greeting(address: string, port: number, timeoutMs = 15_000): Promise<string> {
  return until(`a greeting on ${address}:${port}`, () => firstBytes(address, port), timeoutMs)
}

function firstBytes(address: string, port: number): Promise<string | undefined> {
  return new Promise(resolve => {
    const socket = connect({ host: address, port, timeout: 5_000 })
    const end = (text?: string) => {
      socket.destroy()
      resolve(text)
    }
    socket.once('data', data => end(data.toString('latin1')))
    socket.once('error', () => end())
    socket.once('timeout', () => end())
    socket.once('close', () => end())
  })
}
