import { createServer, type Server } from 'node:http'
import type { SharedOrders } from './shared.ts'

/** Connections that ask for the answer to a challenge: at the same time, and how long one may take. */
const acmeConnections = 100
const acmeConnectionMs = 10_000

/** Answers the question of a CA (http-01, RFC 8555 §8.3), and no other. */
export interface Responder {
  /** From now on `token` is answered with `keyAuthorization`; resolves when it is, wherever the CA asks. */
  answer(token: string, keyAuthorization: string): Promise<void>
  close(): Promise<void>
}

const path = '/.well-known/acme-challenge/'

/** Of the base64url alphabet (RFC 8555 §8.3): it stands in a path and is signed. */
export const isToken = (token: string) => /^[\w-]{1,200}$/.test(token)

/**
 * Listens on all of these addresses. Strangers get 404, and little time.
 * @param shared what other nodes have the CA asked, too
 */
export async function openResponder(
  endpoints: readonly { readonly host: string; readonly port: number }[],
  shared?: Pick<SharedOrders, 'publish' | 'findAnswer'>,
): Promise<Responder> {
  const answers = new Map<string, string>()
  const find = async (token: string) => answers.get(token) ?? (await shared?.findAnswer(token))
  const servers: Server[] = []
  const close = async () => {
    for (const server of servers) server.closeAllConnections()
    await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  }
  try {
    for (const { host, port } of endpoints) {
      const server = createServer({ maxHeaderSize: 8192 }, async (request, response) => {
        const token = request.url?.startsWith(path) ? request.url.slice(path.length) : ''
        const isAsked = request.method === 'GET' && isToken(token)
        // A database that does not answer is told by who writes to it.
        const answer = isAsked ? await find(token).catch(() => undefined) : undefined
        response.writeHead(answer === undefined ? 404 : 200, {
          'Content-Type': 'application/octet-stream',
          Connection: 'close',
        })
        response.end(answer ?? '')
      })
      server.requestTimeout = acmeConnectionMs
      server.headersTimeout = acmeConnectionMs
      server.setTimeout(acmeConnectionMs, socket => socket.destroy())
      server.maxConnections = acmeConnections
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
  return {
    async answer(token, keyAuthorization) {
      answers.set(token, keyAuthorization)
      await shared?.publish(token, keyAuthorization)
    },
    close,
  }
}
