import { createServer, type Server } from 'node:http'
import { limits } from '../../base/limits.ts'

/** Answers the question of a CA (http-01, RFC 8555 §8.3), and no other. */
export interface Responder {
  /** From now on `token` is answered with `keyAuthorization`. */
  answer(token: string, keyAuthorization: string): void
  close(): Promise<void>
}

const path = '/.well-known/acme-challenge/'

/** Listens on all of these addresses. Strangers get 404, and little time. */
export async function openResponder(
  endpoints: readonly { readonly host: string; readonly port: number }[],
): Promise<Responder> {
  const answers = new Map<string, string>()
  const servers: Server[] = []
  const close = async () => {
    for (const server of servers) server.closeAllConnections()
    await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  }
  try {
    for (const { host, port } of endpoints) {
      const server = createServer({ maxHeaderSize: 8192 }, (request, response) => {
        const token = request.url?.startsWith(path) ? request.url.slice(path.length) : ''
        const answer = request.method === 'GET' ? answers.get(token) : undefined
        response.writeHead(answer === undefined ? 404 : 200, {
          'Content-Type': 'application/octet-stream',
          Connection: 'close',
        })
        response.end(answer ?? '')
      })
      server.requestTimeout = limits.acmeConnectionMs
      server.headersTimeout = limits.acmeConnectionMs
      server.setTimeout(limits.acmeConnectionMs, socket => socket.destroy())
      server.maxConnections = limits.acmeConnections
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, ipv6Only: true }, () => resolve(server.off('error', reject) && undefined))
      })
      servers.push(server)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { answer: (token, keyAuthorization) => void answers.set(token, keyAuthorization), close }
}
