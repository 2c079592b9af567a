import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Throttle } from '../base/concurrency.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { App } from '../core/app/app.ts'
import type { Caller } from '../core/app/caller.ts'
import { bearerToken, callerOf, queryToken } from './auth.ts'
import type { ClientAddress } from './client-address.ts'
import type { MemoryBudget } from './memory.ts'
import { answerOnSocket } from './socket-answer.ts'
import { takeOrRefuse } from './throttle.ts'
import { serveWebSocket } from './websocket-session.ts'
import { closeWebSocket, cutLater } from './websocket-sink.ts'

/** Bytes of a message of a WebSocket client. */
const streamFrameBytes = 64 * 1024

export interface WebSocketParts {
  readonly app: App
  /** The memory for events that are not read yet. */
  readonly memory: MemoryBudget
  /** The limits of all requests: one of them is the connect, and nothing after it. */
  readonly perKey: Throttle
  readonly perAddress: Throttle
  readonly clientAddress: ClientAddress
  /** Called when the connection of an accepted key becomes a stream. */
  readonly noteStream: (socket: Duplex) => void
}

export interface WebSocketDoor {
  /** Whether this asks for our WebSocket. Other requests to upgrade (h2c) are answered as if they had not asked. */
  isAsked(request: IncomingMessage): boolean
  /** Makes a WebSocket of the connection, or answers with a problem as JSON. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

const path = '/v1/ws'

export function createWebSocketDoor({
  app,
  memory,
  perKey,
  perAddress,
  clientAddress,
  noteStream,
}: WebSocketParts): WebSocketDoor {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: streamFrameBytes,
    // Every connection would hold a compressor of its own, and what is shared by all readers would be copied for each.
    perMessageDeflate: false,
  })
  server.on('wsClientError', (error, socket, request) => {
    const isOldVersion = request.headers['sec-websocket-version'] !== '13'
    // RFC 6455 §4.4
    refuse(socket, isOldVersion ? new Problem('upgrade_required') : invalid(error))
  })

  /** @returns undefined for a key that is missing or wrong */
  async function authenticate(request: IncomingMessage): Promise<Caller | undefined> {
    const query = new URLSearchParams(request.url?.split('?', 2)[1])
    const caller = await callerOf(app, bearerToken(request.headers.authorization) ?? queryToken(query))
    if (caller) takeOrRefuse(perKey, caller.keyId ?? '')
    else takeOrRefuse(perAddress, clientAddress(request))
    return caller
  }

  function refuse(socket: Duplex, error: unknown): void {
    const problem = error instanceof Problem ? error : new Problem('internal_error')
    if (problem !== error) app.log.error({ err: error, path }, 'request met a fault')
    app.log.debug({ path, code: problem.code }, 'WebSocket refused')
    // The other side may never close its half.
    socket.once('finish', () => socket.destroy())
    answerOnSocket(socket, problem)
  }

  return {
    isAsked: ({ method, url, headers }) =>
      method === 'GET' && url?.split('?', 1)[0] === path && headers.upgrade?.toLowerCase() === 'websocket',
    async upgrade(request, socket, head) {
      // A client that goes away meanwhile is nobody's fault here.
      socket.on('error', () => socket.destroy())
      try {
        app.stream.requirePlace()
        const caller = await authenticate(request)
        if (caller) noteStream(socket)
        server.handleUpgrade(request, socket, head, socket => {
          if (caller) serveWebSocket(app, memory, socket, caller)
          else turnAway(socket)
        })
      } catch (error) {
        refuse(socket, error)
      }
    },
  }
}

/** Clients try again and again where a connection is refused, and stop at a close code that says why. */
function turnAway(socket: WebSocket): void {
  socket.on('error', () => cutLater(socket))
  closeWebSocket(socket, 'unauthorised')
}

function invalid(error: Error): Problem {
  return invalidRequest('', `The WebSocket can not be opened: ${error.message}`)
}
