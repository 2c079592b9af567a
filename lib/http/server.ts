import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { operations } from '../api/index.ts'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import type { App } from '../core/app.ts'
import { createClientAddress } from './client-address.ts'
import { refuseMalformed } from './malformed.ts'
import { pages } from './pages.ts'
import { answerProblems } from './problems.ts'
import { useRoutes } from './router.ts'
import { createThrottle } from './throttle.ts'

export interface HttpDoor {
  listen(host: string, port: number): Promise<AddressInfo>
  /** Listens no more, lets requests under way come to their end and refuses others with 503. */
  stop(): Promise<void>
}

/** Failed authentications a minute that one address may have. */
const failuresPerMinute = 60

/** The door of the API: authenticates, validates and answers; what is asked is declared in lib/api. */
export function createHttpDoor(app: App): HttpDoor {
  const servers: Server[] = []
  const stopping = new AbortController()
  const koa = new Koa()
  const addressOf = createClientAddress(app.config.http.trusted_proxies)

  koa.use(async (context, next) => {
    const started = app.clock.monotonicMs()
    await next()
    // Or the connection would be waited for until the client closes it.
    if (stopping.signal.aborted) context.set('Connection', 'close')
    app.log.debug(
      {
        method: context.method,
        path: context.path,
        status: context.status,
        durationMs: Math.round(app.clock.monotonicMs() - started),
      },
      'request answered',
    )
  })
  koa.use(answerProblems(app.log))
  koa.use(async (_context, next) => {
    if (stopping.signal.aborted) throw new Problem('unavailable')
    await next()
  })
  useRoutes(koa, {
    app,
    operations,
    pages,
    perKey: createThrottle(app.clock, app.config.http.requests_per_minute),
    perAddress: createThrottle(app.clock, failuresPerMinute),
    perVisitor: createThrottle(app.clock, limits.confirmPageRequestsPerMinute),
    clientAddress: context => addressOf(context.req),
    stopping: stopping.signal,
  })
  // What happens to a socket after the answer has begun (a client that goes away) is nobody's fault here.
  koa.on('error', error => app.log.debug({ err: error }, 'HTTP connection broke'))

  return {
    listen(host, port) {
      const handle = koa.callback()
      const server = createServer((request, response) => {
        request.url = originForm(request.url ?? '')
        return handle(request, response)
      })
      server.on('clientError', refuseMalformed)
      servers.push(server)
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, ipv6Only: true }, () => {
          server.off('error', reject)
          resolve(server.address() as AddressInfo)
        })
      })
    },
    async stop() {
      stopping.abort()
      await Promise.all(
        servers.map(
          server =>
            new Promise<void>(resolve => {
              server.close(() => resolve())
              server.closeIdleConnections()
            }),
        ),
      )
    },
  }
}

/** The request target as a path (RFC 9112 §3.2.2); `*`, where nothing is, for one that no URL could be. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const url = URL.parse(target)
  return url ? `${url.pathname}${url.search}` : '*'
}
