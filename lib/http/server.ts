import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  maxHeaderSize,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, type ListenOptions, type Socket, Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import Koa from 'koa'
import { operations } from '../api/index.ts'
import { createNetworkSet, networkOf } from '../base/network.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import { requestsWatchMs, stopPeersMs } from '../base/time.ts'
import { createThrottles, type Throttles } from '../core/account/throttles.ts'
import type { App } from '../core/app/app.ts'
import { httpTimes } from '../core/app/http-times.ts'
import { createBodyWatch } from './body-pace.ts'
import { createClientAddress } from './client-address.ts'
import { createConnections, openPerPlace } from './connections.ts'
import { allowOrigins, originHeaders } from './cors.ts'
import { isMoreThanLinger, lingerAfter } from './linger.ts'
import { createMemoryBudget } from './memory.ts'
import { operationOf } from './operation-handler.ts'
import { pages } from './pages.ts'
import { oneAtATime } from './pipeline.ts'
import { answerProblems } from './problems.ts'
import { useRoutes } from './router.ts'
import { answerOnSocket } from './socket-answer.ts'
import { createWebSocketDoor } from './websocket.ts'

/**
 * The memory of request bodies, large answers and replayed events: of all together, and of one key (or of one address without a key). How
 * long an answer waits for memory, and after what time one may be cut off that is not read, or a body that is still arriving.
 */
const httpBytes = 512 * 1024 * 1024
export const httpBytesPerKey = 128 * 1024 * 1024
const httpBytesWaitMs = 10_000

export interface HttpDoor {
  /** How many connections are open. */
  count(): number
  /** The bytes that request bodies and large answers hold: those being read, made, or not read by the client yet. */
  heldBytes(): number
  listen(host: string, port: number): Promise<AddressInfo>
  /** Takes a socket that listens already, by its descriptor. */
  adopt(descriptor: number): Promise<AddressInfo>
  /** Listens no more, ends streams, lets requests under way come to their end and refuses others with 503. */
  stop(): Promise<void>
}

/**
 * The door of the API: authenticates, validates and answers; what is asked is declared in lib/api.
 * @param throttles shared with the other doors that take keys
 */
export function createHttpDoor(app: App, throttles: Throttles = createThrottles(app)): HttpDoor {
  const servers: Server[] = []
  const stopping = new AbortController()
  const koa = new Koa()
  const { http } = app.config
  const times = httpTimes(app.config)
  const isTrusted = createNetworkSet(http.trusted_proxies)
  const addressOf = createClientAddress(isTrusted)
  const connections = createConnections(app.clock, {
    max: http.max_connections,
    maxPerAddress: http.max_connections_per_address,
    maxPerBlock: http.max_connections_per_block,
    writeTimeoutMs: times.writeMs,
    isTrusted,
  })

  koa.use(async (context, next) => {
    const isTold = app.log.isLevelEnabled('debug')
    const started = app.clock.monotonicMs()
    await next()
    const operation = operationOf(context)
    app.meter.count('http_requests_total', operation, String(context.status))
    app.meter.observe('http_request_seconds', (app.clock.monotonicMs() - started) / 1000, operation)
    // Or the connection would be waited for until the client closes it, or has sent what nobody wants.
    if (stopping.signal.aborted || isMoreThanLinger(context.req)) context.set('Connection', 'close')
    if (!isTold) return
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
  koa.use(allowOrigins(http.cors_origins))
  koa.use(answerProblems(app.log, app.meter))
  const { perKey, perAddress, perVisitor } = throttles
  const memory = createMemoryBudget(
    { bytes: httpBytes, bytesPerKey: httpBytesPerKey, waitMs: httpBytesWaitMs },
    app.clock,
    () => app.meter.count('http_answers_refused_total'),
  )
  useRoutes(koa, {
    app,
    operations,
    pages,
    perKey,
    perAddress,
    perVisitor,
    memory,
    watchBody: createBodyWatch(app.clock),
    noteCaller: ({ req, res }) => connections.noteCaller(req, res),
    clientAddress: context => networkOf(addressOf(context.req)),
    stopping: stopping.signal,
  })
  const webSockets = createWebSocketDoor({
    app,
    memory,
    perKey,
    perAddress,
    clientAddress: request => networkOf(addressOf(request)),
    noteStream: connections.noteStream,
  })
  // What happens to a socket after the answer has begun (a client that goes away) is nobody's fault here.
  koa.on('error', error => app.log.debug({ err: error }, 'HTTP connection broke'))

  function open(where: ListenOptions & { fd?: number }): Promise<AddressInfo> {
    const handle = koa.callback()
    const shouldUpgradeCallback = (request: IncomingMessage) => {
      request.url = originForm(request.url ?? '')
      return !connections.refusalOf(request.socket) && !hostFault(request) && webSockets.isAsked(request)
    }
    const answer = oneAtATime((request: IncomingMessage, response: ServerResponse) => {
      lingerAfter(request)
      const refusal = connections.refusalOf(request.socket) ?? hostFault(request)
      if (refusal) {
        const fields = originHeaders(http.cors_origins, request.headers.origin)
        return answerOnSocket(request.socket, refusal, { isHead: request.method === 'HEAD', fields })
      }
      request.url = originForm(request.url ?? '')
      return handle(request, response)
    })
    const server = createServer(
      {
        headersTimeout: times.headerMs,
        requestTimeout: times.requestMs,
        connectionsCheckingInterval: requestsWatchMs,
        // Node would refuse it without a word; `hostFault` does with one.
        requireHostHeader: false,
        shouldUpgradeCallback,
      },
      answer,
    )
    // `connections` closes the longest open ones before this many are there.
    server.maxConnections = openPerPlace * http.max_connections
    server.on('connection', connections.add)
    server.on('timeout', closeIfIdle)
    // An expectation that nobody knows may be passed over (RFC 9110 §10.1.1); Node would answer 417 without a word.
    server.on('checkExpectation', answer)
    server.on('clientError', (error, socket) =>
      refuseMalformed(error, socket, originHeaders(http.cors_origins, undefined)),
    )
    server.on('connect', (_request, socket) => answerOnSocket(socket, noProxy()))
    server.on('upgrade', (request, socket, head) => webSockets.upgrade(request, socket, head))
    servers.push(server)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(where, () => {
        server.off('error', reject)
        resolve(server.address() as AddressInfo)
      })
    })
  }

  return {
    count: () => connections.count(),
    heldBytes: memory.held,
    listen: (host, port) => open({ host, port, ipv6Only: true }),
    adopt: descriptor => open({ fd: descriptor }),
    async stop() {
      stopping.abort()
      connections.stop()
      app.stream.stop()
      // Nothing new is accepted from here on. http.Server.close would cut off who has connected and is about to ask.
      const ends = servers.map(server => once(server, 'close'))
      for (const server of servers) TcpServer.prototype.close.call(server)
      await connections.asked()
      // A client that does not end its request is not waited for.
      const timer = setTimeout(() => {
        for (const server of servers) server.closeAllConnections()
      }, stopPeersMs)
      // This one ends what http.Server began beside, and who is idle.
      for (const server of servers) server.close()
      await Promise.all(ends)
      clearTimeout(timer)
    },
  }
}

/**
 * Closes a connection that has been idle for its time. If this process was held up, a request may be there that is not read yet, and its
 * client would see a reset: so what has arrived is read first.
 */
function closeIfIdle(socket: Socket): void {
  const { bytesRead } = socket
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) socket.destroy()
  })
}

/** The request target as a path (RFC 9112 §3.2.2); `*`, where nothing is, for one that no URL could be. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const url = URL.parse(target)
  return url ? `${url.pathname}${url.search}` : '*'
}

/** Answers what Node could not read as a request, in the form of every other error with these `fields`, and hangs up. */
function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  fields: Readonly<Record<string, string>>,
): void {
  const answer = '_httpMessage' in socket ? (socket._httpMessage as ServerResponse | null) : null
  // In the midst of an answer nothing can be said; nor before one to a request that was whole, or it would be taken for that.
  const isAnswering = answer !== null && (answer.headersSent || answer.req.complete)
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  answerOnSocket(socket, problemOf(error), { fields })
}

/** What is wrong with the Host of a request (RFC 9112 §3.2): there is one, but in HTTP/1.0, and never several. */
function hostFault({ rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') count++
  if (count > 1) return invalidRequest('', 'The request has more than one Host field')
  return count === 0 && httpVersion === '1.1'
    ? invalidRequest('', 'The request has no Host field, which HTTP/1.1 asks for')
    : undefined
}

/** The answer to CONNECT. */
function noProxy(): Problem {
  return invalidRequest('', 'CONNECT asks for a proxy, and this is none')
}

/** A process that stood still finds that it waited too long for what has come: who sent it is to send it again (RFC 9110 §15.5.9). */
function problemOf(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout')
  return invalidRequest('', messageOf(error))
}

function messageOf({ code, reason }: NodeJS.ErrnoException & { readonly reason?: unknown }): string {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return `The request line and the header together are larger than ${maxHeaderSize} bytes`
  }
  // The words of the parser, which has none of the request's in them.
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
  return `This can not be read as a request of HTTP/1.1${why}`
}
