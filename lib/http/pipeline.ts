import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on one connection until the answers before them have left; one more ends it. */
export const pipelinedRequests = 250

/** What answers a request. */
export type Answerer = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The same, one request of a connection at a time (RFC 9112 §9.3.2): the next is looked at when the answer before it has left
 * for the system. Node hands over all that came together, and what many answers take would be held for who reads none. Of a
 * connection that has closed the others are dropped. More than `pipelinedRequests` ahead end it: nothing can be said of
 * them before their turn.
 */
export function oneAtATime(answer: Answerer): Answerer {
  const waiting = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>()

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    response.once('close', () => {
      const next = socket.writable ? waiting.get(socket)?.shift() : undefined
      if (next) begin(...next)
      else waiting.delete(socket)
    })
    answer(request, response)
  }

  return (request, response) => {
    const { socket } = request
    const held = waiting.get(socket)
    if (!held) {
      waiting.set(socket, [])
      begin(request, response)
    } else if (held.length < pipelinedRequests) held.push([request, response])
    else socket.destroy()
  }
}
